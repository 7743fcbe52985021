/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files that the caller names: what may be read of them is the caller's affair, not the tool's. */
#ifndef MEMLEAKBPF_SESSION_CALLER_FILE_H
#define MEMLEAKBPF_SESSION_CALLER_FILE_H

#include <stdbool.h>
#include <stdio.h>

/* fopen() with the caller's own rights (user/kernel/privilege.h), errno as that one leaves it. */
FILE *caller_file_open(const char *path, const char *mode);

/*
 * Opens a file for writing with the caller's own rights, and makes it when there is none: readable
 * for its owner alone when it is `secret`, and as the umask says otherwise. What is in it stays
 * until caller_file_empty(). In a directory where everybody may make files and nobody remove
 * another's (/tmp), a link, FIFO or file that belongs to neither us nor the directory's owner is
 * refused, whatever the system's fs.protected_symlinks, fs.protected_fifos and fs.protected_regular
 * say. NULL with errno; the reason is logged.
 */
FILE *caller_file_create(const char *path, bool secret);

/*
 * Drops what was in the file before, now that something is to be written; what is no regular file
 * stays as it is. `secret`: from now on nobody but its owner may read it. 0 or -errno, not logged.
 */
int caller_file_empty(FILE *file, bool secret);

#endif

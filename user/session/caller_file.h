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
 * say. `kept`: what caller_file_keep() gave, whose mode and owner the file then has as far as we may
 * give them; NULL: none. NULL with errno; the reason is logged.
 */
struct caller_file_kept;
FILE *caller_file_create(const char *path, bool secret, struct caller_file_kept *kept);

/* The same of a name that nobody has given us: whatever is there already, a link included, is refused. */
FILE *caller_file_create_new(const char *path, bool secret);

/*
 * Keeps a regular file that is not empty as PATH.old, by the caller's own rights, in place of what
 * was kept so before; a PATH.old that could not be put back (a link, another owner's) stays, and
 * nothing is kept. Until caller_file_empty() nothing is lost: caller_file_put_back() undoes it,
 * PATH.old of before included, unless something else has come to either name. A link is followed,
 * and what it leads to kept beside that. NULL: not kept; a failure is logged. The caller frees it.
 */
struct caller_file_kept *caller_file_keep(const char *path);
void caller_file_kept_free(struct caller_file_kept *kept); /* NULL is fine */

/* `file`: what caller_file_create() gave, still open, or NULL. A failure is logged. */
void caller_file_put_back(const char *path, const struct caller_file_kept *kept, FILE *file);

/*
 * Drops what was in the file before, now that something is to be written; what is no regular file
 * stays as it is. `secret`: from now on nobody but its owner may read it. 0 or -errno, not logged.
 */
int caller_file_empty(FILE *file, bool secret);

#endif

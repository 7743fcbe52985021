/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files that the caller names: the caller's rights decide what may be read of them, not the tool's.
 */
#ifndef MEMLEAKBPF_KERNEL_CALLER_FILE_H
#define MEMLEAKBPF_KERNEL_CALLER_FILE_H

#include <stdbool.h>
#include <stdio.h>

/* fopen() with the caller's own rights (user/kernel/privilege.h); errno as fopen() leaves it. */
FILE *caller_file_open(const char *path, const char *mode);

/*
 * Opens a file for writing with the caller's own rights, and makes it when there is none. A new
 * file is readable for its owner alone when it is `secret`, and as the umask says otherwise. Its
 * contents stay until caller_file_empty(). Some files are refused in a directory where everybody
 * may make files and nobody remove another's (/tmp). Such is a link, FIFO or file that belongs to
 * neither us nor the directory's owner. The system's fs.protected_symlinks, fs.protected_fifos and
 * fs.protected_regular do not matter for that. `kept`: the result of caller_file_keep(), whose mode
 * and owner the file gets as far as we may give them; NULL: none. NULL with errno; the reason is
 * logged.
 */
struct caller_file_kept;
FILE *caller_file_create(const char *path, bool secret, struct caller_file_kept *kept);

/*
 * The same for a name that nobody has given us: refuses anything that is there already, a link
 * included.
 */
FILE *caller_file_create_new(const char *path, bool secret);

/*
 * Keeps a regular file that is not empty as PATH.old, by the caller's own rights, in place of an
 * earlier PATH.old. A PATH.old that could not be put back (a link, another owner's) stays, and
 * nothing is kept. Until caller_file_empty() nothing is lost: caller_file_put_back() undoes it, the
 * earlier PATH.old included, unless something else has come to either name. Follows a link, and
 * keeps its target beside that. NULL: not kept; a failure is logged. The caller frees the result.
 */
struct caller_file_kept *caller_file_keep(const char *path);
void caller_file_kept_free(struct caller_file_kept *kept); /* NULL is fine */

/* `file`: the result of caller_file_create(), still open, or NULL. A failure is logged. */
void caller_file_put_back(const char *path, const struct caller_file_kept *kept, FILE *file);

/*
 * Drops the file's old contents, now that something is to be written; does so for regular files
 * only. `secret`: from now on only its owner may read it. 0 or -errno, not logged.
 */
int caller_file_empty(FILE *file, bool secret);

#endif

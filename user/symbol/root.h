/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Opens files by a path as a target sees it, in a tree that the target may change while we walk it.
 */
#ifndef MEMLEAKBPF_SYMBOL_ROOT_H
#define MEMLEAKBPF_SYMBOL_ROOT_H

#define ROOT_OURS (-100) /* our own root directory */

/*
 * Opens a regular file for reading; FIFOs and devices are not opened at all. Symbolic links on the
 * way, absolute ones too, stay inside the root. Returns a descriptor (the caller's) or -errno, not
 * logged: -EINVAL when it is no regular file.
 */
int root_open_file(int root_fd, const char *path);

/* The same, but the last component may not be a symbolic link (-ELOOP). */
int root_open_file_nofollow(int root_fd, const char *path);

#endif

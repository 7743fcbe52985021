/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Opens the file behind a mapping: never blocking, never through a device or FIFO, never outside of
 * the target's root. Part of user/process/object; other rooms use that.
 */
#ifndef MEMLEAKBPF_PROCESS_OBJECT_OPEN_H
#define MEMLEAKBPF_PROCESS_OBJECT_OPEN_H

#include <stdint.h>
#include <sys/types.h>

#include "user/process/maps.h"

struct file_id {
	uint64_t dev, ino; /* st_dev, st_ino */
};

/*
 * Which file is it? Answers from /proc/PID/map_files without opening it. 0, or -errno. -EPERM:
 * without CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE. -ENOENT: the process or this very mapping is
 * gone. -ESTALE: another file has been mapped at its place.
 */
int object_stat_mapping(pid_t pid, const struct mapping *m, struct file_id *id);

/*
 * Opens the mapping's file for reading; the caller owns the descriptor. -errno as above, -EINVAL if
 * it is no regular file.
 */
int object_open_mapping(pid_t pid, const struct mapping *m);

/*
 * Opens the mapping's path under a root directory, as the process itself would see it. Inode and
 * device must agree with the mapping. Symbolic links cannot leave the root (openat2(2),
 * RESOLVE_IN_ROOT). -errno, -ESTALE when the path is another file by now.
 */
int object_open_under(int root_fd, const struct mapping *m);

/* O_PATH descriptor of the root directory of a process, or -errno. */
int object_open_root(pid_t pid);

/* Opens a path in our own root, regular files only. */
int object_open_path(const char *path);

/*
 * Copies [start, end) of a process's memory into a sealed memfd. -errno; -E2BIG: larger than a vdso
 * may be.
 */
int object_copy_memory(pid_t pid, uint64_t start, uint64_t end);

#endif

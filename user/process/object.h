/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An ELF file that some process maps, pinned by an open descriptor. It stays readable when the file
 * is deleted or upgraded, when the process exits, and when it lives in a container's or chroot's
 * root. Reference counted and shared between all targets through the cache.
 */
#ifndef MEMLEAKBPF_PROCESS_OBJECT_H
#define MEMLEAKBPF_PROCESS_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/process/elf_open.h"
#include "user/process/maps.h"

struct object;
struct object_cache;

struct object_cache *object_cache_new(void);	    /* NULL when out of memory */
void object_cache_free(struct object_cache *cache); /* objects still referenced live on */

/*
 * Finds the object behind a mapping of a process: in the cache by (dev, ino), else through
 * /proc/PID/map_files/START-END. Else it opens /proc/PID/root/PATH, if dev and inode agree. Only
 * regular files are opened, never blocking. "[vdso]" is copied out of the process's memory into a
 * memfd. `pid` may be dead already: then only the cache can help. Returns a new reference in *out,
 * or -errno, not logged: -ENOENT for anonymous and special mappings, -ENOEXEC for a file that is
 * not ELF. -ESTALE when the path leads to another file by now.
 */
int object_cache_get(struct object_cache *cache, pid_t pid, const struct mapping *m,
		     struct object **out);

/*
 * The same when the process may be gone: the cache first, then the mapping's path under root_fd, if
 * dev and inode agree. root_fd: an O_PATH descriptor of the process's root directory, -1: none.
 */
int object_cache_get_at(struct object_cache *cache, pid_t pid, int root_fd, const struct mapping *m,
			struct object **out);

/*
 * The same for a file named by the user, seen from our own root. -ENOEXEC, not logged: a regular
 * file, but not ELF.
 */
int object_cache_open(struct object_cache *cache, const char *path, struct object **out);

/* The same for an open regular file; takes fd over in any case. `path` is for people. */
int object_cache_take(struct object_cache *cache, int fd, const char *path, struct object **out);

/*
 * Says which object a mapping's device and inode mean when there is no process to ask (pid 0).
 * object_cache_get() finds it by them from now on, as long as somebody has a reference.
 */
void object_cache_know(struct object_cache *cache, const struct mapping *m, struct object *object);

struct object *object_ref(struct object *object);
void object_unref(struct object *object); /* NULL is fine */

/*
 * Whoever maps the object says so, beside the reference. When nobody maps it, others may drop what
 * they keep of it for later (names, tables, probes) and with that the descriptor.
 */
void object_map(struct object *object);
void object_unmap(struct object *object);
bool object_is_mapped(const struct object *object);

const char *object_path(const struct object *object); /* as the target sees it; for people */
/* Last component of the path: the "module" of a frame. */
const char *object_name(const struct object *object);
/* "/proc/self/fd/N": opens this very inode, for probes and libelf. */
const char *object_fd_path(const struct object *object);
int object_fd(const struct object *object); /* owned by the object */
/*
 * elf_open() of the object's file for these uses; elf_end() frees the result. NULL when the file is
 * refused (logged once for each use), when it is damaged, or out of memory.
 */
Elf *object_elf(const struct object *object, unsigned uses);
/* May the file be used so? Logs a refusal, as above. */
bool object_elf_is_usable(const struct object *object, unsigned uses);
/* Logs, once, that the object's file is not used so, and why. */
void object_say_refused(const struct object *object, unsigned uses, const char *reason);
/*
 * Unique among the files of a cache, from 1. A file that comes back unchanged after its last
 * reference gets its old number: a program that is started again has the same stacks.
 */
uint64_t object_id(const struct object *object);
uint64_t object_dev(const struct object *object); /* st_dev and st_ino of the open file, */
uint64_t object_ino(const struct object *object); /* as the kernel's inode has them */
bool object_is_vdso(const struct object *object);
bool object_is_elf64(const struct object *object); /* ELFCLASS64 of this machine's architecture */

uint16_t object_elf_type(const struct object *object); /* ET_EXEC, ET_DYN … */
bool object_has_interp(const struct object *object);   /* has a PT_INTERP segment */
/* Does the file offset lie in an executable segment? */
bool object_is_code(const struct object *object, uint64_t offset);

/* NT_GNU_BUILD_ID, or NULL with *len = 0. Owned by the object. */
const uint8_t *object_build_id(const struct object *object, size_t *len);

/*
 * File offset <-> link-time virtual address by the PT_LOAD headers. 0, or -ENOENT when no segment
 * covers it.
 */
int object_offset_to_vaddr(const struct object *object, uint64_t offset, uint64_t *vaddr);
/*
 * The same for the file offset at which a mapping of the object's code begins. That is a page's
 * beginning; the segment may begin later in the page. What comes before it may be another
 * segment's: lld puts that next to it in the file and elsewhere in memory.
 */
int object_code_vaddr(const struct object *object, uint64_t offset, uint64_t *vaddr);
int object_vaddr_to_offset(const struct object *object, uint64_t vaddr, uint64_t *offset);

#endif

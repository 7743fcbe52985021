/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One line of /proc/PID/maps, and a reader of the whole file. Format: proc_pid_maps(5). */
#ifndef MEMLEAKBPF_PROCESS_MAPS_H
#define MEMLEAKBPF_PROCESS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mapping {
	uint64_t start, end;
	uint64_t offset; /* bytes into the file */
	uint64_t dev;	 /* makedev(major, minor) as maps prints them; 0 for anonymous memory */
	uint64_t ino;
	bool read, write, exec, shared;
	bool deleted; /* the path ended in " (deleted)", which is cut off here */
	bool apart;   /* anonymous, and not the rest of the data of the file before: maps_cut() */
	const char *path; /* "" for anonymous memory; "[vdso]", "[heap]" …; \012 is unescaped */
};

struct maps; /* owns the mappings and their paths */

/*
 * Reads /proc/PID/maps whole. 0, or -errno (-ESRCH when the process is gone or has no memory map
 * any more); not logged. *out is freed with maps_free().
 */
int maps_read(pid_t pid, struct maps **out);

/*
 * The same. Calls `between` after each piece that the kernel gives, some dozens of lines: a process
 * may have a million.
 */
int maps_read_watched(pid_t pid, void (*between)(void *ctx), void *ctx, struct maps **out);

/*
 * Parses one text in the format of /proc/PID/maps; skips lines that do not parse. For tests and for
 * maps_read().
 */
int maps_parse(const char *text, size_t len, struct maps **out);

size_t maps_count(const struct maps *maps);
const struct mapping *maps_at(const struct maps *maps, size_t index);	    /* in address order */
const struct mapping *maps_find(const struct maps *maps, uint64_t address); /* NULL when unmapped */
void maps_free(struct maps *maps);

/* Cuts a mapping in two at an address. At the mapping's beginning: all of it is apart. */
struct maps_cut {
	size_t index;
	uint64_t at;
};

/*
 * Makes two mappings of each of these, given by index; the second one is apart. Pointers to
 * mappings become invalid. 0, or -ENOMEM: all is as it was.
 */
int maps_cut(struct maps *maps, const struct maps_cut *cuts, size_t count);

#endif

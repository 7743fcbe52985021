/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What `inspect` finds in a process that nobody has watched, at one time: where its memory is, which
 * blocks are lost, and what the heap is made of. Plain data: user/inspect or a recording fills it
 * in, user/export prints it.
 */
#ifndef MEMLEAKBPF_MODEL_INSPECTION_H
#define MEMLEAKBPF_MODEL_INSPECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/reason.h"
#include "user/model/amount.h"
#include "user/model/verdict.h"

/*
 * Bytes that are resident or swapped out, each in one of them: they add up to what the kernel says of
 * the process's anonymous memory.
 */
enum memory_part {
	MEMORY_IN_USE,	     /* of blocks, as asked for where the allocator's books have it */
	MEMORY_SLACK,	     /* that blocks have beyond what was asked for, where that is known */
	MEMORY_FREE,	     /* that an allocator keeps: what nobody can see from outside */
	MEMORY_BOOKS,	     /* the allocators' own */
	MEMORY_UNBELIEVED,   /* an allocator's, whose books do not agree with themselves */
	MEMORY_STACKS,	     /* of threads */
	MEMORY_ANONYMOUS,    /* mappings that no allocator has that we know */
	MEMORY_FILE_PRIVATE, /* pages of files that it has written to: data and .bss of objects */
	MEMORY_REST,	     /* what the kernel counts and none of the above does */
	MEMORY_PARTS,
};

/* One allocator, by its own books. Bytes are of address space but where "resident" is said. */
struct inspected_allocator {
	char name[24];		/* "glibc", … */
	char version[24];	/* "2.36"; "": unknown */
	uint64_t arenas;	/* 0: it has none that could be counted */
	struct amount in_use;	/* as asked for, or what can be used of each block */
	uint64_t slack_bytes;	/* beyond what was asked for, of blocks of which that is known */
	uint64_t free_bytes;	/* cached_bytes included */
	uint64_t cached_bytes;	/* free, in the caches of threads and in bins of small blocks */
	uint64_t free_resident; /* of free_bytes */
	uint64_t
		free_whole_pages; /* of free_resident: what could be given back, a page at a time */
	/*
	 * jemalloc, of free_resident: pages that are the process's until they decay, and such that the kernel
	 * takes when it runs short of memory (MADV_FREE)
	 */
	uint64_t dirty_resident, muzzy_resident;
	uint64_t books_bytes;
	uint64_t unbelieved_bytes;
	uint64_t unbelieved_resident;
	char why[REASON_MAX]; /* why not all is believed, a clause; "": all is */
};

/* An anonymous mapping that no allocator has. */
struct inspected_mapping {
	uint64_t start, bytes, resident;
	char *name;    /* as the kernel has it: "[anon:…]"; NULL: none. Owned */
	char *held_by; /* what points to it, as in stack.held_by; NULL: not found. Owned */
};

enum group_kind {
	GROUP_CLASS,  /* C++: by its vtable */
	GROUP_PYTHON, /* CPython: by its type */
	GROUP_TYPE,   /* C: by the type of what points to it (debug information) */
	GROUP_TEXT,   /* begins with printable characters, to the end or a NUL */
	GROUP_SIZE,   /* nothing is known but its size and how it begins */
	GROUP_KINDS,
};

/* Of blocks of a process that is traced: who asked for them. Without the weights of sampling. */
struct inspected_origin {
	struct amount
		traced; /* that were seen being allocated; the others are from before the attach */
	struct amount most; /* of these, what the one stack asked for that has most bytes */
	uint64_t stack_id;  /* stack.id of that stack */
	char *function;	    /* of it, that asked; NULL: unknown. Owned */
};

/* Blocks that are alike. */
struct inspected_group {
	enum group_kind kind;
	char *name;    /* "session", "dict"; of GROUP_SIZE NULL. Owned */
	char *module;  /* the file that has the class; NULL: unknown. Owned */
	uint64_t size; /* of each of GROUP_SIZE; 0: they differ */
	uint64_t
		beginning; /* of GROUP_SIZE: a hash of their first bytes, that name them in a diff */
	struct amount live;
	struct amount verdict[VERDICT_CLASSES];
	char *held_by; /* of the reachable ones, as in stack.held_by; NULL: not looked for. Owned */
	char *contents; /* --contents: first bytes of one; NULL. Owned */
	size_t contents_len;
	bool growth_known;
	double growth_bytes_per_s;	/* since the look before */
	struct inspected_origin origin; /* of inspection.traced */
};

/* A block that nothing leads to, and what only it keeps: similar ones are one line. */
struct inspected_loss {
	size_t group;			/* of its leader, index into the groups */
	struct amount lost;		/* the leaders */
	struct amount kept;		/* what hangs on them: indirectly lost */
	struct inspected_origin origin; /* of the leaders; of inspection.traced */
};

struct inspection {
	uint64_t time_ns;    /* CLOCK_REALTIME; of a core its file's */
	uint64_t elapsed_ns; /* since the first look */
	pid_t pid;
	char comm[16];
	char *const *cmdline; /* NULL-terminated; NULL: unknown. Owned, in one piece */
	char *core;	      /* the file that it is from; NULL: a living process. Owned */
	bool final;	      /* the last one of its process */
	bool traced;	      /* while it is: there is a snapshot of the same moment */
	/* What the kernel says, in bytes; of a core what of it is in the file. */
	uint64_t rss_anon, swap, shmem;
	uint64_t parts[MEMORY_PARTS];
	struct inspected_allocator *allocators; /* owned */
	size_t allocator_count;
	struct inspected_mapping *mappings; /* the largest first. Owned */
	size_t mapping_count;
	/* Of a core: threads whose registers are not known; it has none of any thread. */
	uint64_t unknown_threads;
	bool no_registers;
	struct verdict verdict;		/* of all blocks; pause_ns and read_bytes stand there */
	struct inspected_group *groups; /* the most bytes first. Owned */
	size_t group_count;
	struct inspected_loss *losses; /* the most bytes first. Owned */
	size_t loss_count;
	uint64_t tool_bytes; /* the most that the tool itself has had resident meanwhile */
};

/* "in_use", "slack", …: names for JSON. */
const char *memory_part_name(enum memory_part part);
const char *group_kind_name(enum group_kind kind);
const char *memory_part_text(enum memory_part part); /* for people */

/*
 * What people call it, without its module: "Python dict", "blocks of 48 B"; cleaned of nothing that others
 * wrote. The caller frees it; NULL when out of memory.
 */
char *inspected_group_label(const struct inspected_group *group);

/*
 * What a library loses by design, as the built-in suppressions have it: the name of the one that the blocks are
 * known by; NULL: there is none.
 */
const char *inspected_group_suppressed(const struct inspected_group *group);

/* The definitely lost blocks that no suppression has. */
struct amount inspection_leaks(const struct inspection *inspection);

/*
 * Do two groups, of two looks or of two processes, have blocks of the same kind? For qsort(3) as well: 0
 * is yes.
 */
int inspected_group_compare(const struct inspected_group *a, const struct inspected_group *b);

/* Frees all that it owns, and itself. NULL is fine. */
void inspection_free(struct inspection *inspection);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The findings of `inspect`, at one time, in a process that nobody has watched. They say where its
 * memory is, which blocks are lost, and what the heap is made of. Plain data: user/inspect or a
 * recording fills it in, user/export prints it.
 */
#ifndef MEMLEAKBPF_MODEL_INSPECTION_H
#define MEMLEAKBPF_MODEL_INSPECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/reason.h"
#include "user/model/amount.h"
#include "user/model/finding.h"
#include "user/model/managed_heap.h"
#include "user/model/verdict.h"

/*
 * Resident or swapped out bytes, each in one part. The parts add up to the process's anonymous
 * memory, as the kernel counts it.
 */
enum memory_part {
	MEMORY_IN_USE,	     /* of blocks: as asked for, where the allocator's books tell that */
	MEMORY_SLACK,	     /* of blocks: beyond what was asked for, where that is known */
	MEMORY_FREE,	     /* an allocator keeps it: nobody can see that from outside */
	MEMORY_BOOKS,	     /* the allocators' own */
	MEMORY_UNBELIEVED,   /* an allocator's whose books contradict themselves */
	MEMORY_STACKS,	     /* of threads */
	MEMORY_ANONYMOUS,    /* mappings that no allocator known to us has */
	MEMORY_FILE_PRIVATE, /* pages of files that it has written to: data and .bss of objects */
	MEMORY_REST,	     /* the kernel counts it, and no part above does */
	MEMORY_PARTS,
};

/* One allocator, by its own books. Bytes are of address space, except where "resident" is said. */
struct inspected_allocator {
	char name[24];		/* "glibc", … */
	char version[24];	/* "2.36"; "": unknown */
	uint64_t arenas;	/* 0: it has none that could be counted */
	struct amount in_use;	/* as asked for, or the usable size of each block */
	uint64_t slack_bytes;	/* beyond what was asked for, of blocks for which that is known */
	uint64_t free_bytes;	/* cached_bytes included */
	uint64_t cached_bytes;	/* free, in the caches of threads and in bins of small blocks */
	uint64_t free_resident; /* of free_bytes */
	uint64_t free_whole_pages; /* of free_resident: whole pages, which could be given back */
	/*
	 * jemalloc, of free_resident. Dirty pages are the process's until they decay; the kernel
	 * takes muzzy ones when it runs short of memory (MADV_FREE).
	 */
	uint64_t dirty_resident, muzzy_resident;
	uint64_t books_bytes;
	uint64_t unbelieved_bytes;
	uint64_t unbelieved_resident;
	char why[REASON_MAX]; /* why some is not believed, a clause; "": all is */
	/*
	 * What it gives back as one, "slab", and how many of them it has; "": pages, which are not counted. Free
	 * resident bytes lie in kept_units with blocks in use (kept_resident), or in units that caches alone keep. Of
	 * untold_resident it is not known, as some of the unit is not believed. The rest is nobody's.
	 */
	char unit[12];
	uint64_t units, kept_units;
	uint64_t kept_resident, cached_resident, untold_resident;
};

/* An anonymous mapping that no allocator has. */
struct inspected_mapping {
	uint64_t start, bytes, resident;
	char *name;    /* the kernel's: "[anon:…]"; NULL: none. Owned */
	char *held_by; /* what points to it, as in stack.held_by; NULL: not found. Owned */
};

enum group_kind {
	GROUP_CLASS,  /* C++: by its vtable */
	GROUP_PYTHON, /* CPython: by its type */
	GROUP_TYPE,   /* C: by the type of the pointer that leads to it (debug information) */
	GROUP_TEXT,   /* begins with printable characters, to the end or a NUL */
	GROUP_SIZE,   /* only its size and its first bytes are known */
	GROUP_KINDS,
};

/* Who asked for blocks of a process that is traced. Without the weights of sampling. */
struct inspected_origin {
	struct amount traced; /* seen being allocated; the others are from before the attach */
	struct amount most;   /* of these, those of the stack with most bytes */
	uint64_t stack_id;    /* stack.id of that stack */
	char *function;	      /* of that stack, the one that asked; NULL: unknown. Owned */
};

/*
 * What hangs on what, by the nearest way: a root (a variable, a stack), or blocks of a kind behind it. Each block
 * counts in one of them, so the roots add up to the whole.
 */
struct inspected_way {
	size_t up; /* index of what holds it, which stands before it; SIZE_MAX: it is a root */
	char *name; /* "cache (maps)"; "blocks of 24 B"; of a single block "a block of 1.2 KiB". Owned */
	bool linked;		/* blocks of it lead to others of it: a list, a tree */
	bool single;		/* one block that keeps much */
	bool lost;		/* the root of what nothing leads to */
	struct amount own;	/* its blocks */
	struct amount retained; /* with all that hangs on them */
	/*
	 * of these: what no other variable leads to, at least; what several lead to, some of them perhaps by what is left
	 * over in memory. Both 0 of what hangs on no variable
	 */
	struct amount alone, shared;
};

/* By what some of a group's blocks are held. */
struct inspected_holder {
	char *path; /* from the root on, a line each, the last without its end. Owned */
	struct amount held;
};

#define INSPECTED_HOLDERS 5

/* Blocks that are alike. */
struct inspected_group {
	enum group_kind kind;
	char *name;    /* "session", "dict"; of GROUP_SIZE NULL. Owned */
	char *module;  /* the file that has the class; NULL: unknown. Owned */
	uint64_t size; /* of each of GROUP_SIZE; 0: they differ */
	uint64_t
		/* of GROUP_SIZE: a hash of the blocks' first bytes, which names them in a diff */
		beginning;
	struct amount live;
	struct amount verdict[VERDICT_CLASSES];
	/* those that hold most of it; none where it was not looked for */
	struct inspected_holder holders[INSPECTED_HOLDERS];
	size_t holder_count;
	char *contents; /* --contents: first bytes of one; NULL. Owned */
	size_t contents_len;
	bool growth_known;
	double growth_bytes_per_s;	/* since the look before */
	struct inspected_origin origin; /* of inspection.traced */
};

/*
 * Blocks that nothing leads to (leaders), and the blocks that only they keep. Similar ones are one
 * line.
 */
struct inspected_loss {
	size_t group;			/* of the leader, index into the groups */
	struct amount lost;		/* the leaders */
	struct amount kept;		/* the blocks that hang on them: indirectly lost */
	struct inspected_origin origin; /* of the leaders; of inspection.traced */
};

/* What keeps free memory: blocks of a kind, or of a stack. Each block of a unit has an equal part of it. */
struct inspected_keeper {
	size_t allocator; /* whose memory; index */
	size_t group; /* whose blocks; of blocks of one size one group stands for all. SIZE_MAX: a stack's */
	uint64_t kept; /* bytes */
	uint64_t
		alone; /* of these: in units with no other blocks. That is what goes back with them */
	uint64_t blocks;
	size_t with; /* the group that most of what is not alone is shared with; SIZE_MAX: several, or none */
	uint64_t stack_id;  /* stack.id; of a stack. 0: of blocks from before the attach */
	char *function;	    /* of that stack, the one that asked; NULL: unknown. Owned */
	uint64_t oldest_ms; /* age of its oldest block that keeps some; of a stack */
};

enum help_kind {
	HELP_MALLOC_TRIM,    /* glibc: malloc_trim(0) */
	HELP_ARENA_MAX,	     /* glibc: fewer arenas from the start on */
	HELP_MMAP_THRESHOLD, /* glibc: a threshold that does not rise */
	HELP_PURGE,	     /* jemalloc */
	HELP_FLUSH,	     /* jemalloc: of threads' caches, before that */
	HELP_RELEASE,	     /* tcmalloc: ReleaseFreeMemory() */
	HELP_COLLECT,	     /* mimalloc: mi_collect(true) */
	HELP_KINDS,
};

/* What would give memory back. */
struct inspected_help {
	enum help_kind kind;
	size_t allocator;
	uint64_t bytes;
	bool exact;    /* false: at most */
	uint64_t top;  /* HELP_MALLOC_TRIM, of bytes: of the top */
	uint64_t left; /* HELP_MALLOC_TRIM: tops of other arenas, which stay */
	uint64_t mmap_threshold, trim_threshold; /* HELP_MMAP_THRESHOLD */
};

struct inspection {
	uint64_t time_ns;    /* CLOCK_REALTIME; for a core its file's time */
	uint64_t elapsed_ns; /* since the first look */
	pid_t pid;
	char comm[16];
	char *const *cmdline; /* NULL-terminated; NULL: unknown. Owned, in one piece */
	char *core;	      /* the core file; NULL: a living process. Owned */
	bool final;	      /* the last one of its process */
	/* taken while the process is traced: there is a snapshot of the same moment */
	bool traced;
	/* As the kernel counts, in bytes; for a core only what its file has. */
	uint64_t rss_anon, swap, shmem;
	uint64_t parts[MEMORY_PARTS];
	struct inspected_allocator *allocators; /* owned */
	size_t allocator_count;
	struct inspected_mapping *mappings; /* the largest first. Owned */
	size_t mapping_count;
	/* For a core: threads without known registers; no_registers: it has none of any thread. */
	uint64_t unknown_threads;
	bool no_registers;
	struct verdict verdict;		/* of all blocks; pause_ns and read_bytes stand there */
	struct inspected_group *groups; /* the most bytes first. Owned */
	size_t group_count;
	struct inspected_loss *losses; /* the most bytes first. Owned */
	size_t loss_count;
	struct inspected_way *ways; /* holders before what they hold; only the larger ones. Owned */
	size_t way_count;
	struct managed_heap *managed; /* of languages' runtimes. Owned */
	size_t managed_count;
	/* Kinds, then stacks; of each what keeps most first. Owned */
	struct inspected_keeper *keepers;
	size_t keeper_count;
	struct inspected_help *helps; /* by allocator. Owned */
	size_t help_count;
	struct findings *findings; /* owned; NULL: they were not looked for */
	uint64_t tool_bytes;	   /* the tool's own largest resident set meanwhile */
};

/* "in_use", "slack", …: names for JSON. */
const char *memory_part_name(enum memory_part part);
const char *group_kind_name(enum group_kind kind);
const char *help_kind_name(enum help_kind kind);
const char *memory_part_text(enum memory_part part); /* for people */

/*
 * The group's name for people, without its module: "Python dict", "blocks of 48 B". It is not
 * cleaned of text that others wrote. The caller frees it; NULL when out of memory.
 */
char *inspected_group_label(const struct inspected_group *group);

/*
 * "cache (maps)", "a block of 1.2 KiB", "10,000 blocks of 24 B", "37 linked text". The caller
 * frees it; NULL when out of memory.
 */
char *inspected_way_label(const struct inspected_way *way);

/*
 * The built-in suppression that knows these blocks, which a library loses by design: its name.
 * NULL: there is none.
 */
const char *inspected_group_suppressed(const struct inspected_group *group);

/* The definitely lost blocks that no suppression covers. */
struct amount inspection_leaks(const struct inspection *inspection);

/*
 * Do two groups, of two looks or of two processes, have blocks of the same kind? Orders them, for
 * qsort(3) as well: 0 is yes.
 */
int inspected_group_compare(const struct inspected_group *a, const struct inspected_group *b);

/* Frees all that it owns, and itself. NULL is fine. */
void inspection_free(struct inspection *inspection);

#endif

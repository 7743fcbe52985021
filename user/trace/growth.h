/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Has a target grown by what no traced function gave out? Its anonymous memory (resident and swapped
 * out) is read at the beginning and with each snapshot, which takes the reading of /proc/PID/status.
 * Only when that has grown well beyond its live blocks are its mappings looked at, with the pages that
 * they have. Private to user/trace.
 */
#ifndef MEMLEAKBPF_TRACE_GROWTH_H
#define MEMLEAKBPF_TRACE_GROWTH_H

#include "user/model/memory_growth.h"
#include "user/trace/growth_maps.h"
#include "user/trace/target.h"

/* What a target had when tracing it began. */
struct growth_watch {
	uint64_t anon;
	/* Addresses, and threads that there were then; size 0: not looked at so far. */
	struct space_seen {
		uint64_t size, resident; /* bytes; resident or swapped out */
		uint64_t threads;
	} space;
	struct growth_maps *maps; /* NULL: unknown */
	uint64_t looked_ns, look_ns;
	bool matters; /* the last look found so, */
	char *where;  /* here; NULL: nowhere that can be named */
};

enum growth_from {
	GROWTH_NEW,	 /* its program has just begun: it had nothing */
	GROWTH_ATTACHED, /* it has what it has now */
	GROWTH_FORKED,	 /* the same, but many children live briefly: its mappings are not read */
};

/* Without memory, or when it is gone, target->growth stays NULL. */
void growth_begin(struct target *target, enum growth_from from);
void growth_end(struct target *target);

/* What is known of the pages that have come. */
struct growth_seen {
	uint64_t anon; /* bytes by which anonymous memory has grown */
	/*
	 * of that in private mappings of files, 0 where unknown: the loader's relocations, variables
	 * with initial values
	 */
	uint64_t files;
	/*
	 * of that in mappings where the traced allocator keeps nothing but live blocks (glibc outside
	 * of its heaps: it gives mappings back when the block is freed); 0: there are none, or unknown
	 */
	uint64_t elsewhere;
};

/*
 * The rule. How many bytes have come beside live blocks, 0 when that is no more than is usual. Freed
 * memory that an allocator keeps is usual, so it must be more than all that was ever allocated could
 * account for, freed or not; or lie where no allocator keeps anything. In both cases by more than 4 MiB
 * and a quarter of the growth. Sums under sampling are taken four standard errors higher.
 */
uint64_t growth_beyond_live(const struct snapshot *snapshot, const struct growth_seen *seen);

/*
 * Addresses that a process takes and keeps without using them: stacks of threads that nobody has joined,
 * mappings that are never touched. Sets growth->space and space_resident where they have grown by 64 MiB
 * beside what new threads have for stack and heap, and by eight times what has come into memory.
 */
void growth_of_space(struct growth *growth, const struct space_seen *before,
		     const struct space_seen *now);

/*
 * All that trace_read_memory() has filled in, from a snapshot that is going away to the one that takes
 * its place.
 */
void growth_hand_on(struct snapshot *from, struct snapshot *to);

/* Whether that could be more than usual, whatever `files` and `elsewhere` are. */
bool growth_is_suspect(const struct snapshot *snapshot, uint64_t anon);

#endif

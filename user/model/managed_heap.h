/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a language's runtime keeps in a process, by its own books. It has a heap in parts, kinds of objects,
 * threads, and an allocation profile of its own. It is the same for each runtime; what one does not have stays
 * empty. Plain data: user/managed or a recording fills it in, user/export prints it.
 */
#ifndef MEMLEAKBPF_MODEL_MANAGED_HEAP_H
#define MEMLEAKBPF_MODEL_MANAGED_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/base/reason.h"
#include "user/model/amount.h"

/* One sum of the runtime's books. Some are parts of others (managed_part_text()). */
struct managed_part {
	char name[24]; /* "objects", "unswept", "spans", "stacks", "work" */
	struct amount amount;
};

#define MANAGED_PARTS 8

/* Objects that are alike. */
struct managed_kind {
	char *name;	    /* the runtime's own name of the type, or what else is known. Owned */
	bool type_known;    /* false: only size and whether it has pointers are */
	struct amount live; /* on the heap, without what is known to be garbage */
	bool growth_known;
	double growth_bytes_per_s; /* since the look before */
};

/* The runtime's threads (goroutines) that wait at one line and were begun at one line. */
struct managed_threads {
	char *state;   /* "chan receive"; what the runtime calls it. Owned */
	char *at;      /* "main.leak main.go:58"; NULL: not known. Owned */
	char *created; /* the same of the line that began them; NULL: not known. Owned */
	bool own;      /* the runtime's own */
	uint64_t count;
	bool growth_known;
	double growth_per_s; /* since the look before */
};

struct managed_frame {
	char *function; /* NULL: not known. Owned */
	char *file;	/* NULL: not known. Owned */
	uint32_t line;	/* 0: not known */
};

/* What the runtime's own profile has of one stack: sampled blocks, as they are counted there. */
struct managed_sample {
	struct managed_frame *frames; /* innermost first. Owned */
	size_t frame_count;
	struct amount live;  /* sampled, and not freed yet */
	struct amount alloc; /* sampled since the start */
};

struct managed_heap {
	char runtime[16]; /* "Go" */
	char version[48]; /* "1.24.4"; "": not known */
	bool read;	  /* false: nothing of it but the version and `why` */
	/* why it was not read, or what of it is not certain, a clause; "": nothing to say */
	char why[REASON_MAX];
	struct managed_part *parts; /* owned */
	size_t part_count;
	struct managed_kind *kinds; /* the most bytes first. Owned */
	size_t kind_count;
	struct managed_threads *threads; /* the most first. Owned */
	size_t thread_group_count;
	uint64_t thread_count; /* as the program itself counts them: without the runtime's own */
	struct managed_sample *samples; /* the most live bytes first. Owned */
	size_t sample_count;
	uint64_t sample_bytes; /* one sample in so many bytes allocated; 0: there is no profile */
	bool sample_known;     /* that is what the program has set; false: what is usual */
};

/* "objects on the heap": for people. Of a name that is not known the name itself. */
const char *managed_part_text(const char *name);

/* NULL: the heap has no such part. */
const struct managed_part *managed_heap_part(const struct managed_heap *heap, const char *name);

/* Adds one; beyond MANAGED_PARTS there are no more. 0 or -ENOMEM. */
int managed_heap_add_part(struct managed_heap *heap, const char *name, const struct amount *amount);

/*
 * What the runtime's sampled bytes of that size stand for: as the runtime's own tools scale them (1 in
 * sample_bytes). The amount as it is where there is no rate.
 */
struct amount managed_sample_scaled(const struct managed_heap *heap, const struct amount *sampled);

/* Are they of the same kind, or in the same place? Order them, for qsort(3) as well: 0 is yes. */
int managed_kind_compare(const struct managed_kind *a, const struct managed_kind *b);
int managed_threads_compare(const struct managed_threads *a, const struct managed_threads *b);

/* Has each of its lists what has to be there? What was read from a file may not. */
bool managed_heap_is_whole(const struct managed_heap *heap);

/* Frees what it owns. */
void managed_heap_release(struct managed_heap *heap);

#endif

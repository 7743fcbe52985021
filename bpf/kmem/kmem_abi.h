/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs on the kernel's own allocations and user/kmem agree on. */
#ifndef MEMLEAKBPF_BPF_KMEM_KMEM_ABI_H
#define MEMLEAKBPF_BPF_KMEM_KMEM_ABI_H

#include "bpf/types.h"

#define KMEM_FRAMES	40
#define KMEM_OWN_FRAMES 2 /* of the program and of who calls it: no part of the hash */
#define KMEM_STACKS	16384
#define KMEM_CACHES	1024
#define KMEM_TARGETS	1024
#define KMEM_FILTER	65536 /* a power of two */
#define KMEM_CACHE_NAME 32

/* What an event tells of. */
enum kmem_kind {
	KMEM_KMALLOC, /* an object of a general cache, by its size */
	KMEM_CACHE,   /* an object of a cache of its own */
	KMEM_PAGES,
	KMEM_PERCPU,
	KMEM_VMALLOC, /* an area of addresses */
	KMEM_KINDS,
};

/* A block that is not freed, by its address: map `live`. */
struct kmem_live {
	uint64_t stack;	 /* a hash of its frames, the key of map `stacks`; 0: not recorded */
	uint64_t cache;	 /* address of its struct kmem_cache, the key of map `caches`; 0: unknown */
	uint64_t cgroup; /* id of the memory control group of its task; 0: unknown */
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t bytes;
	uint64_t weight; /* bytes that it stands for */
	uint32_t tgid;	 /* in the initial pid namespace; 0: an idle CPU */
	uint8_t kind, order;
	uint16_t pad;
	char comm[16]; /* of the thread that allocated */
};
_Static_assert(sizeof(struct kmem_live) == 72, "ABI");

struct kmem_stack {
	uint64_t frames[KMEM_FRAMES]; /* innermost first; 0: the stack has ended */
};

struct kmem_cache_name {
	char name[KMEM_CACHE_NAME];
	uint32_t object_bytes, pad;
};
_Static_assert(sizeof(struct kmem_cache_name) == 40, "ABI");

/*
 * Where the events have their arguments, in words: it differs from kernel to kernel. 0: the event
 * has none such.
 */
struct kmem_places {
	uint8_t kmalloc_bytes; /* 3 or 4 */
	uint8_t cache;	       /* 2 */
	uint8_t cache_bytes;   /* 3 or 4, where the event does not name the cache */
	uint8_t percpu_bytes;  /* 2 or 3; the pointer is four further on */
};

struct kmem_program_config {
	struct kmem_places places;
	uint32_t cpus; /* possible ones: per-CPU memory is there for each */
	uint32_t page_bytes;
	uint32_t targets; /* not 0: only processes in map `targets` */
};

/* Why something was not recorded. */
enum kmem_lost {
	KMEM_LOST_LIVE_FULL,
	KMEM_LOST_STACKS_FULL, /* the block is recorded, without its stack */
	KMEM_LOST_BUSY,	       /* a table was locked by what this event interrupted */
	KMEM_LOST_CAUSES,
};

/* What else is counted, in the same map behind the losses. */
enum kmem_count {
	KMEM_FREES_UNSEEN = KMEM_LOST_CAUSES, /* blocks whose address came again */
	KMEM_SPLIT,			      /* pages that were freed in parts */
	KMEM_SAMPLED,
	KMEM_COUNTS,
};

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What `memleakbpf kernel` knows at one time: the kernel's own memory, and who allocated it.
 * user/kmem fills it, exporters show it. Texts belong to whoever fills it.
 */
#ifndef MEMLEAKBPF_MODEL_KERNEL_REPORT_H
#define MEMLEAKBPF_MODEL_KERNEL_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/missing.h"
#include "user/model/trend.h"

/* A size that has been looked at from the first look on. */
struct kernel_size {
	uint64_t bytes;
	int64_t growth; /* bytes, since the first look */
	struct trend trend;
};

/* A part of the kernel's memory, as /proc/meminfo has them. */
struct kernel_pool {
	const char *name;  /* for programs: "slab_unreclaimable" */
	const char *title; /* for people */
	struct kernel_size size;
	bool reclaimable; /* the kernel takes it back when memory is short */
};

/* A cache of objects of one size, with those that the kernel has merged with it. */
struct kernel_cache {
	const char *name; /* as /proc/slabinfo has it */
	const char *const *aliases;
	size_t alias_count;
	uint64_t object_bytes;
	uint64_t blocks; /* in use, those of per-CPU lists included */
	int64_t growth_blocks;
	struct kernel_size size; /* of all of its pages */
	bool reclaimable;
	bool frees_unseen; /* the books have more blocks of it than the kernel can have */
};

/* Memory by the function, or the line, that allocates it, as the kernel itself counts. */
struct kernel_caller {
	const char *function;
	const char *file; /* "net/core/sock.c"; NULL: not known */
	unsigned line;
	const char *module; /* NULL: the kernel */
	uint64_t blocks;
	struct kernel_size size;
};

/* What the kernel has charged to a control group for memory of its own. */
struct kernel_group {
	const char *path;
	struct kernel_size size;
};

struct kernel_frame {
	const char *function; /* NULL: no symbol is known */
	const char *module;   /* NULL: the kernel */
	uint64_t address, offset;
};

struct kernel_task {
	uint32_t pid;
	const char *comm;
	uint64_t bytes;
};

enum kernel_kind {
	KERNEL_SLAB,
	KERNEL_PAGES,
	KERNEL_PERCPU,
	KERNEL_VMALLOC,
	KERNEL_KINDS,
};

/* "slab", "pages", "percpu", "vmalloc": of JSON and --kind */
const char *kernel_kind_name(enum kernel_kind kind);

/* Blocks of one kind and cache that one stack has allocated, and nobody has freed. */
struct kernel_stack {
	uint64_t id;
	enum kernel_kind kind;
	const char *cache; /* "TCP", "kmalloc-64"; NULL: no slab object */
	uint64_t object_bytes;
	uint64_t bytes, blocks;	     /* estimates, where samples were taken */
	uint64_t error_bytes;	     /* their standard error */
	uint64_t samples;	     /* blocks that were recorded */
	uint64_t oldest_ns;	     /* age of the oldest one */
	bool interrupt;		     /* the stack begins in an interrupt: the task is anybody */
	bool reclaimable;	     /* of its cache */
	bool frees_unseen;	     /* of its cache: it cannot be trusted */
	bool in_slab;		     /* pages that slab objects live in */
	struct trend trend;	     /* of its bytes */
	struct kernel_task *tasks;   /* those with the most first */
	size_t task_count, task_all; /* listed, and all */
	const char *group;	     /* path of the control group with the most; NULL: not known */
	uint64_t group_id;	     /* 0: not known */
	uint64_t group_bytes;
	const struct kernel_frame *frames; /* innermost first */
	size_t frame_count;
	size_t with;	   /* 0: a line of its own; else: comes with each of stacks[with - 1] */
	size_t companions; /* stacks that come with this one */
};

enum kernel_lost {
	KERNEL_LOST_RECURSION,
	KERNEL_LOST_LIVE_FULL,
	KERNEL_LOST_STACKS_FULL,
	KERNEL_LOST_BUSY,
	KERNEL_LOST_CAUSES,
};

/* What probes know. */
struct kernel_books {
	bool in; /* probes are in now */
	uint64_t elapsed_ns;
	uint64_t sample_bytes; /* 0: every allocation is recorded */
	unsigned kinds;	       /* bits of enum kernel_kind */
	struct kernel_stack *stacks;
	size_t stack_count;
	uint64_t lost[KERNEL_LOST_CAUSES];
	uint64_t frees_unseen; /* blocks whose address came again without a free */
	uint64_t split;	       /* pages that were freed in parts */
	double cpu_share;      /* of one CPU; negative: not measured */
	const char *stopped;   /* why they were taken out; NULL: they were not */
};

struct kernel_report {
	uint64_t time_ns; /* CLOCK_REALTIME */
	uint64_t elapsed_ns;
	bool final;
	const char *host, *release; /* uname(2) */
	struct missing_parts missing;
	struct kernel_pool *pools;
	size_t pool_count;
	struct kernel_cache *caches; /* the largest growth first */
	size_t cache_count;
	struct kernel_caller *areas; /* /proc/vmallocinfo */
	size_t area_count;
	struct kernel_caller *sites; /* /proc/allocinfo, where there is one */
	size_t site_count;
	struct kernel_group *groups;
	size_t group_count;
	const struct kernel_books *books; /* NULL: there were no probes yet */
	size_t top;			  /* rows of each list to show */
};

/* The row of a cache by any of its names; NULL: there is none. */
const struct kernel_cache *kernel_report_cache(const struct kernel_report *report,
					       const char *name);

/* "recursion" …: of JSON */
const char *kernel_lost_name(enum kernel_lost cause);

/* A stack that counts as a leak: it grows, is no cache that can be reclaimed, and is trusted. */
bool kernel_stack_leaks(const struct kernel_stack *stack);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From blocks to rows: one for each stack and cache, named, judged and in order. */
#ifndef MEMLEAKBPF_KMEM_KMEM_ROWS_H
#define MEMLEAKBPF_KMEM_KMEM_ROWS_H

#include "bpf/kmem/kmem_abi.h"
#include "user/kmem/size_history.h"
#include "user/model/kernel_report.h"

/* Blocks younger than this are on their way: many are freed after a grace period of RCU. */
#define KMEM_SETTLED_NS 1000000000ull

struct kmem_rows {
	struct kernel_stack *stacks;
	size_t count, room;
};

/* Where the rows' names come from; `ctx` is passed on. */
struct kmem_names {
	void *ctx;
	/* The frames of a stack that is recorded. false: not known. */
	bool (*stack)(void *ctx, uint64_t id, struct kmem_stack *out);
	bool (*cache)(void *ctx, uint64_t cache, struct kmem_cache_name *out);
	/* A frame's function, module and offset, where they are known. */
	void (*frame)(void *ctx, uint64_t address, struct kernel_frame *out);
	const char *(*group)(void *ctx, uint64_t id); /* NULL: not known */
	bool (*reclaimable)(void *ctx, const char *cache);
	/* Is what was charged to this group wanted? NULL: all of it is. */
	bool (*group_wanted)(void *ctx, uint64_t id);
	/* Is the cache one that is wanted (--cache)? */
	bool (*wanted)(void *ctx, const char *cache);
	/*
	 * The most blocks of a cache that can be live, by the kernel's own count; UINT64_MAX: not
	 * known. `name` NULL: of a general cache, by its size; "": of all caches of this size.
	 */
	uint64_t (*most)(void *ctx, const char *name, uint64_t object_bytes);
	void (*distrust)(void *ctx, const char *cache);
	unsigned kinds; /* that are recorded: bits of enum kernel_kind */
};

/*
 * Makes rows of the blocks, which it sorts, and which must outlive the rows. `now_ns`: by the clock
 * of the blocks. With a history, whose look has begun, each row has its trend. Replaces the rows
 * that are there. 0 or -ENOMEM.
 */
int kmem_rows_make(struct kmem_rows *rows, struct kmem_live *blocks, size_t count, uint64_t now_ns,
		   const struct kmem_names *names, struct size_history *history,
		   uint64_t floor_bytes);
void kmem_rows_free(struct kmem_rows *rows);

/* Finds objects that come together, such as the four of a socket. Rows are in order. */
void kmem_rows_unite(struct kernel_stack *stacks, size_t count);

#endif

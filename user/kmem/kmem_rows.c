// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kmem/kmem_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/fnv.h"
#include "user/base/util.h"

#define KMEM_KMALLOC_MAX 8192	    /* larger ones are pages (KMALLOC_MAX_CACHE_SIZE) */
#define KMEM_FAR	 (1u << 20) /* no function is that long: the address is no function's */

static const enum kernel_kind kmem_kinds[KMEM_KINDS] = {
	[KMEM_KMALLOC] = KERNEL_SLAB,  [KMEM_CACHE] = KERNEL_SLAB,	[KMEM_PAGES] = KERNEL_PAGES,
	[KMEM_PERCPU] = KERNEL_PERCPU, [KMEM_VMALLOC] = KERNEL_VMALLOC,
};

/* ---- blocks of one row -------------------------------------------------------------------- */

/* Objects of one cache have one size, and pages of one stack may have several. */
static uint64_t kmem_block_size(const struct kmem_live *b)
{
	return b->kind == KMEM_KMALLOC || (b->kind == KMEM_CACHE && !b->cache) ? b->bytes : 0;
}

static int kmem_block_row_order(const struct kmem_live *x, const struct kmem_live *y)
{
	const uint64_t xs[] = {x->kind, x->stack, x->cache, kmem_block_size(x)};
	const uint64_t ys[] = {y->kind, y->stack, y->cache, kmem_block_size(y)};
	int order = 0;

	for (size_t i = 0; !order && i < ARRAY_SIZE(xs); i++)
		order = compare_u64(&xs[i], &ys[i]);
	return order;
}

static int kmem_block_order(const void *a, const void *b)
{
	const struct kmem_live *x = a, *y = b;
	int order = kmem_block_row_order(x, y);

	return order ?: x->tgid < y->tgid ? -1 : x->tgid > y->tgid;
}

static int kmem_task_order(const void *a, const void *b)
{
	/* The most first. */
	return -compare_u64(&((const struct kernel_task *)a)->bytes,
			    &((const struct kernel_task *)b)->bytes);
}

/* Blocks are in the order of their tasks. */
static int kmem_row_take_tasks(struct kernel_stack *row, const struct kmem_live *blocks,
			       size_t count)
{
	size_t tasks = 0;

	for (size_t i = 0; i < count; i++)
		tasks += !i || blocks[i].tgid != blocks[i - 1].tgid;
	/* One at least, so that NULL means no memory. */
	row->tasks = calloc(tasks + 1, sizeof(*row->tasks));
	if (!row->tasks)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (!i || blocks[i].tgid != blocks[i - 1].tgid)
			row->tasks[row->task_count++] =
				(struct kernel_task){.pid = blocks[i].tgid, .comm = blocks[i].comm};
		row->tasks[row->task_count - 1].bytes += blocks[i].weight;
	}
	qsort(row->tasks, row->task_count, sizeof(*row->tasks), kmem_task_order);
	row->task_all = row->task_count;
	return 0;
}

/* The group with the most: nearly always there is one (Boyer and Moore's majority vote). */
static void kmem_row_take_group(struct kernel_stack *row, const struct kmem_live *blocks,
				size_t count)
{
	uint64_t votes = 0;

	for (size_t i = 0; i < count; i++) {
		const uint64_t weight = blocks[i].weight;

		if (!votes)
			row->group_id = blocks[i].cgroup;
		if (blocks[i].cgroup == row->group_id)
			votes += weight;
		else if (weight < votes)
			votes -= weight;
		else
			votes = 0;
	}
	for (size_t i = 0; i < count; i++)
		row->group_bytes += blocks[i].cgroup == row->group_id ? blocks[i].weight : 0;
}

static void kmem_row_take_sums(struct kernel_stack *row, const struct kmem_live *blocks,
			       size_t count, uint64_t now_ns)
{
	double variance = 0, number = 0;
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < count; i++) {
		const struct kmem_live *b = &blocks[i];

		row->bytes += b->weight;
		number += b->bytes ? (double)b->weight / (double)b->bytes : 0;
		variance += (double)b->weight * (double)(b->weight - b->bytes);
		first = b->time_ns < first ? b->time_ns : first;
	}
	row->samples = count;
	row->blocks = (uint64_t)(number + 0.5);
	row->error_bytes = (uint64_t)(sqrt(variance) + 0.5);
	row->oldest_ns = now_ns - first;
	row->object_bytes = blocks->bytes;
}

/* ---- names -------------------------------------------------------------------------------- */

static char *kmem_row_cache(const struct kmem_live *block, const struct kmem_names *names)
{
	struct kmem_cache_name known;
	const bool thousands = block->bytes >= 1024;
	char *text = NULL;

	if (block->kind == KMEM_CACHE && names->cache(names->ctx, block->cache, &known))
		return strndup(known.name, sizeof(known.name));
	if (block->kind == KMEM_CACHE || block->bytes <= KMEM_KMALLOC_MAX)
		return asprintf(&text, "%s-%" PRIu64 "%s",
				block->kind == KMEM_CACHE ? "cache" : "kmalloc",
				thousands ? block->bytes / 1024 : block->bytes,
				thousands ? "k" : "") < 0
			       ? NULL
			       : text;
	return strdup("kmalloc-large");
}

static bool kmem_frame_begins(const struct kernel_frame *frame, const char *const *beginnings)
{
	for (; frame->function && *beginnings; beginnings++) {
		if (!strncmp(frame->function, *beginnings, strlen(*beginnings)))
			return true;
	}
	return false;
}

/* What the probe itself has put on the stack is no part of it. */
static size_t kmem_frames_own(const struct kernel_frame *frames, size_t count)
{
	static const char *const own[] = {"bpf_trace_run", "__bpf_trace_", "__traceiter_", NULL};
	size_t begin = 0;

	for (size_t i = 0; i < count && i < 5; i++) {
		if (kmem_frame_begins(&frames[i], own))
			begin = i + 1;
	}
	return begin;
}

/* What these functions allocate holds slab objects, which have rows of their own. */
static const char *const kmem_slab_pages[] = {"allocate_slab",
					      "new_slab",
					      "___kmalloc_large_node",
					      "__kmalloc_large_node",
					      "kmalloc_large",
					      "kmalloc_order",
					      NULL};

/* Where interrupts begin: x86-64, aarch64, softirqs. */
static const char *const kmem_interrupts[] = {"asm_sysvec_",	  "asm_common_interrupt",
					      "common_interrupt", "handle_softirqs",
					      "__do_softirq",	  "el1h_64_irq",
					      "el0t_64_irq",	  "do_interrupt_handler",
					      "asm_exc_nmi",	  NULL};

static int kmem_row_take_frames(struct kernel_stack *row, uint64_t stack,
				const struct kmem_names *names)
{
	struct kmem_stack addresses;
	struct kernel_frame *frames;
	size_t count = 0, own;

	if (!names->stack(names->ctx, stack, &addresses))
		return 0;
	frames = calloc(KMEM_FRAMES, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	while (count < KMEM_FRAMES && addresses.frames[count]) {
		struct kernel_frame *frame = &frames[count];

		/* A return address: the call is before it. */
		frame->address = addresses.frames[count++];
		names->frame(names->ctx, frame->address - 1, frame);
		if (frame->offset > KMEM_FAR)
			frame->function = frame->module = NULL;
	}
	own = kmem_frames_own(frames, count);
	memmove(frames, frames + own, (count - own) * sizeof(*frames));
	row->frames = frames;
	row->frame_count = count - own;
	for (size_t i = 0; i < row->frame_count; i++) {
		row->in_slab |=
			row->kind == KERNEL_PAGES && kmem_frame_begins(&frames[i], kmem_slab_pages);
		row->interrupt |= kmem_frame_begins(&frames[i], kmem_interrupts);
	}
	return 0;
}

/* The same in every look, as long as the probes are in. */
static uint64_t kmem_row_id(const struct kmem_live *block)
{
	const uint64_t key[] = {block->kind, block->stack, block->cache, kmem_block_size(block)};

	return fnv1a(FNV1A_BASIS, key, sizeof(key));
}

static int kmem_row_fill(struct kernel_stack *row, const struct kmem_live *blocks, size_t count,
			 uint64_t now_ns, const struct kmem_names *names)
{
	const char *path;

	*row = (struct kernel_stack){.id = kmem_row_id(blocks), .kind = kmem_kinds[blocks->kind]};
	kmem_row_take_sums(row, blocks, count, now_ns);
	kmem_row_take_group(row, blocks, count);
	/* The list of groups is read anew for each look, also of what is shown longer. */
	path = row->group_id ? names->group(names->ctx, row->group_id) : NULL;
	row->group = path ? strdup(path) : NULL;
	if (row->kind == KERNEL_SLAB) {
		row->cache = kmem_row_cache(blocks, names);
		if (!row->cache)
			return -ENOMEM;
		row->reclaimable = names->reclaimable(names->ctx, row->cache);
	}
	return kmem_row_take_tasks(row, blocks, count)
		       ?: kmem_row_take_frames(row, blocks->stack, names);
}

static void kmem_row_clear(struct kernel_stack *row)
{
	free((char *)row->cache);
	free((char *)row->group);
	free(row->tasks);
	free((struct kernel_frame *)row->frames);
}

/* ---- which rows can be trusted ------------------------------------------------------------ */

/* The books of a cache. */
struct kmem_sum {
	const char *cache;
	uint64_t object_bytes, blocks;
	double variance; /* of the blocks */
	bool general, distrusted;
};

static struct kmem_sum *kmem_sum_of(struct kmem_sum *sums, size_t *count,
				    const struct kernel_stack *row)
{
	for (size_t i = 0; i < *count; i++) {
		if (!strcmp(sums[i].cache, row->cache))
			return &sums[i];
	}
	sums[*count] = (struct kmem_sum){.cache = row->cache, .object_bytes = row->object_bytes};
	return &sums[(*count)++];
}

/*
 * Frees that no event tells (kmem_cache_free_bulk(), kfree_rcu() and others) leave blocks in the
 * books. A cache with more blocks than the kernel itself counts is not believed.
 */
static int kmem_rows_check(struct kmem_rows *rows, const struct kmem_names *names)
{
	_cleanup_free_ struct kmem_sum *sums = calloc(rows->count + 1, sizeof(*sums));
	size_t count = 0;

	if (!sums)
		return -ENOMEM;
	for (size_t i = 0; i < rows->count; i++) {
		const struct kernel_stack *row = &rows->stacks[i];
		struct kmem_sum *sum = row->cache ? kmem_sum_of(sums, &count, row) : NULL;
		double error = row->object_bytes
				       ? (double)row->error_bytes / (double)row->object_bytes
				       : 0;

		if (!sum)
			continue;
		sum->blocks += row->blocks;
		sum->variance += error * error;
	}
	for (size_t i = 0; i < count; i++) {
		/* As kmem_row_cache() names them. */
		const char *name = !strncmp(sums[i].cache, "kmalloc-", 8) ? NULL
				   : !strncmp(sums[i].cache, "cache-", 6) ? ""
									  : sums[i].cache;
		const uint64_t most = names->most(names->ctx, name, sums[i].object_bytes);

		sums[i].distrusted =
			most != UINT64_MAX &&
			(double)sums[i].blocks - 3 * sqrt(sums[i].variance) > (double)most;
		if (sums[i].distrusted)
			names->distrust(names->ctx, sums[i].cache);
	}
	for (size_t i = 0; i < rows->count; i++) {
		struct kernel_stack *row = &rows->stacks[i];

		if (row->cache)
			row->frees_unseen = kmem_sum_of(sums, &count, row)->distrusted;
	}
	return 0;
}

/* ---- rows --------------------------------------------------------------------------------- */

static int kmem_row_rank(const struct kernel_stack *row)
{
	return row->frees_unseen ? 2 : row->reclaimable ? 1 : 0;
}

static int kmem_row_order(const void *a, const void *b)
{
	const struct kernel_stack *x = a, *y = b;

	if (kmem_row_rank(x) != kmem_row_rank(y))
		return kmem_row_rank(x) - kmem_row_rank(y);
	return -compare_u64(&x->bytes, &y->bytes) ?: compare_u64(&x->id, &y->id);
}

static void kmem_rows_empty(struct kmem_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		kmem_row_clear(&rows->stacks[i]);
	rows->count = 0;
}

void kmem_rows_free(struct kmem_rows *rows)
{
	kmem_rows_empty(rows);
	free(rows->stacks);
	*rows = (struct kmem_rows){0};
}

/* Puts those that have settled, and are wanted, first. Returns how many. */
static size_t kmem_blocks_choose(struct kmem_live *blocks, size_t count, uint64_t now_ns,
				 const struct kmem_names *names)
{
	uint64_t group = 0;
	bool wanted = true;
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		const struct kmem_live *b = &blocks[i];

		/* One group has many blocks in a row. */
		if (names->group_wanted && (!i || b->cgroup != group)) {
			group = b->cgroup;
			wanted = names->group_wanted(names->ctx, group);
		}
		if (wanted && b->time_ns + KMEM_SETTLED_NS <= now_ns && b->kind < KMEM_KINDS)
			blocks[kept++] = *b;
	}
	return kept;
}

static int kmem_rows_fill(struct kmem_rows *rows, const struct kmem_live *blocks, size_t count,
			  uint64_t now_ns, const struct kmem_names *names)
{
	int err = 0;

	for (size_t i = 0, end; !err && i < count; i = end) {
		struct kernel_stack *row;

		for (end = i + 1; end < count && !kmem_block_row_order(&blocks[i], &blocks[end]);
		     end++)
			;
		if (!RESERVE_ITEM(rows->stacks, rows->count, rows->room, 256))
			return -ENOMEM;
		row = &rows->stacks[rows->count++];
		err = kmem_row_fill(row, blocks + i, end - i, now_ns, names);
		/* With slab objects recorded these pages would count twice. */
		if ((row->in_slab && (names->kinds & 1u << KERNEL_SLAB)) ||
		    !names->wanted(names->ctx, row->cache)) {
			kmem_row_clear(row);
			rows->count--;
		}
	}
	return err;
}

int kmem_rows_make(struct kmem_rows *rows, struct kmem_live *blocks, size_t count, uint64_t now_ns,
		   const struct kmem_names *names, struct size_history *history,
		   uint64_t floor_bytes)
{
	int err;

	kmem_rows_empty(rows);
	count = kmem_blocks_choose(blocks, count, now_ns, names);
	if (count)
		qsort(blocks, count, sizeof(*blocks), kmem_block_order);
	err = kmem_rows_fill(rows, blocks, count, now_ns, names) ?: kmem_rows_check(rows, names);
	if (err)
		return err;
	if (rows->count)
		qsort(rows->stacks, rows->count, sizeof(*rows->stacks), kmem_row_order);
	for (size_t i = 0; history && i < rows->count; i++) {
		struct kernel_stack *row = &rows->stacks[i];
		struct kernel_size size;

		size_history_add(history, row->id, row->bytes, floor_bytes, true, &size);
		row->trend = size.trend;
	}
	kmem_rows_unite(rows->stacks, rows->count);
	return 0;
}

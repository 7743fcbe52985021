// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/holder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/heap/heap_image.h"
#include "user/heap/held_by.h"
#include "user/inspect/thread_locals.h"
#include "user/model/snapshot.h"

/* So many stacks get a path: each costs a walk and the names of the stacks on it. */
#define PATHS 16

struct describer {
	struct trace *trace;
	struct target *target;
	struct snapshot *snapshot;
	const struct heap_image *image;
	const struct reach *reach;
	const struct site_rules *sites;
	struct held_by held;
	struct trace_tls_time tls_time;
};

const char *holder_allocator(struct trace *trace, const struct snapshot *snapshot, uint32_t stack,
			     const struct site_rules *sites)
{
	const struct frame *const *frames = NULL;
	size_t frame, count = 0;

	if (stack >= snapshot->stack_count ||
	    trace_name_stack(trace, snapshot->target_id, snapshot->stacks[stack].id, &frames,
			     &count))
		return NULL;
	frame = frames_site(frames, count, sites);
	return frame ? frames[frame]->function : NULL;
}

static void holder_put_block(void *ctx, FILE *out, uint32_t block)
{
	struct describer *d = ctx;
	const struct heap_block b = heap_block_at(d->image, block);
	const char *name = holder_allocator(d->trace, d->snapshot, b.stack, d->sites);

	if (b.stack == HEAP_OLD) {
		fputs(" from before the attach", out);
		held_by_put_type(&d->held, out, &b);
	} else if (name) {
		fprintf(out, " from %s", name);
	}
}

static int holder_name_data(void *ctx, const struct mapping *file, uint64_t address,
			    const char **name, uint64_t *offset, uint64_t *vaddr)
{
	struct describer *d = ctx;

	return trace_name_data(d->trace, d->target, file, address, name, offset, vaddr);
}

static int holder_name_frame(void *ctx, const struct memory_thread *thread, uint64_t address,
			     const struct frame **out)
{
	struct describer *d = ctx;

	/* Memory read while it ran is not of the registers' moment. */
	if (d->snapshot->verdict.approximate)
		return -ENOENT;
	return trace_name_frame(d->trace, d->target, d->image->memory, thread, address, out);
}

static int holder_name_thread_variable(void *ctx, uint64_t address, struct thread_variable *out)
{
	struct describer *d = ctx;

	return trace_name_tls(d->trace, d->target, d->image->memory, &d->tls_time, address, out);
}

static int holder_describe_one(struct describer *d, struct stack *stack, uint32_t block)
{
	size_t len = 0;
	FILE *out = open_memstream(&stack->held_by, &len);
	int err = out ? held_by_put(&d->held, out, block) : -ENOMEM;

	if (out && close_memstream(out))
		err = -ENOMEM;
	return err;
}

static void holder_take_contents(const struct describer *d, struct stack *stack, size_t index,
				 uint32_t contents)
{
	const uint64_t address = heap_block_address(d->image, index);
	uint64_t size = heap_block_end(d->image, index) - address;
	size_t n = size < contents ? (size_t)size : contents;

	stack->contents = calloc(n + 1, 1);
	for (size_t i = 0; stack->contents && i < n; i++) {
		uint64_t at = address + i, word;

		if (!memory_image_word(d->image->memory, at & ~7ull, &word))
			break;
		stack->contents[stack->contents_len++] = (char)(word >> at % 8 * 8);
	}
}

static bool holder_wants(const struct describer *d, size_t block, bool lost)
{
	enum verdict_class class = reach_class(d->reach, block);

	if (heap_block_at(d->image, block).stack >= d->snapshot->stack_count)
		return false;
	return lost ? class == VERDICT_DEFINITE || class == VERDICT_INDIRECT
		    : class == VERDICT_REACHABLE;
}

/*
 * For each stack one block of the wanted kind, or UINT32_MAX: the youngest of those that are at
 * least as old as the average. A newer block may still be in the hands of the function that makes
 * it. Then the walk finds its registers and its stack, and not the holder of them all.
 */
static uint32_t *holder_typical(const struct describer *d, bool lost)
{
	size_t n = d->snapshot->stack_count;
	uint32_t *blocks = malloc((n + 1) * sizeof(*blocks));
	_cleanup_free_ struct {
		uint64_t age_ms, count;
	} *sums = calloc(n + 1, sizeof(*sums));

	if (!blocks || !sums) {
		free(blocks);
		return NULL;
	}
	memset(blocks, 0xff, (n + 1) * sizeof(*blocks));
	for (size_t i = 0; i < d->image->block_count; i++) {
		const struct heap_block b = heap_block_at(d->image, i);

		if (!holder_wants(d, i, lost))
			continue;
		sums[b.stack].age_ms += b.age_ms;
		sums[b.stack].count++;
	}
	for (size_t i = 0; i < d->image->block_count; i++) {
		const struct heap_block b = heap_block_at(d->image, i);

		/* Younger than the mean, in whole milliseconds. */
		if (!holder_wants(d, i, lost) ||
		    (b.age_ms + 1) * sums[b.stack].count <= sums[b.stack].age_ms)
			continue;
		if (blocks[b.stack] == UINT32_MAX ||
		    b.age_ms < heap_block_at(d->image, blocks[b.stack]).age_ms)
			blocks[b.stack] = (uint32_t)i;
	}
	return blocks;
}

/* The stack with most reachable bytes that has no path yet; NULL when there is none. */
static struct stack *holder_next_held(struct snapshot *s, const uint32_t *blocks)
{
	struct stack *best = NULL;

	for (size_t i = 0; i < s->stack_count; i++) {
		struct stack *stack = &s->stacks[i];

		if (!stack->held_by && blocks[i] != UINT32_MAX &&
		    (!best || stack->verdict[VERDICT_REACHABLE].bytes >
				      best->verdict[VERDICT_REACHABLE].bytes))
			best = stack;
	}
	return best;
}

int holder_describe(struct trace *trace, struct target *target, struct snapshot *snapshot,
		    const struct heap_image *image, const struct reach *reach,
		    const struct site_rules *sites, uint32_t contents)
{
	struct describer d = {.trace = trace,
			      .target = target,
			      .snapshot = snapshot,
			      .image = image,
			      .reach = reach,
			      .sites = sites,
			      .tls_time = {.left_ns = thread_locals_usual.naming_ns}};
	_cleanup_free_ uint32_t *held = holder_typical(&d, false);
	_cleanup_free_ uint32_t *lost = contents ? holder_typical(&d, true) : NULL;
	int err = held && (lost || !contents) ? 0 : -ENOMEM;

	d.held = (struct held_by){
		.image = image,
		.reach = reach,
		.names = {.ctx = &d,
			  .data = holder_name_data,
			  .frame = holder_name_frame,
			  .thread_variable = holder_name_thread_variable,
			  .block = holder_put_block,
			  .heap = "heap from before the attach"},
	};

	for (int i = 0; !err && i < PATHS; i++) {
		struct stack *stack = holder_next_held(snapshot, held);

		if (!stack)
			break;
		err = holder_describe_one(&d, stack, held[stack - snapshot->stacks]);
	}
	for (size_t i = 0; !err && lost && i < snapshot->stack_count; i++) {
		if (lost[i] != UINT32_MAX)
			holder_take_contents(&d, &snapshot->stacks[i], lost[i], contents);
	}
	return err;
}

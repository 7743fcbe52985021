// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/analysis/rank.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"

static const struct {
	const char *name, *text;
} rank_orders[RANK_ORDERS] = {
	[RANK_LIVE] = {"live", "live bytes"},
	[RANK_ALLOC] = {"alloc", "bytes allocated since the attach"},
	[RANK_GROWTH] = {"growth", "growth, by its trend"},
	[RANK_COUNT] = {"count", "live blocks"},
	[RANK_SUSPECT] = {"suspect", "lost bytes, growth and age together"},
	[RANK_LIFETIME] = {"lifetime", "live bytes that have outlived others"},
	[RANK_TEMPORARY] = {"temporary", "temporary blocks"},
	[RANK_PEAK] = {"peak", "bytes at the peak"},
	[RANK_AGE] = {"age", "age of the oldest block"},
	[RANK_RATE] = {"rate", "bytes allocated of late"},
};

const char *rank_name(enum rank_by by)
{
	return rank_orders[by].name;
}

const char *rank_text(enum rank_by by)
{
	return rank_orders[by].text;
}

/*
 * The keys by which two stacks are compared, in this order; all are equal only for the same stack.
 */
struct key {
	uint64_t class;
	uint64_t first;
	uint64_t second;
	uint64_t id;
};

/*
 * Stacks that grow by their trend come first, stacks known not to grow last: a burst says less than
 * a long watch.
 */
static bool rank_growth_key(const struct stack_notes *notes, struct key *key)
{
	const struct trend *trend = &notes->trend;

	if (trend->kind == TREND_GROWING && trend->growth > 0) {
		key->class = 2;
		/* Resolves a byte in a quarter of an hour. */
		key->first = saturate_u64(trend->growth * 1024);
		return true;
	}
	if (notes->delta_bytes < 0 || (!notes->delta_bytes && notes->delta_count <= 0))
		return false;
	key->class = trend->kind == TREND_UNKNOWN || trend->kind == TREND_TOO_EARLY;
	key->first = (uint64_t)notes->delta_bytes;
	key->second = notes->delta_count > 0 ? (uint64_t)notes->delta_count : 0;
	return true;
}

/*
 * Lost bytes count whole, with what hangs on them. Possibly lost ones count an eighth, and held
 * ones, or those without a verdict, a sixteenth: they may be lost tomorrow. Of these, bytes that have
 * outlived others of the stack count a half. But not if their trend is known and does not grow: then
 * they are a cache, or loaded once. An hour's growth counts as if it were lost already, and an
 * hour's age doubles all that.
 */
static double rank_suspicion(const struct stack *stack, const struct trend *trend)
{
	static const double hour_ns = 3600e9;
	double lost = (double)stack_lost_bytes(stack) + (double)stack->unjoined.resident;
	double possible = (double)stack->verdict[VERDICT_POSSIBLE].bytes;
	double rest = (double)stack->live.bytes - (double)stack->verdict[VERDICT_DEFINITE].bytes -
		      (double)stack->verdict[VERDICT_INDIRECT].bytes -
		      (double)stack->unjoined.resident - possible;
	bool suspect = trend->kind == TREND_GROWING || trend->kind == TREND_UNKNOWN ||
		       trend->kind == TREND_TOO_EARLY;
	double outlived = stack->figures && suspect ? (double)stack->figures->outlived.bytes : 0;
	double growth = trend->kind == TREND_GROWING ? trend->growth * 3600 : 0;
	double age = (double)stack->oldest_ns / hour_ns;

	rest = rest > 0 ? rest : 0;
	outlived = outlived < rest ? outlived : rest;
	return (lost + possible / 8 + outlived / 2 + (rest - outlived) / 16 +
		(growth > 0 ? growth : 0)) *
	       (1 + (age < 1 ? age : 1));
}

/* False: there are no figures. */
static bool rank_figures_key(const struct stack_figures *figures, enum rank_by by, struct key *key)
{
	if (!figures)
		return false;
	if (by == RANK_PEAK) {
		key->first = figures->at_peak.bytes;
		key->second = figures->peak_bytes;
		return figures->at_peak.count || figures->at_peak.bytes;
	}
	if (by == RANK_TEMPORARY) {
		key->first = figures->temporary.count;
		key->second = figures->temporary.bytes;
		return figures->temporary.count || figures->temporary.bytes;
	}
	key->class = figures->outlived.count > 0;
	key->first = figures->outlived.bytes;
	key->second = lifetimes_quantile(figures->lifetimes, 0.5, NULL);
	return key->class || key->second;
}

/*
 * Lost blocks come before all else, however few they are. What hangs on them comes last, as it is
 * counted there. Suppressed blocks rank as if they were held.
 */
static void rank_live_key(const struct report *report, const struct stack *stack, struct key *key)
{
	const struct stack_notes *notes = report->notes ? report_notes(report, stack) : NULL;
	unsigned suppressed = notes ? notes->suppressed : 0;
	bool lost =
		stack->verdict[VERDICT_DEFINITE].count && !(suppressed & 1u << VERDICT_DEFINITE);

	lost |= stack->verdict[VERDICT_INDIRECT].count > stack->hangs.count &&
		!(suppressed & 1u << VERDICT_INDIRECT);
	key->first = stack->older.bytes;
	key->second = stack->older.count;
	if (report->snapshot->verdict.state != VERDICT_TAKEN)
		return;
	key->class = notes && notes->hangs ? 0 : lost ? 2 : 1;
	if (lost && key->class)
		key->first = stack_lost_bytes(stack);
}

/*
 * False: nothing to show. Blocks of zero bytes count as blocks: malloc(0) leaks memory, too.
 * stack.older equals stack.live unless --older was given.
 */
static bool rank_key_of(const struct report *report, const struct stack *stack, enum rank_by by,
			struct key *key)
{
	*key = (struct key){.id = stack->id};
	switch (by) {
	case RANK_LIVE:
		rank_live_key(report, stack, key);
		return stack->older.count || stack->older.bytes;
	case RANK_ALLOC:
		key->first = stack->alloc.bytes;
		key->second = stack->alloc.count;
		return stack->alloc.count || stack->alloc.bytes;
	case RANK_GROWTH:
		return rank_growth_key(report_notes(report, stack), key);
	case RANK_SUSPECT:
		key->first =
			saturate_u64(rank_suspicion(stack, &report_notes(report, stack)->trend));
		key->second = stack->live.bytes;
		return stack->live.count > 0;
	case RANK_LIFETIME:
	case RANK_TEMPORARY:
	case RANK_PEAK:
		return rank_figures_key(stack->figures, by, key);
	case RANK_COUNT:
		key->first = stack->older.count;
		key->second = stack->older.bytes;
		return stack->older.count > 0;
	case RANK_AGE:
		key->first = stack->oldest_ns;
		key->second = stack->live.bytes;
		return stack->live.count > 0;
	case RANK_RATE:
		key->first = report_notes(report, stack)->fresh_bytes;
		key->second = stack->alloc.bytes;
		return key->first > 0;
	case RANK_ORDERS:
		break;
	}
	return false;
}

static bool rank_key_better(const struct key *a, const struct key *b)
{
	if (a->class != b->class)
		return a->class > b->class;
	if (a->first != b->first)
		return a->first > b->first;
	if (a->second != b->second)
		return a->second > b->second;
	return a->id < b->id;
}

/* The report to be ranked, and how. */
struct ranking {
	const struct report *report;
	enum rank_by by;
};

static bool rank_stack_better(const struct ranking *r, const struct stack *a, const struct stack *b)
{
	struct key key_a, key_b;

	rank_key_of(r->report, a, r->by, &key_a);
	rank_key_of(r->report, b, r->by, &key_b);
	return rank_key_better(&key_a, &key_b);
}

/* heap[0] is the worst of the kept stacks; restores the order below `i`. */
static void rank_sift_down(const struct ranking *r, const struct stack **heap, size_t count,
			   size_t i)
{
	for (;;) {
		size_t worst = i, child = 2 * i + 1;
		const struct stack *moved;

		if (child < count && rank_stack_better(r, heap[worst], heap[child]))
			worst = child;
		if (child + 1 < count && rank_stack_better(r, heap[worst], heap[child + 1]))
			worst = child + 1;
		if (worst == i)
			return;
		moved = heap[i];
		heap[i] = heap[worst];
		heap[worst] = moved;
		i = worst;
	}
}

/* Is the i-th stack to be shown? *key is its key. */
static bool rank_is_shown(const struct report *report, size_t i, enum rank_by by, struct key *key)
{
	const struct stack_notes *notes = report->notes ? &report->notes[i] : NULL;

	return !(notes && (notes->hidden || notes->unwanted)) &&
	       rank_key_of(report, &report->snapshot->stacks[i], by, key);
}

size_t rank_top_of(const struct report *report, enum rank_by by, const struct stack **top,
		   size_t max, size_t *all)
{
	const struct ranking r = {report, by};
	struct key worst = {0}; /* of top[0], once there are max */
	size_t kept = 0;

	*all = 0;
	for (size_t i = 0; i < report->snapshot->stack_count; i++) {
		const struct stack *stack = &report->snapshot->stacks[i];
		struct key key;

		if (!rank_is_shown(report, i, by, &key))
			continue;
		++*all;
		if (!max)
			continue;
		if (kept < max) {
			top[kept++] = stack;
			for (size_t n = kept / 2; kept == max && n-- > 0;)
				rank_sift_down(&r, top, kept, n);
			if (kept == max)
				rank_key_of(report, top[0], by, &worst);
		} else if (rank_key_better(&key, &worst)) {
			top[0] = stack;
			rank_sift_down(&r, top, kept, 0);
			rank_key_of(report, top[0], by, &worst);
		}
	}
	if (kept < max) {
		for (size_t n = kept / 2; n-- > 0;)
			rank_sift_down(&r, top, kept, n);
	}
	/* Take the worst away to the end, again and again: best first remains. */
	for (size_t n = kept; n > 1;) {
		const struct stack *worst = top[0];

		top[0] = top[--n];
		top[n] = worst;
		rank_sift_down(&r, top, n, 0);
	}
	return kept;
}

size_t rank_top(const struct report *report, enum rank_by by, const struct stack **top, size_t max)
{
	size_t all;

	return max ? rank_top_of(report, by, top, max, &all) : 0;
}

struct index_entry {
	uint64_t id;
	size_t position; /* in snapshot->stacks */
};

static int rank_compare_ids(const void *a, const void *b)
{
	const struct index_entry *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* Sorts the stacks by their ids; NULL when there are none or no memory is left. */
static struct index_entry *rank_index_by_id(const struct snapshot *snapshot)
{
	struct index_entry *index;

	if (!snapshot || !snapshot->stack_count)
		return NULL;
	index = calloc(snapshot->stack_count, sizeof(*index));
	if (!index)
		return NULL;
	for (size_t i = 0; i < snapshot->stack_count; i++)
		index[i] = (struct index_entry){snapshot->stacks[i].id, i};
	qsort(index, snapshot->stack_count, sizeof(*index), rank_compare_ids);
	return index;
}

static const struct stack *rank_find_stack(const struct snapshot *snapshot,
					   const struct index_entry *index, uint64_t id)
{
	const struct index_entry wanted = {.id = id};
	const struct index_entry *found;

	if (!snapshot)
		return NULL;
	if (index) {
		found = bsearch(&wanted, index, snapshot->stack_count, sizeof(*index),
				rank_compare_ids);
		return found ? &snapshot->stacks[found->position] : NULL;
	}
	/* Without memory for the index: slower, and as right. */
	for (size_t i = 0; i < snapshot->stack_count; i++) {
		if (snapshot->stacks[i].id == id)
			return &snapshot->stacks[i];
	}
	return NULL;
}

/* The earlier snapshot, for comparison. */
struct rank_before {
	const struct snapshot *snapshot; /* NULL: none */
	struct index_entry *index;	 /* NULL until it is needed */
	bool indexed;
	size_t in_order; /* so many stacks, from the first on, were asked for in their order */
};

/*
 * Sources keep the order: a stack stands where it stood, and new ones behind. Only where that does
 * not hold it is looked for.
 */
static const struct stack *rank_stack_before(struct rank_before *before, size_t i, uint64_t id)
{
	const struct snapshot *s = before->snapshot;

	if (!s)
		return NULL;
	if (before->in_order == i && i < s->stack_count && s->stacks[i].id == id) {
		before->in_order++;
		return &s->stacks[i];
	}
	if (before->in_order == s->stack_count)
		return NULL;
	if (!before->indexed)
		before->index = rank_index_by_id(s);
	before->indexed = true;
	return rank_find_stack(s, before->index, id);
}

static void rank_heaps_delta(struct report *now, const struct untraced_heaps *before)
{
	const struct untraced_heaps *heaps = &now->snapshot->heaps;

	for (size_t i = 0; i < UNTRACED_HEAPS; i++)
		now->heap_delta_bytes[i] = heaps->bytes[i] && before->bytes[i]
						   ? (int64_t)(heaps->bytes[i] - before->bytes[i])
						   : 0;
}

int rank_delta(struct report *now, const struct snapshot *snapshot)
{
	struct rank_before before = {.snapshot = snapshot};

	if (report_reserve(now))
		return -ENOMEM;
	now->delta_bytes = now->delta_count = 0;
	if (snapshot)
		rank_heaps_delta(now, &snapshot->heaps);
	for (size_t i = 0; i < now->snapshot->stack_count; i++) {
		const struct stack *stack = &now->snapshot->stacks[i];
		const struct stack *old = rank_stack_before(&before, i, stack->id);
		struct stack_notes notes = report_first_notes(stack);
		/* A stack that is new, or a first snapshot: all live blocks came since attach. The
		 * differences are taken modulo 2^64 and come out signed. */
		uint64_t bytes = stack->live.bytes - (old ? old->live.bytes : 0);
		uint64_t count = stack->live.count - (old ? old->live.count : 0);

		notes.delta_bytes = (int64_t)bytes;
		notes.delta_count = (int64_t)count;
		notes.fresh_bytes = stack->alloc.bytes - (old ? old->alloc.bytes : 0);
		now->notes[i] = notes;
		now->delta_bytes = (int64_t)((uint64_t)now->delta_bytes + bytes);
		now->delta_count = (int64_t)((uint64_t)now->delta_count + count);
	}
	free(before.index);
	return 0;
}

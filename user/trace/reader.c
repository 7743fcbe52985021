// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <bpf/bpf.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/text.h"
#include "user/base/util.h"
#include "user/model/module_maps.h"
#include "user/model/snapshot.h"
#include "user/blocks/blocks.h"
#include "user/trace/anchor.h"
#include "user/misuse/misuses.h"
#include "user/figures/figures_read.h"
#include "user/patch/gated.h"
#include "user/patch/guarded.h"
#include "user/figures/peaks.h"
#include "user/trace/recursion_misses.h"
#include "user/scopes/scopes.h"
#include "user/stacks/slots.h"
#include "user/stacks/stacks.h"
#include "user/trace/work.h"

/* About 150 ns a block: 40 ms. */
#define AGES_MAX_BLOCKS 262144
/*
 * The rest between two walks, in durations of a walk. Meanwhile the last walk counts, for a second
 * at most. It was over the blocks of all targets, so one walk serves a round of reports.
 */
#define AGES_REST 20
/* The same, where they may be older. */
#define AGES_SELDOM_REST 200
/* Of a block's time: bpf/live.h. */
#define AGES_TICK_NS (10 * NS_PER_MS)

/* Counts have 16 fractional bits under sampling. */
static uint64_t reader_whole(uint64_t count)
{
	return (count + SAMPLE_ONE / 2) / SAMPLE_ONE;
}

static void reader_fill_stack(struct stack *stack, const struct trace *trace, uint32_t slot,
			      uint64_t now, bool ages)
{
	const struct stack_counters *c = &trace->slots->counters[slot];
	const struct slot_info *info = &trace->slots->infos[slot];

	stack->id = info->stack_id;
	stack->index = slot;
	stack->end = info->end;
	stack->truncated = info->end == STACK_END_TRUNCATED;
	/*
	 * Frees first: read the other way round, a block freed in between could make live negative.
	 */
	stack->free.bytes = __atomic_load_n(&c->free_bytes, __ATOMIC_ACQUIRE);
	stack->free.count = __atomic_load_n(&c->free_count, __ATOMIC_ACQUIRE);
	stack->alloc.bytes = __atomic_load_n(&c->alloc_bytes, __ATOMIC_ACQUIRE);
	stack->alloc.count = __atomic_load_n(&c->alloc_count, __ATOMIC_ACQUIRE);
	stack->live.bytes = stack->alloc.bytes - stack->free.bytes;
	stack->live.count = stack->alloc.count - stack->free.count;
	if (info->weighed || trace->options.sample_bytes) {
		stack->error_bytes = slots_error(trace->slots, slot, stack->live.bytes);
		stack->live.count = reader_whole(stack->live.count);
		stack->alloc.count = reader_whole(stack->alloc.count);
		stack->free.count = reader_whole(stack->free.count);
	}
	stack->older = stack->live;
	if (ages) {
		const struct slot_age *age = &trace->slots->ages[slot];

		if (trace->options.older_ns)
			stack->older = (struct amount){age->older_bytes,
						       info->weighed || trace->options.sample_bytes
							       ? reader_whole(age->older_count)
							       : age->older_count};
		if (stack->live.count && age->oldest_ns && age->oldest_ns < now)
			stack->oldest_ns = now - age->oldest_ns;
	}
}

/* A stack that user space has finished counts under its own id. */
static bool reader_take_final_id(struct stack *stack, const struct trace *trace,
				 const struct target *target)
{
	const struct stack_entry *entry;

	/* There the kernel side knows less: events.c; and of no function what it is called. */
	if (stack->end != STACK_END_NO_MAPPING && !trace->options.old && !target->runtimes.followed)
		return false;
	entry = stack_table_find(trace->stacks, target->id, stack->id);
	if (!entry || !entry->same_as)
		return false;
	stack->id = entry->same_as;
	stack->end = entry->same_end;
	stack->truncated = stack->end == STACK_END_TRUNCATED;
	return true;
}

static int reader_by_id(const void *a, const void *b)
{
	const struct stack *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* Several slots may turn out to belong to one stack. */
static void reader_merge_stacks(struct snapshot *snapshot)
{
	struct stack *to = snapshot->stacks;

	qsort(snapshot->stacks, snapshot->stack_count, sizeof(*snapshot->stacks), reader_by_id);
	for (size_t i = 1; i < snapshot->stack_count; i++) {
		const struct stack *from = &snapshot->stacks[i];

		if (from->id != to->id) {
			*++to = *from;
			continue;
		}
		amount_add(&to->live, &from->live);
		amount_add(&to->alloc, &from->alloc);
		amount_add(&to->free, &from->free);
		amount_add(&to->older, &from->older);
		to->error_bytes = hypot(to->error_bytes, from->error_bytes);
		if (from->oldest_ns > to->oldest_ns)
			to->oldest_ns = from->oldest_ns;
	}
	snapshot->stack_count = (size_t)(to - snapshot->stacks) + 1;
}

bool reader_is_nested(const struct trace *trace, uint32_t target_id, uint64_t stack_id)
{
	const struct stack_entry *entry;

	if (!trace->options.gate)
		return false;
	entry = stack_table_find(trace->stacks, target_id, stack_id);
	if (entry && entry->same_as)
		entry = stack_table_find(trace->stacks, target_id, entry->same_as);
	return entry && entry->nested;
}

/* The next entry of the snapshot, if that slot belongs to the target and has anything in it. */
static bool reader_add_stack(struct snapshot *snapshot, struct trace *trace,
			     const struct target *target, uint32_t slot, uint64_t now, bool ages)
{
	struct stack *stack = &snapshot->stacks[snapshot->stack_count];
	bool finished;

	if (trace->slots->infos[slot].target_id != target->id)
		return false;
	reader_fill_stack(stack, trace, slot, now, ages);
	if (!stack->alloc.count || reader_is_nested(trace, target->id, stack->id))
		return false;
	if (trace->slots->infos[slot].arena)
		amount_add(&snapshot->arenas, &stack->live);
	snapshot->stack_count++;
	finished = reader_take_final_id(stack, trace, target);
	if (slots_scope(trace->slots, slot))
		scopes_add_stack(trace->scopes, snapshot, stack, slots_scope(trace->slots, slot));
	return finished;
}

static int reader_fill_stacks(struct snapshot *snapshot, struct trace *trace,
			      const struct target *target, uint64_t now, bool ages)
{
	uint32_t slots = slots_used(trace->slots), n = 0;
	/* Scopes whose tags look the same once they are cleaned are one, and so are the stacks in them. */
	bool finished = trace->scopes;

	for (uint32_t i = 0; i < slots; i++)
		n += trace->slots->infos[i].target_id == target->id;
	snapshot->stacks = calloc(n + 1, sizeof(*snapshot->stacks));
	if (!snapshot->stacks)
		return -ENOMEM;
	for (uint32_t i = 0; i < slots && snapshot->stack_count < n; i++)
		finished |= reader_add_stack(snapshot, trace, target, i, now, ages);
	if (slots_have_bare(trace->slots))
		reader_add_stack(snapshot, trace, target, slots_bare(trace->slots, target->id), now,
				 ages);
	if (finished)
		reader_merge_stacks(snapshot);
	return 0;
}

uint32_t *reader_stacks_by_slot(const struct trace *trace, const struct target *target,
				const struct snapshot *snapshot, uint32_t *slots)
{
	uint32_t *by_slot;

	*slots = slots_end(trace->slots);
	by_slot = malloc((*slots + 1ull) * sizeof(*by_slot));
	if (!by_slot)
		return NULL;
	memset(by_slot, 0xff, (*slots + 1ull) * sizeof(*by_slot));
	for (size_t i = 0; i < snapshot->stack_count; i++)
		by_slot[snapshot->stacks[i].index] = (uint32_t)i;
	for (uint32_t slot = 0; slot < *slots; slot++) {
		struct stack wanted = {.id = trace->slots->infos[slot].stack_id,
				       .end = trace->slots->infos[slot].end};
		const struct stack *found;

		if (by_slot[slot] != UINT32_MAX ||
		    trace->slots->infos[slot].target_id != target->id)
			continue;
		/* One of several slots of the same stack: then the snapshot's stacks are sorted. */
		reader_take_final_id(&wanted, trace, target);
		wanted.id =
			scopes_mixed_id(trace->scopes, wanted.id, slots_scope(trace->slots, slot));
		found = bsearch(&wanted, snapshot->stacks, snapshot->stack_count,
				sizeof(*snapshot->stacks), reader_by_id);
		if (found)
			by_slot[slot] = (uint32_t)(found - snapshot->stacks);
	}
	return by_slot;
}

static void reader_fill_losses(struct snapshot *snapshot, const struct trace *trace,
			       uint32_t target_id)
{
	const struct target_stats *stats = slots_stats(trace->slots, target_id);

	recursion_misses_update(trace);
	snapshot->unknown_frees = stats->unknown_frees;
	for (int i = 0; i < LOST_CAUSES; i++) {
		snapshot->lost_anywhere[i] = trace->skel->bss->shared.lost[i];
		snapshot->lost[i] = stats->lost[i] + snapshot->lost_anywhere[i];
	}
}

/* How often the stacks of allocations had to be walked: threads remember those that they had before. */
static void reader_tell_walks(const struct snapshot *snapshot, const struct target_stats *stats)
{
	uint64_t walks = stats->walks, allocations = snapshot->alloc.count;

	if (allocations)
		log_debug("process %d (%s): %" PRIu64 " allocations, the stacks of %" PRIu64
			  " walked (%.2f %%)",
			  snapshot->pid, snapshot->comm, allocations, walks,
			  100.0 * (double)walks / (double)allocations);
}

/* Without memory they are unknown. */
static struct module_maps *reader_copy_maps(const struct image *image)
{
	size_t count = image_range_count(image), n = 0;
	_cleanup_free_ struct module_map *items = calloc(count ? count : 1, sizeof(*items));

	for (size_t i = 0; items && i < count; i++) {
		const struct image_range *range = image_range_at(image, i);
		struct module_map *map = &items[n];

		if (!range->object || object_code_vaddr(range->object, range->offset, &map->vaddr))
			continue;
		map->start = range->start;
		map->end = range->end;
		map->offset = range->offset;
		map->path = object_path(range->object);
		map->build_id = object_build_id(range->object, &map->build_id_len);
		n++;
	}
	return items && n ? module_maps_new(items, n) : NULL;
}

/*
 * A report reads stacks, not allocations. Two kinds of walks are made only for --older:
 *
 * - walks that take longer than all the rest
 * - walks that take more than a twentieth of our time, as for many children that end one after the
 *   other
 */
static enum reader_ages reader_choose_ages(const struct trace *trace, uint64_t now)
{
	const struct blocks_walk last = blocks_last_walk(trace->blocks);
	bool seldom = trace->options.ages_seldom;
	uint64_t rest = (seldom ? AGES_SELDOM_REST : AGES_REST) * last.took_ns;

	if (!trace->options.ages)
		return READER_NO_AGES;
	if (trace->options.older_ns)
		return READER_NEW_AGES;
	/* Which blocks have outlived others is asked for, too. */
	if (blocks_count(trace->blocks) > AGES_MAX_BLOCKS && !trace->options.figures.lifetimes)
		return READER_NO_AGES;
	if (last.ended_ns && now - last.ended_ns < rest)
		return seldom || rest < NS_PER_S ? READER_LAST_AGES : READER_NO_AGES;
	return READER_NEW_AGES;
}

/*
 * The last walk knows nothing of stacks that have come since, and something wrong of a slot that has been
 * given to another target since. True when every stack with live blocks has an age.
 */
static bool reader_has_all_ages(struct snapshot *s)
{
	bool all = true;

	for (size_t i = 0; i < s->stack_count; i++) {
		if (s->stacks[i].oldest_ns > s->elapsed_ns + AGES_TICK_NS)
			s->stacks[i].oldest_ns = 0;
		all &= !s->stacks[i].live.count || s->stacks[i].oldest_ns;
	}
	return all;
}

static int reader_fill_figures(struct trace *trace, struct target *target, struct snapshot *s,
			       bool ages)
{
	struct figures_target of = {
		.id = target->id,
		.told = target->tells || (target->has_gate && trace->options.sample_bytes),
	};
	_cleanup_free_ uint32_t *by_slot = NULL;
	struct live_clock clock;
	uint32_t slots;

	if (!figures_any(&trace->options.figures))
		return 0;
	peaks_look(trace->figures, target->id, target->pid, &target->peak);
	of.peak = target->peak;
	by_slot = reader_stacks_by_slot(trace, target, s, &slots);
	if (trace->options.figures.peak)
		blocks_clock(trace->blocks, &clock);
	clock = trace->skel->bss->shared.kernel_clock;
	return by_slot ? figures_read(trace->figures, &of, s, by_slot, slots,
				      ages ? &trace->skel->bss->shared.clock : NULL, &clock)
		       : -ENOMEM;
}

static enum attached_by reader_attached(const struct trace *trace, const struct target *target)
{
	static const enum attached_by modes[ATTACH_MODES] = {
		[ATTACH_SESSION] = ATTACHED_BY_SESSION,
		[ATTACH_MULTI] = ATTACHED_BY_MULTI,
		[ATTACH_SINGLE] = ATTACHED_BY_SINGLE,
	};

	if (target->tells)
		return ATTACHED_BY_USDT;
	if (target->has_gate)
		return target->has_probes ? ATTACHED_BY_GATE_AND_PROBES : ATTACHED_BY_GATE;
	return modes[trace->options.attach];
}

int reader_snapshot(struct trace *trace, struct target *target, enum reader_ages ages,
		    struct snapshot **out)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	uint64_t now = monotonic_ns();
	int err = 0;

	if (!s)
		return -ENOMEM;
	trace_note_work(trace);
	s->time_ns = clock_ns(CLOCK_REALTIME);
	s->elapsed_ns = now - target->start_ns;
	s->interval_ns = target->snapshot_ns ? now - target->snapshot_ns : 0;
	target->snapshot_ns = now;
	s->sample_bytes = target->tells ? slots_stats(trace->slots, target->id)->tells_every
					: trace->options.sample_bytes;
	s->attached = reader_attached(trace, target);
	s->missing = trace->missing;
	s->target_id = target->id;
	s->pid = target->pid;
	memcpy(s->comm, target->comm, sizeof(s->comm));
	/* Without memory it is unknown. */
	s->cmdline = target->cmdline ? text_list_copy(target->cmdline) : NULL;
	s->maps = reader_copy_maps(target->image);
	s->exited = target->stage == TARGET_EXITED;
	s->end = target->end;
	s->execed = target->stage == TARGET_REPLACED;
	s->final = target_has_ended(target);
	s->children_late = target->late;
	anchor_check(trace, target);
	if (ages == READER_NEW_AGES) {
		err = blocks_find_ages(trace->blocks);
		if (err)
			log_debug("no ages: cannot walk the live map: %s", strerror(-err));
		ages = err ? READER_NO_AGES : ages;
	}
	err = scopes_read(trace->scopes, target->id, s);
	err = err ?: reader_fill_stacks(s, trace, target, now, ages != READER_NO_AGES);
	err = err ?: reader_fill_figures(trace, target, s, ages != READER_NO_AGES);
	if (err) {
		snapshot_free(s);
		return log_errno(err, "no memory for a snapshot");
	}
	snapshot_total(s);
	if (ages != READER_NEW_AGES && !reader_has_all_ages(s) && trace->options.ages)
		s->ages_unread = blocks_count(trace->blocks);
	reader_fill_losses(s, trace, target->id);
	if (!trace->options.old)
		reader_tell_walks(s, slots_stats(trace->slots, target->id));
	target_add_lost(target, s->lost);
	s->frees_checked = trace->options.check_frees;
	guarded_read(trace->patches, target_patched(target), &s->guard);
	for (int finder = 0; finder < MISUSE_FINDERS; finder++) {
		if (misuses_read(trace->misuses, finder, target->id, &s->misuses[finder]))
			log_error("no memory for the list of %s",
				  finder == MISUSE_BY_CHECK ? "bad frees" : "bad accesses");
	}
	*out = s;
	return 0;
}

int trace_snapshot(struct trace *trace, struct target *target, struct snapshot **out)
{
	return reader_snapshot(trace, target, reader_choose_ages(trace, monotonic_ns()), out);
}

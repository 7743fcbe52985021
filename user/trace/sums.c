// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* For traces of many processes: how often they sample, what each target has live, what its guards have found. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "user/patch/patches.h"
#include "user/misuse/misuses.h"
#include "user/patch/gated.h"
#include "user/patch/guarded.h"
#include "user/trace/reader.h"
#include "user/trace/skeleton.h"
#include "user/stacks/slots.h"
#include "user/trace/target.h"

void trace_set_level(struct trace *trace, unsigned level)
{
	struct target *target, *next;

	patches_set_level(trace->patches, level);
	HASH_ITER (hh, trace->targets, target, next) {
		for (const struct target_attachment *a = target->attachments; a; a = a->next) {
			if (a->gated)
				gated_set_level(a->gated, level);
		}
	}
}

uint64_t trace_samples(const struct trace *trace)
{
	return __atomic_load_n(&trace->skel->bss->shared.samples, __ATOMIC_RELAXED);
}

void trace_alarm_at(struct trace *trace, uint64_t samples)
{
	__atomic_store_n(&trace->skel->bss->shared.samples_alarm, samples, __ATOMIC_RELAXED);
}

static void sums_add_own_slot(struct trace *trace, struct target *target, uint32_t slot)
{
	const struct stack_counters *c = &trace->slots->counters[slot];
	uint64_t freed, live;
	double error;

	if (target->layered &&
	    reader_is_nested(trace, target->id, trace->slots->infos[slot].stack_id))
		return;
	/* Frees first: reader.c. */
	freed = __atomic_load_n(&c->free_bytes, __ATOMIC_ACQUIRE);
	live = __atomic_load_n(&c->alloc_bytes, __ATOMIC_ACQUIRE) - freed;
	target->sums.live_bytes += live;
	error = slots_error(trace->slots, slot, live);
	target->sums.live_variance += error * error;
}

static void sums_add_slot(struct trace *trace, struct target **last, uint32_t slot)
{
	const struct slot_info *info = &trace->slots->infos[slot];

	if (!info->target_id)
		return;
	/* Slots of a target lie together, mostly. */
	if (!*last || (*last)->id != info->target_id)
		*last = target_by_id(trace, info->target_id);
	if (*last)
		sums_add_own_slot(trace, *last, slot);
}

static void sums_add_misuse(void *ctx, uint32_t target_id, enum misuse_kind kind, uint64_t count)
{
	struct trace *trace = ctx;
	struct target *target = target_by_id(trace, target_id);

	if (target)
		target->sums.bad_accesses[kind] += count;
}

/* Of one that may have just ended, so that it is in no table. */
static void sums_add_own_misuse(void *ctx, uint32_t target_id, enum misuse_kind kind,
				uint64_t count)
{
	struct target *target = ctx;

	(void)target_id;
	target->sums.bad_accesses[kind] += count;
}

static void sums_clear(struct target *target)
{
	target->sums.live_bytes = 0;
	target->sums.live_variance = 0;
	memset(target->sums.bad_accesses, 0, sizeof(target->sums.bad_accesses));
}

void trace_sum_live(struct trace *trace)
{
	struct target *target, *next;
	uint32_t slots = slots_used(trace->slots);

	HASH_ITER (hh, trace->targets, target, next)
		sums_clear(target);
	target = NULL;
	for (uint32_t i = 0; i < slots; i++)
		sums_add_slot(trace, &target, i);
	HASH_ITER (hh, trace->targets, target, next) {
		struct target *same = target;

		if (slots_have_bare(trace->slots))
			sums_add_slot(trace, &same, slots_bare(trace->slots, target->id));
	}
	misuses_count_guarded(trace->misuses, 0, sums_add_misuse, trace);
}

void trace_sum_live_of(struct trace *trace, struct target *target)
{
	uint32_t slots = slots_used(trace->slots);

	sums_clear(target);
	for (uint32_t i = 0; i < slots; i++) {
		if (trace->slots->infos[i].target_id == target->id)
			sums_add_own_slot(trace, target, i);
	}
	if (slots_have_bare(trace->slots) &&
	    trace->slots->infos[slots_bare(trace->slots, target->id)].target_id == target->id)
		sums_add_own_slot(trace, target, slots_bare(trace->slots, target->id));
	misuses_count_guarded(trace->misuses, target->id, sums_add_own_misuse, target);
}

void trace_read_guards(struct trace *trace, struct target *target, struct guard_figures *out)
{
	*out = (struct guard_figures){0};
	guarded_read(trace->patches, target_patched(target), &out->state);
	memcpy(out->bad_accesses, target->sums.bad_accesses, sizeof(out->bad_accesses));
}

int trace_read_bad_accesses(struct trace *trace, struct target *target, size_t named,
			    struct misuse **list, size_t *count)
{
	struct misuse_list found = {0};
	int err = misuses_read(trace->misuses, MISUSE_BY_GUARD, target->id, &found);

	for (size_t i = 0; i < found.count && i < named; i++) {
		for (int call = 0; !err && call < MISUSE_CALLS; call++) {
			struct reported_call *c = &found.items[i].calls[call];

			if (c->known)
				err = trace_name_stack(trace, target->id, c->stack_id, &c->frames,
						       &c->frame_count);
		}
	}
	if (err) {
		free(found.items);
		found = (struct misuse_list){0};
	}
	*list = found.items;
	*count = found.count;
	return err;
}

struct target_samples trace_target_samples(const struct trace *trace, const struct target *target)
{
	const struct target_stats *stats = slots_stats(trace->slots, target->id);

	return (struct target_samples){
		.all = __atomic_load_n(&stats->samples, __ATOMIC_RELAXED),
		.live = __atomic_load_n(&stats->live_samples, __ATOMIC_RELAXED),
		.live_bytes = target->sums.live_bytes,
		.error_bytes = sqrt(target->sums.live_variance),
	};
}

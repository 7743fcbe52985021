// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How much memory a target has, and whether that is more than what it was seen to allocate. */
#include <stdlib.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/model/snapshot.h"
#include "user/process/memory.h"
#include "user/trace/growth.h"
#include "user/trace/growth_maps.h"
#include "user/trace/known_objects.h"
#include "user/trace/target_runtimes.h"

/* Between two looks at the mappings, in durations of a look. */
#define LOOK_REST 20

/*
 * glibc keeps what was freed in [heap] and in its arenas' heaps, and nothing elsewhere: a block that is
 * a mapping of its own goes when it is freed. Others keep mappings.
 */
static bool growth_allocator_is_glibc(const struct trace *trace, const struct target *target)
{
	size_t count = target->image ? image_range_count(target->image) : 0;
	bool found = false;

	if (target->tells)
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct object *object = image_range_at(target->image, i)->object;

		if (!object || !known_probes_of(trace, object, KNOWN_ALLOCATOR))
			continue;
		if (strcmp(object_name(object), "libc.so.6") != 0)
			return false;
		found = true;
	}
	return found;
}

/* A part of the allocations is left out because that was asked for, or was lost. */
static bool growth_is_blind(const struct trace *trace, const struct snapshot *s)
{
	static const enum lost_cause not_recorded[] = {LOST_LIVE_FULL, LOST_THREADS_FULL,
						       LOST_OUT_POINTER, LOST_LATE_PROBES};
	const struct trace_options *o = &trace->options;

	for (size_t i = 0; i < ARRAY_SIZE(not_recorded); i++) {
		if (s->lost[not_recorded[i]])
			return true;
	}
	return o->min_size || o->max_size != UINT64_MAX || o->providers.object;
}

static void growth_look(const struct trace *trace, const struct target *target,
			struct growth_watch *w, struct snapshot *s)
{
	struct growth_seen seen = {.anon = s->growth.anon};
	uint64_t start = monotonic_ns();
	char *where = NULL;

	if (start - w->looked_ns < LOOK_REST * w->look_ns)
		return;
	if (w->maps &&
	    !growth_maps_look(w->maps, target->pid, seen.anon, &seen.files, &seen.elsewhere,
			      &where) &&
	    !growth_allocator_is_glibc(trace, target))
		seen.elsewhere = 0;
	free(w->where);
	w->where = where;
	w->matters = growth_beyond_live(s, &seen) != 0;
	w->looked_ns = monotonic_ns();
	w->look_ns = w->looked_ns - start;
	log_debug("growth of %d: looked at its mappings in %.1f ms", (int)target->pid,
		  (double)w->look_ns / NS_PER_MS);
}

static void growth_judge(const struct trace *trace, struct target *target, struct snapshot *s,
			 bool there)
{
	struct growth_watch *w = target->growth;

	s->growth.mmap_traced = trace->options.providers.mmap;
	if (growth_is_blind(trace, s) || !growth_is_suspect(s, s->growth.anon))
		return;
	/* Of one that has ended there are no mappings any more: what was found last still holds. */
	if (there)
		growth_look(trace, target, w, s);
	else if (!w->looked_ns)
		w->matters = growth_beyond_live(s, &(struct growth_seen){.anon = s->growth.anon});
	if (!w->matters)
		return;
	s->growth.untraced = s->growth.anon > s->live.bytes ? s->growth.anon - s->live.bytes : 0;
	s->growth.where = w->where ? strdup(w->where) : NULL;
}

/* A program that has just begun maps its libraries first: it is looked at from its first snapshot on. */
static void growth_look_at_space(struct growth_watch *w, const struct proc_usage *usage,
				 struct growth *growth)
{
	const struct space_seen now = {usage->size, usage->rss + usage->swap, usage->threads};

	if (!w->space.size)
		w->space = now;
	growth_of_space(growth, &w->space, &now);
}

void growth_hand_on(struct snapshot *from, struct snapshot *to)
{
	to->memory = from->memory;
	to->heaps = from->heaps;
	to->growth = from->growth;
	from->growth.where = NULL;
}

/* What it fills in growth_hand_on() hands on. */
void trace_read_memory(struct trace *trace, struct target *target, struct snapshot *s)
{
	bool there = !target_has_ended(target);
	uint64_t anon = target->end_anon;
	struct proc_usage usage;

	if (target->image) {
		runtime_heaps_read(trace->runtimes, target_runtimes(target));
		s->heaps = target->runtimes.heaps.found;
	}
	if (there) {
		if (proc_usage(target->pid, &usage))
			return;
		s->memory.rss = usage.rss;
		s->memory.anon = usage.anon;
		anon = usage.anon + usage.swap;
		if (target->growth)
			growth_look_at_space(target->growth, &usage, &s->growth);
	}
	if (!target->growth || anon <= target->growth->anon)
		return;
	s->growth.anon = anon - target->growth->anon;
	growth_judge(trace, target, s, there);
}

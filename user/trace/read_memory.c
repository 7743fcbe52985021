// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What user/growth is told of a target and its snapshot. */
#include <string.h>

#include "user/base/util.h"
#include "user/growth/growth.h"
#include "user/model/snapshot.h"
#include "user/trace/known_objects.h"
#include "user/trace/target.h"
#include "user/trace/target_runtimes.h"

struct read_memory {
	const struct trace *trace;
	const struct target *target;
};

/*
 * glibc keeps freed blocks in [heap] and in the heaps of its arenas, and nowhere else. It unmaps a
 * freed block that had a mapping of its own. Other allocators keep such mappings.
 */
static bool read_memory_is_glibc(void *ctx)
{
	const struct read_memory *of = ctx;
	const struct image *image = of->target->image;
	size_t count = image ? image_range_count(image) : 0;
	bool found = false;

	if (of->target->tells)
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct object *object = image_range_at(image, i)->object;

		if (!object || !known_probes_of(of->trace, object, KNOWN_ALLOCATOR))
			continue;
		if (strcmp(object_name(object), "libc.so.6") != 0)
			return false;
		found = true;
	}
	return found;
}

/* An option leaves out a part of the allocations, or a part was lost. */
static bool read_memory_is_blind(const struct trace *trace, const struct snapshot *s)
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

void trace_read_memory(struct trace *trace, struct target *target, struct snapshot *s)
{
	struct read_memory of = {.trace = trace, .target = target};
	const struct growth_process process = {
		.pid = target->pid,
		.ended = target_has_ended(target),
		.end_anon = target->end_anon,
		.blind = read_memory_is_blind(trace, s),
		.mmap_traced = trace->options.providers.mmap,
		.is_glibc = read_memory_is_glibc,
		.ctx = &of,
	};

	if (target->image) {
		runtime_heaps_read(trace->runtimes, target_runtimes(target));
		s->heaps = target->runtimes.heaps.found;
	}
	growth_read(target->growth, &process, s);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/pool_rows.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "user/base/log.h"
#include "user/trace/known_objects.h"

static const struct runtime_pool *pool_rows_of(const struct known_object *known)
{
	uint32_t version = known->python ? known->python->runtime.version : 0;

	return runtime_pool(known->runtime, version);
}

static void pool_rows_begin(struct trace *trace, struct target *target,
			    const struct image_range *range, const struct runtime_pool *pool)
{
	struct pool_row row = {.start = range->start, .end = range->end};

	memcpy(row.sizes, pool->sizes, sizeof(row.sizes));
	if (bpf_map_update_elem(bpf_map__fd(trace->skel->maps.pool_rows), &target->id, &row,
				BPF_ANY)) {
		log_errno(errno, "cannot enter the pool of process %d in a BPF map", target->pid);
		return;
	}
	target->pool = pool;
	log_debug("process %d (%s): arenas of %s", target->pid, target->comm,
		  object_name(range->object));
}

void pool_rows_look(struct trace *trace, struct target *target)
{
	for (size_t i = 0; !target->pool && i < image_range_count(target->image); i++) {
		const struct image_range *range = image_range_at(target->image, i);
		const struct known_object *known =
			range->object ? known_object_get(trace, range->object) : NULL;
		const struct runtime_pool *pool = known ? pool_rows_of(known) : NULL;

		if (pool)
			pool_rows_begin(trace, target, range, pool);
	}
}

void pool_rows_drop(struct trace *trace, uint32_t target_id)
{
	bpf_map_delete_elem(bpf_map__fd(trace->skel->maps.pool_rows), &target_id);
}

bool pool_rows_name(const struct trace *trace, const struct target *target,
		    struct stack_entry *entry)
{
	struct frame frame;

	if (!target->pool || !entry->count)
		return false;
	frame = frame_managed(FRAME_KIND_ARENA, target->pool->shown, NULL, 0);
	entry->places[0].frame = stack_table_keep_frame(trace->stacks, target->id, &frame);
	return entry->places[0].frame;
}

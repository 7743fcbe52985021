// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/pool_rows.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "user/base/log.h"
#include "user/trace/known_objects.h"
#include "user/trace/skeleton.h"

static const struct runtime_pool *pool_rows_of(const struct known_object *known)
{
	uint32_t version = known->python ? known->python->runtime.version : 0;

	return runtime_pool(known->runtime, version);
}

/* Where a runtime is mapped. */
struct pool_place {
	const struct runtime_pool *pool;
	struct object *object;
	uint64_t start, end;
};

static bool pool_place_is_known(const struct target *target, const struct pool_place *place)
{
	return target->pool == place->pool && target->pool_start == place->start &&
	       target->pool_end == place->end;
}

/* The one that is known of the target, or else the first in the image. How many there are. */
static size_t pool_places(struct trace *trace, const struct target *target,
			  const struct image *image, struct pool_place *best)
{
	size_t count = 0;

	*best = (struct pool_place){0};
	for (size_t i = 0; i < image_range_count(image); i++) {
		const struct image_range *range = image_range_at(image, i);
		const struct known_object *known =
			range->object ? known_object_get(trace, range->object) : NULL;
		const struct pool_place place = {
			.pool = known ? pool_rows_of(known) : NULL,
			.object = range->object,
			.start = range->start,
			.end = range->end,
		};

		if (!place.pool)
			continue;
		if (!count || pool_place_is_known(target, &place))
			*best = place;
		count++;
	}
	return count;
}

static void pool_rows_end(struct trace *trace, struct target *target)
{
	target->pool = NULL;
	pool_rows_drop(trace, target->id);
}

static void pool_rows_begin(struct trace *trace, struct target *target,
			    const struct pool_place *place)
{
	struct pool_row row = {.start = place->start, .end = place->end};

	memcpy(row.sizes, place->pool->sizes, sizeof(row.sizes));
	if (bpf_map_update_elem(bpf_map__fd(trace->skel->maps.pool_rows), &target->id, &row,
				BPF_ANY)) {
		log_errno(errno, "cannot enter the pool of process %d in a BPF map", target->pid);
		pool_rows_end(trace, target);
		return;
	}
	target->pool = place->pool;
	target->pool_start = place->start;
	target->pool_end = place->end;
	log_debug("process %d (%s): arenas of %s", target->pid, target->comm,
		  object_name(place->object));
}

void pool_rows_look(struct trace *trace, struct target *target)
{
	struct image *now = NULL;
	struct pool_place place;

	/* What it has closed stays in the image: of several the maps tell which are there. */
	if (pool_places(trace, target, target->image, &place) > 1) {
		now = image_clone(target->image, target->pid);
		if (now && !image_refresh(now))
			pool_places(trace, target, now, &place);
	}
	if (place.pool && !pool_place_is_known(target, &place))
		pool_rows_begin(trace, target, &place);
	else if (!place.pool && target->pool)
		pool_rows_end(trace, target);
	image_free(now);
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

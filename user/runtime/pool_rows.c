// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/pool_rows.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "user/base/log.h"
#include "user/runtime/python/target_python.h"
#include "user/runtime/runtime_ops.h"

static const struct runtime_pool *pool_rows_of(const struct runtime_object *known)
{
	const struct known_python *python = known->known[RUNTIME_PYTHON];

	return runtime_pool(known->runtime, python ? python->runtime.version : 0);
}

/* Where a runtime is mapped. */
struct pool_place {
	const struct runtime_pool *pool;
	struct object *object;
	uint64_t start, end;
};

static bool pool_place_is_known(const struct runtime_target *target, const struct pool_place *place)
{
	return target->pool.pool == place->pool && target->pool.start == place->start &&
	       target->pool.end == place->end;
}

/* The one that is known of the target, or else the first in the image. How many there are. */
static size_t pool_places(const struct runtimes *runtimes, const struct runtime_target *target,
			  const struct image *image, struct pool_place *best)
{
	const struct runtime_host *host = &runtimes->host;
	size_t count = 0;

	*best = (struct pool_place){0};
	for (size_t i = 0; i < image_range_count(image); i++) {
		const struct image_range *range = image_range_at(image, i);
		const struct runtime_object *known =
			range->object ? host->object(host->ctx, range->object, true) : NULL;
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

static void pool_rows_end(struct runtimes *runtimes, struct runtime_target *target)
{
	target->pool.pool = NULL;
	pool_rows_drop(runtimes, target->id);
}

static void pool_rows_begin(struct runtimes *runtimes, struct runtime_target *target,
			    const struct pool_place *place)
{
	struct pool_row row = {.start = place->start, .end = place->end};

	memcpy(row.sizes, place->pool->sizes, sizeof(row.sizes));
	if (bpf_map_update_elem(runtimes->host.pool_rows, &target->id, &row, BPF_ANY)) {
		log_errno(errno, "cannot enter the pool of process %d in a BPF map", target->pid);
		pool_rows_end(runtimes, target);
		return;
	}
	target->pool = (struct target_pool){place->pool, place->start, place->end};
	log_debug("process %d (%s): arenas of %s", target->pid, target->comm,
		  object_name(place->object));
}

void pool_rows_look(struct runtimes *runtimes, struct runtime_target *target)
{
	struct image *now = NULL;
	struct pool_place place;

	/* What it has closed stays in the image: of several the maps tell which are there. */
	if (pool_places(runtimes, target, target->image, &place) > 1) {
		now = image_clone(target->image, target->pid);
		if (now && !image_refresh(now))
			pool_places(runtimes, target, now, &place);
	}
	if (place.pool && !pool_place_is_known(target, &place))
		pool_rows_begin(runtimes, target, &place);
	else if (!place.pool && target->pool.pool)
		pool_rows_end(runtimes, target);
	image_free(now);
}

void pool_rows_drop(struct runtimes *runtimes, uint32_t target_id)
{
	bpf_map_delete_elem(runtimes->host.pool_rows, &target_id);
}

const struct frame *pool_rows_frame(struct runtimes *runtimes, const struct runtime_target *target)
{
	struct frame frame;

	if (!target->pool.pool)
		return NULL;
	frame = frame_managed(FRAME_KIND_ARENA, target->pool.pool->shown, NULL, 0);
	return runtimes_keep(runtimes, target, &frame);
}

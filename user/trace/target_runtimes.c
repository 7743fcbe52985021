// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/target_runtimes.h"

#include "user/trace/trace.h"

struct runtime_target *target_runtimes(struct target *target)
{
	target->runtimes.id = target->id;
	target->runtimes.pid = target->pid;
	target->runtimes.comm = target->comm;
	target->runtimes.image = target->image;
	target->runtimes.ended = target_has_ended(target);
	return &target->runtimes;
}

/* 1 << enum runtime of each that it maps. Opens the files: for what is seldom said. */
static uint64_t target_maps_runtimes(const struct target *target)
{
	size_t count = target->image ? image_range_count(target->image) : 0;
	const struct object *before = NULL;
	uint64_t found = 0;

	for (size_t i = 0; i < count; i++) {
		struct object *object = image_range_at(target->image, i)->object;

		if (object && object != before)
			found |= 1ull << runtime_of(object);
		before = object;
	}
	return found;
}

bool target_is_go(const struct target *target)
{
	return target_maps_runtimes(target) & 1ull << RUNTIME_GO;
}

const char *target_managed_language(const struct target *target)
{
	uint64_t found = target_maps_runtimes(target);

	for (enum runtime r = RUNTIME_NONE + 1; r < RUNTIMES; r++) {
		if (found & 1ull << r && runtime_managed_language(r))
			return runtime_managed_language(r);
	}
	return NULL;
}

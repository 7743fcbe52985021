// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/late_probes.h"

#include "user/base/log.h"
#include "user/patch/gated.h"
#include "user/stacks/slots.h"
#include "user/trace/target_probes.h"
#include "user/trace/teller.h"

/*
 * It has left off waiting for us when we stopped it, and stood still until it had a gate, which came
 * last.
 */
static bool late_was_stopped(const struct target *target, uint64_t mapped_ns, uint64_t ready_ns,
			     uint64_t left_ns)
{
	const struct target_attachment *a;

	for (a = target->attachments; a; a = a->next) {
		uint64_t held = a->gated ? gated_held_ns(a->gated) : 0;

		if (held && held >= mapped_ns && left_ns >= held && a->ready_ns >= ready_ns)
			return true;
	}
	return false;
}

/*
 * Has the target not run any of the object's code yet? Its loader, which would wait for us, has
 * not gone on since it mapped the object.
 */
static bool late_still_loading(const struct trace *trace, const struct target *target,
			       uint64_t mapped_ns, uint64_t ready_ns)
{
	const struct target_stats *stats = slots_stats(trace->slots, target->id);

	uint64_t left = __atomic_load_n(&stats->loaded_ns, __ATOMIC_ACQUIRE);

	if (target_is_held(trace, target) || late_was_stopped(target, mapped_ns, ready_ns, left))
		return true;
	if (left >= mapped_ns)
		return false;
	for (size_t i = 0; i < image_range_count(target->image); i++) {
		const struct object *object = image_range_at(target->image, i)->object;
		uint64_t ready = target_probes_ready_ns(trace, target, object, KNOWN_LOADER);

		if (ready && ready <= mapped_ns)
			return true;
	}
	return false;
}

static void late_count(struct trace *trace, const struct target *target,
		       const struct object *object)
{
	struct target_stats *stats = slots_stats(trace->slots, target->id);

	__atomic_add_fetch(&stats->lost[LOST_LATE_PROBES], 1, __ATOMIC_RELAXED);
	log_debug("process %d (%s): the probes in %s came late", target->pid, target->comm,
		  object_path(object));
}

static void late_check_object(struct trace *trace, const struct target *target,
			      struct object *object, uint64_t mapped_ns, bool recorded)
{
	uint64_t ready = target_probes_ready_ns(trace, target, object, teller_role(target));

	/* Of a child that is attached to while it runs the snapshots say that anyway. */
	if (ready <= mapped_ns || target->late || target->stage == TARGET_LAUNCHING)
		return;
	if (!recorded || !late_still_loading(trace, target, mapped_ns, ready))
		late_count(trace, target, object);
}

void late_probes_check(struct trace *trace, const struct target *target, uint64_t address,
		       uint64_t mapped_ns)
{
	struct location location;

	if (image_locate(target->image, address, &location))
		late_check_object(trace, target, location.object, mapped_ns, true);
}

static void late_check_objects(struct trace *trace, const struct target *target, uint64_t mapped_ns,
			       bool recorded)
{
	for (size_t i = 0; i < image_range_count(target->image); i++)
		late_check_object(trace, target, image_range_at(target->image, i)->object,
				  mapped_ns, recorded);
}

void late_probes_check_all(struct trace *trace, const struct target *target, uint64_t mapped_ns)
{
	late_check_objects(trace, target, mapped_ns, true);
}

void late_probes_check_unrecorded(struct trace *trace, const struct target *target,
				  uint64_t since_ns)
{
	late_check_objects(trace, target, since_ns, false);
}

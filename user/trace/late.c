// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/late.h"

#include "user/base/log.h"
#include "user/trace/internal.h"

/* When the probes of a known object's set were in place; 0: they are not. */
static uint64_t ready_ns(const struct trace *trace, const struct target *target,
			 const struct probe_set *set, uint64_t in_all_ns)
{
	const struct target_attachment *a;

	if (!set || trace->options.children == CHILDREN_EXACT)
		return set ? in_all_ns : 0;
	for (a = target->attachments; a; a = a->next) {
		if (a->set == set)
			return a->ready_ns;
	}
	return 0;
}

/*
 * Has the target not run any of the object's code yet? Its loader, which would wait for us, has
 * not gone on since it mapped the object.
 */
static bool still_loading(const struct trace *trace, const struct target *target,
			  uint64_t mapped_ns)
{
	const struct target_stats *stats = &trace->stats[target->id % ABI_TARGET_SLOTS];

	if (__atomic_load_n(&stats->loaded_ns, __ATOMIC_ACQUIRE) >= mapped_ns)
		return false;
	for (size_t i = 0; i < image_range_count(target->image); i++) {
		const struct object *object = image_range_at(target->image, i)->object;
		const struct known_object *known = known_object_find(trace, object);
		uint64_t ready =
			known ? ready_ns(trace, target, known->loader, known->loader_ns) : 0;

		if (ready && ready <= mapped_ns)
			return true;
	}
	return false;
}

static void count(struct trace *trace, const struct target *target, const struct object *object)
{
	struct target_stats *stats = &trace->stats[target->id % ABI_TARGET_SLOTS];

	__atomic_add_fetch(&stats->lost[LOST_LATE_PROBES], 1, __ATOMIC_RELAXED);
	log_debug("process %d (%s): the probes in %s came late", target->pid, target->comm,
		  object_path(object));
}

static void check(struct trace *trace, const struct target *target, struct object *object,
		  uint64_t mapped_ns, bool recorded)
{
	const struct known_object *known = known_object_find(trace, object);
	uint64_t ready = known ? ready_ns(trace, target, known->probes, known->probes_ns) : 0;

	/* Of a child that is attached to while it runs the snapshots say that anyway. */
	if (ready <= mapped_ns || target->late || target->launching)
		return;
	if (!recorded || !still_loading(trace, target, mapped_ns))
		count(trace, target, object);
}

void late_check(struct trace *trace, const struct target *target, uint64_t address,
		uint64_t mapped_ns)
{
	struct location location;

	if (image_locate(target->image, address, &location))
		check(trace, target, location.object, mapped_ns, true);
}

static void check_all(struct trace *trace, const struct target *target, uint64_t mapped_ns,
		      bool recorded)
{
	for (size_t i = 0; i < image_range_count(target->image); i++)
		check(trace, target, image_range_at(target->image, i)->object, mapped_ns, recorded);
}

void late_check_all(struct trace *trace, const struct target *target, uint64_t mapped_ns)
{
	check_all(trace, target, mapped_ns, true);
}

void late_check_unrecorded(struct trace *trace, const struct target *target, uint64_t since_ns)
{
	check_all(trace, target, since_ns, false);
}

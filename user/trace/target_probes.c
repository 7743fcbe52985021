// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/target_probes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/starting.h"
#include "user/base/util.h"
#include "user/patch/patches.h"
#include "user/process/proc.h"
#include "user/trace/anchor.h"
#include "user/patch/gated.h"
#include "user/patch/guarded.h"
#include "user/patch/make_way.h"
#include "user/runtime/python/python_rows.h"
#include "user/trace/sharers.h"
#include "user/trace/teller.h"
#include "user/patch/turn.h"
#include "user/trace/target_runtimes.h"

static const struct target_attachment *target_attachment_of(const struct target *target,
							    const struct probe_set *set)
{
	const struct target_attachment *a = target->attachments;

	while (a && a->set != set)
		a = a->next;
	return a;
}

/* Attaches in the target alone, once. */
static int target_attach_set(struct trace *trace, struct target *target,
			     const struct probe_set *set)
{
	struct target_attachment *a;
	int err;

	if (target_attachment_of(target, set))
		return 0;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->set = set;
	err = anchor_attach(trace, target, a);
	if (err) {
		free(a);
		return err;
	}
	a->ready_ns = monotonic_ns();
	a->next = target->attachments;
	target->attachments = a;
	sharers_attach_set(trace, target, set);
	return 0;
}

static bool target_maps(const struct target *target, const struct object *object)
{
	for (size_t i = 0; i < image_range_count(target->image); i++) {
		if (image_range_at(target->image, i)->object == object)
			return true;
	}
	return false;
}

static bool targets_use(const struct trace *trace, const struct probe_set *set)
{
	for (const struct target *target = trace->targets; target; target = target->hh.next) {
		if (target_attachment_of(target, set))
			return true;
	}
	return false;
}

/*
 * No probe comes to where a gate's jump stands. Where there are guards, of whomever, all probes of the set move to the
 * functions' first bytes, if nobody has them yet. 0 or -errno, logged.
 */
static int target_make_way(const struct trace *trace, const struct target *target,
			   struct probe_set *set)
{
	char reason[REASON_MAX] = "";
	int err = make_way_in(target->image, set, reason);

	if (err == -EEXIST && !targets_use(trace, set)) {
		probe_set_use_entries(set);
		err = make_way_in(target->image, set, reason);
	}
	/* One that has ended meanwhile is a target all the same, which says what it has missed. */
	if (err == -ESRCH)
		return 0;
	if (err)
		log_error("process %d (%s) is not traced: %s", target->pid, target->comm, reason);
	return err;
}

/* Between the look and the probes nobody puts a jump there. 0 or -errno. */
static int target_attach_on_way(struct trace *trace, struct target *target, struct probe_set *set)
{
	bool has = target_attachment_of(target, set) != NULL;
	TURN turn = has ? -1 : turn_begin(trace->patches, target_patched(target));

	if (has)
		return 0;
	return target_make_way(trace, target, set) ?: target_attach_set(trace, target, set);
}

/* A child that has ended by the time that we come to it, for one. */
static bool target_has_no_memory(const struct target *target)
{
	struct proc_stat stat;

	return proc_stat(proc_memory_id(target->pid), &stat) || stat.state == 'Z';
}

/*
 * A gate in place of the allocator's probes, where there is to be one. 1: it has one; 0: it is to
 * have probes; -ENXIO: it does not map the allocator; or another -errno.
 */
static int target_attach_gate(struct trace *trace, struct target *target, struct probe_set *set)
{
	const struct target_attachment *there = target_attachment_of(target, set);
	char reason[REASON_MAX] = "";
	struct target_attachment *a;
	int err;

	if (there)
		return there->gated ? 1 : 0;
	if (!trace->options.gate || target->tells)
		return 0;
	/* There is nothing to put a gate before yet: it comes when the object does. */
	if (!target_maps(target, set->provider->object))
		return -ENXIO;
	/* To decide where its jumps are to stand takes milliseconds. */
	if (target_has_no_memory(target))
		return -ESRCH;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->set = set;
	guarded_before_gate(trace->patches, target_patched(target));
	err = gated_new(trace->patches, target_patched(target), set, &a->gated, reason);
	if (!err) {
		a->ready_ns = monotonic_ns();
		a->next = target->attachments;
		target->attachments = a;
		target->has_gate = true;
		return 1;
	}
	free(a);
	/* It does not wait for probes. */
	patched_go_on(target->patched);
	if (err == -ESRCH || err == -ENOMEM)
		return err;
	if (trace->options.gate_or_none) {
		snprintf(target->refusal, sizeof(target->refusal), "%s", reason);
		log_debug("process %d (%s): %s has no gate: %s", target->pid, target->comm,
			  object_name(set->provider->object), reason);
		return -EOPNOTSUPP;
	}
	if (trace->options.gate_only) {
		log_error("process %d (%s): it cannot have a gate: %s; use --gate to trace such a "
			  "process by probes",
			  target->pid, target->comm, reason);
		return -EOPNOTSUPP;
	}
	err = target_attach_on_way(trace, target, set);
	if (err)
		return err;
	log_info("process %d (%s): %s has probes, not a gate: %s", target->pid, target->comm,
		 object_name(set->provider->object), reason);
	return 0;
}

/* In this target, or in all processes at once. 0 or -errno. */
static int target_attach_probes(struct trace *trace, struct target *target,
				struct known_probes *probes)
{
	if (!probes->set)
		return 0;
	if (trace->options.children != CHILDREN_SYSTEMWIDE)
		return target_attach_set(trace, target, probes->set);
	return known_probes_attach_all(trace, probes);
}

/* What the target's allocations are known by. 1, 0: the object has no such probes; or -errno. */
static int target_attach_allocator(struct trace *trace, struct target *target,
				   struct known_object *known)
{
	struct known_probes *probes = &known->probes[teller_role(target)];
	int err = 0;

	if (!probes->set)
		return 0;
	err = target_attach_gate(trace, target, probes->set);
	if (err)
		return err == -ENXIO ? 0 : err;
	/* In all processes it is tried when the object gets known, and never again. */
	if (trace->options.children != CHILDREN_SYSTEMWIDE)
		err = target_attach_on_way(trace, target, probes->set);
	else if (!probes->in_all)
		err = -EIO;
	if (err)
		return err;
	if (probes->set->site_count)
		target->bare = true;
	target->has_probes = true;
	return 1;
}

/* Beside the allocators'. */
static bool target_wants(const struct target *target, enum known_role role)
{
	switch (role) {
	case KNOWN_UNWINDER:
		return target->bare;
	case KNOWN_LOADER:
		/*
		 * Not in children that are attached to as they run: others of theirs were missed
		 * anyway.
		 */
		return !target->late;
	case KNOWN_MAPPER:
		return target->runtimes.pool.pool;
	case KNOWN_LEAVER:
	case KNOWN_OPERATORS:
	case KNOWN_SCOPES:
		return true;
	default:
		return false;
	}
}

/*
 * Does the target have probes on the ends of code objects that may miss one? Probes that hang on
 * another thread than the main one may go without our knowing. Single probes may be without effect
 * before the programs know that the main thread has ended. The gate's probes go on meanwhile, since
 * they ask for no process.
 */
static bool target_misses_code_ends(const struct trace *trace, const struct target *target)
{
	return target->anchor != target->pid ||
	       (trace->options.attach == ATTACH_SINGLE && trace->options.gate);
}

/* Of its own interpreter, if it is followed: whether that succeeds or not, all else is the same. */
static void target_attach_code_end(struct trace *trace, struct target *target)
{
	struct known_object *known = trace->known;

	while (known && !python_wants_code_ends(&target->runtimes, known->runtime))
		known = known->hh.next;
	if (!known || !known->probes[KNOWN_CODE_END].set || target_misses_code_ends(trace, target))
		return;
	if (!target_attach_probes(trace, target, &known->probes[KNOWN_CODE_END]))
		python_tell_code_ends(trace->runtimes, target_runtimes(target), true);
}

int target_attach_beside(struct trace *trace, struct target *target)
{
	struct known_object *known;
	int err = 0;

	target_attach_code_end(trace, target);

	/*
	 * Those too that only other targets map: a probe in a file that a process does not map
	 * costs it nothing.
	 */
	for (enum known_role role = 0; role < KNOWN_ROLES; role++) {
		if (!target_wants(target, role))
			continue;
		for (known = trace->known; known && !err; known = known->hh.next)
			err = target_attach_probes(trace, target, &known->probes[role]);
	}
	return err;
}

/*
 * With CHILDREN_EXACT a target has the probes of all known files before it maps them. So its
 * children have them when they are held, and nobody waits at a loader's stop for a known file.
 */
static int target_attach_known(struct trace *trace, struct target *target)
{
	struct known_object *known;
	int err = 0;

	if (trace->options.children != CHILDREN_EXACT)
		return 0;
	for (known = trace->known; known && err >= 0; known = known->hh.next)
		err = target_attach_allocator(trace, target, known);
	return err < 0 ? err : 0;
}

/* A file that has just become known: the other targets get its probes. */
static void target_spread_known(struct trace *trace, const struct target *first,
				struct known_object *known)
{
	struct target *target, *next;
	int err;

	if (known->told)
		return;
	if (trace->options.children == CHILDREN_EXACT) {
		HASH_ITER (hh, trace->targets, target, next) {
			if (target == first)
				continue;
			err = target_attach_allocator(trace, target, known);
			patched_go_on(target->patched);
			if (err >= 0)
				target_attach_beside(trace, target);
		}
	}
	known_object_tell_kernel(trace, known);
}

int target_attach_object(struct trace *trace, struct target *target, struct object *object)
{
	struct known_object *known;
	int err;

	if (trace->options.starting && starting_is_cancelled())
		return -ECANCELED;
	known = known_object_get(trace, object);
	if (!known)
		return -ENOMEM;
	err = target_attach_allocator(trace, target, known);
	if (err >= 0)
		target_spread_known(trace, target, known);
	return err;
}

/* What is mapped now. How many have probes or a gate, or -errno. */
static int target_attach_mapped(struct trace *trace, struct target *target)
{
	const struct object *first = NULL;
	int attached = 0, err;

	for (size_t i = 0; i < image_range_count(target->image); i++) {
		if (image_range_at(target->image, i)->object)
			teller_look_at(trace, target, image_range_at(target->image, i)->object);
	}
	runtimes_look(trace->runtimes, target_runtimes(target));
	for (size_t i = 0; i < image_range_count(target->image); i++) {
		struct object *object = image_range_at(target->image, i)->object;

		if (!object)
			continue;
		/* May add ranges, before this one too. */
		err = target_attach_object(trace, target, object);
		if (err < 0)
			return err;
		attached += err;
		if (err && first && first != object)
			target->layered = true;
		first = err ? object : first;
	}
	return attached;
}

int target_attach_image(struct trace *trace, struct target *target)
{
	uint64_t generation;
	int attached, err;

	/* A first gate stops it, further on than the records are that we know of. */
	do {
		generation = image_generation(target->image);
		attached = target_attach_mapped(trace, target);
	} while (attached >= 0 && image_generation(target->image) != generation);
	err = attached < 0 ? attached : target_attach_known(trace, target);
	patched_go_on(target->patched);
	err = err ?: target_attach_beside(trace, target);
	return err ? err : attached;
}

bool target_has_probes(const struct trace *trace, const struct target *target)
{
	for (size_t i = 0; i < image_range_count(target->image); i++) {
		const struct probe_set *set = known_probes_of(
			trace, image_range_at(target->image, i)->object, teller_role(target));

		if (set && target_attachment_of(target, set))
			return true;
	}
	return false;
}

uint64_t target_probes_ready_ns(const struct trace *trace, const struct target *target,
				const struct object *object, enum known_role role)
{
	const struct known_object *known = known_object_find(trace, object);
	const struct known_probes *probes = known ? &known->probes[role] : NULL;
	const struct target_attachment *a;

	if (!probes || !probes->set)
		return 0;
	if (trace->options.children == CHILDREN_SYSTEMWIDE)
		return probes->ready_ns;
	a = target_attachment_of(target, probes->set);
	return a ? a->ready_ns : 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is known of objects: which have probes, and which. */
#include <bpf/bpf.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/target/unwinder.h"
#include "user/trace/internal.h"

/*
 * Objects with probes that no target maps any more, such as a static program between two runs. The
 * probes of one that is kept are there from the first instruction of its next run; each costs a few
 * descriptors.
 */
#define KNOWN_UNMAPPED_MAX 32

void trace_detach(struct trace *trace, struct attachment *attachment)
{
	uint32_t *hands_full = &trace->skel->bss->shared.hands_full;

	__atomic_store_n(hands_full, 1, __ATOMIC_RELEASE);
	attachment_free(attachment);
	__atomic_store_n(hands_full, 0, __ATOMIC_RELEASE);
}

void target_detach(struct trace *trace, struct target *target, const struct probe_set *set)
{
	struct target_attachment **at = &target->attachments;

	while (*at) {
		struct target_attachment *a = *at;

		if (set && a->set != set) {
			at = &a->next;
			continue;
		}
		*at = a->next;
		trace_detach(trace, a->attachment);
		free(a);
	}
}

static void known_free(struct trace *trace, struct known_object *known)
{
	trace_detach(trace, known->in_all);
	trace_detach(trace, known->unwinder_in_all);
	trace_detach(trace, known->operators_in_all);
	trace_detach(trace, known->leaver_in_all);
	trace_detach(trace, known->loader_in_all);
	probe_set_free(known->probes);
	probe_set_free(known->unwinder);
	probe_set_free(known->operators);
	probe_set_free(known->leaver);
	probe_set_free(known->loader);
	free(known);
}

void known_objects_free(struct trace *trace)
{
	struct known_object *known, *next;

	HASH_ITER (hh, trace->known, known, next) {
		HASH_DEL(trace->known, known);
		known_free(trace, known);
	}
}

/* With probes, and nobody maps it. What has no probes holds no object. */
static bool is_left_over(const struct known_object *known)
{
	const struct probe_set *set = known->probes	 ? known->probes
				      : known->unwinder	 ? known->unwinder
				      : known->operators ? known->operators
				      : known->leaver	 ? known->leaver
							 : known->loader;

	return set && !object_is_mapped(set->provider->object);
}

/* What unwinds and the like is attached in targets, too, that do not map the object. */
static void detach_everywhere(struct trace *trace, const struct known_object *known)
{
	const struct probe_set *const sets[] = {known->probes, known->unwinder, known->operators,
						known->leaver, known->loader};
	struct target *target, *next;

	HASH_ITER (hh, trace->targets, target, next) {
		for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
			if (sets[i])
				target_detach(trace, target, sets[i]);
		}
	}
}

/* For bpf/loaded.bpf.c. A file that is not in the table is waited for, which is no harm. */
static void tell_known(const struct trace *trace, const struct known_object *known, bool there)
{
	int fd = bpf_map__fd(trace->skel->maps.known_files);
	uint8_t value = 1;

	if (trace->options.children != CHILDREN_EXACT || !trace->options.wait_loaded ||
	    !known->file.ino)
		return;
	if (there)
		bpf_map_update_elem(fd, &known->file, &value, BPF_ANY);
	else
		bpf_map_delete_elem(fd, &known->file);
}

/* The oldest go first. Never `fresh`, whose first target is only about to map it. */
static void limit_left_over(struct trace *trace, const struct known_object *fresh)
{
	struct known_object *known, *next;
	size_t count = 0;

	HASH_ITER (hh, trace->known, known, next)
		count += known != fresh && is_left_over(known);
	HASH_ITER (hh, trace->known, known, next) {
		if (count <= KNOWN_UNMAPPED_MAX)
			break;
		if (known == fresh || !is_left_over(known))
			continue;
		HASH_DEL(trace->known, known);
		tell_known(trace, known, false);
		detach_everywhere(trace, known);
		known_free(trace, known);
		count--;
	}
}

/*
 * An allocator that was not known when they began: programs that run already may have used it
 * before its probes come.
 */
static void forget_whole(struct trace *trace)
{
	int fd = bpf_map__fd(trace->skel->maps.targets);
	struct target *target, *next;

	HASH_ITER (hh, trace->targets, target, next) {
		uint32_t tgid = (uint32_t)target->pid;
		struct target_info info;

		if (target->launching || bpf_map_lookup_elem(fd, &tgid, &info) ||
		    info.id != target->id)
			continue;
		target->whole = false;
		info.flags &= ~TARGET_WHOLE;
		bpf_map_update_elem(fd, &tgid, &info, BPF_EXIST);
	}
	targets_changed(trace);
}

static bool has_operators(const struct probe_set *set)
{
	for (size_t i = 0; set && i < set->provider->count; i++) {
		if (set->provider->fns[i].fn->cxx)
			return true;
	}
	return false;
}

/* What is watched only where an option asks for it. 0 or -ENOMEM. */
static int find_watched(const struct trace *trace, struct object *object,
			struct known_object *known)
{
	struct provider *provider;
	int err = 0;

	if (trace->options.hold_at_end && !leaver_find(object, &provider))
		err = probe_set_new(provider, &known->leaver);
	if (!err && trace->options.wait_loaded && !loader_find(object, &provider))
		err = probe_set_new(provider, &known->loader);
	if (!err && trace->options.check_frees && !has_operators(known->probes) &&
	    !operators_find(object, &provider))
		err = probe_set_new(provider, &known->operators);
	return err;
}

static struct known_object *make_known(struct trace *trace, struct object *object, uint64_t id)
{
	struct known_object *known = calloc(1, sizeof(*known));
	struct provider *provider = NULL;
	int err;

	if (!known)
		return NULL;
	known->id = id;
	if (!object_is_vdso(object)) {
		known->file = unwind_object_key_of(object);
		provider_find(object, &trace->options.providers, &provider);
	}
	if (provider && probe_set_new(provider, &known->probes))
		goto fail;
	if (!unwinder_find(object, &provider) && probe_set_new(provider, &known->unwinder))
		goto fail;
	if (find_watched(trace, object, known))
		goto fail;
	HASH_ADD(hh, trace->known, id, sizeof(known->id), known);
	limit_left_over(trace, known);
	if (!known->probes)
		return known;
	log_debug("%s provides %zu allocator functions", object_path(object),
		  known->probes->provider->count);
	if (trace->options.children == CHILDREN_EXACT) {
		forget_whole(trace);
		err = attach_probes(trace->options.attach, &trace->programs, known->probes, 0,
				    &known->in_all);
		if (err) /* logged; the object then counts as one without probes */
			log_debug("no probes in %s", object_path(object));
		else
			known->probes_ns = monotonic_ns();
	}
	return known;

fail:
	known_free(trace, known);
	return NULL;
}

struct known_object *known_object_find(const struct trace *trace, const struct object *object)
{
	struct known_object *known = NULL;
	uint64_t id;

	if (!object)
		return NULL;
	id = object_id(object);
	HASH_FIND(hh, trace->known, &id, sizeof(id), known);
	return known;
}

struct known_object *known_object_get(struct trace *trace, struct object *object)
{
	struct known_object *known = known_object_find(trace, object);

	if (known)
		return known;
	known = make_known(trace, object, object_id(object));
	if (known)
		tell_known(trace, known, true);
	return known;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/known_objects.h"

#include <errno.h>

#include <bpf/bpf.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/runtime/python/python_rows.h"
#include "user/target/unwinder.h"
#include "user/target/usdt_notes.h"
#include "user/patch/make_way.h"
#include "user/scopes/scopes.h"
#include "user/trace/skeleton.h"
#include "user/stacks/slots.h"
#include "user/trace/target.h"
#include "user/trace/usdt_rows.h"
#include "user/unwind/publish.h"

/*
 * Objects with probes that no target maps any more, such as a static program between two runs. The
 * probes of one that is kept are there from the first instruction of its next run; each costs a few
 * descriptors.
 */
#define KNOWN_UNMAPPED_MAX 32

static void known_object_free(struct trace *trace, struct known_object *known)
{
	for (size_t i = 0; i < KNOWN_ROLES; i++) {
		trace_detach(trace, known->probes[i].in_all);
		probe_set_free(known->probes[i].set);
	}
	runtime_object_free(known->runtime);
	free(known);
}

void known_objects_free(struct trace *trace)
{
	struct known_object *known, *next;

	HASH_ITER (hh, trace->known, known, next) {
		HASH_DEL(trace->known, known);
		known_object_free(trace, known);
	}
}

/* With probes, and nobody maps it. What has no probes holds no object. */
static bool known_is_left_over(const struct known_object *known)
{
	for (size_t i = 0; i < KNOWN_ROLES; i++) {
		const struct probe_set *set = known->probes[i].set;

		if (set)
			return !object_is_mapped(set->provider->object);
	}
	return false;
}

/* What unwinds and the like is attached in targets, too, that do not map the object. */
static void known_detach_everywhere(struct trace *trace, const struct known_object *known)
{
	struct target *target, *next;

	HASH_ITER (hh, trace->targets, target, next) {
		for (size_t i = 0; i < KNOWN_ROLES; i++) {
			if (known->probes[i].set)
				target_detach(trace, target, known->probes[i].set);
		}
	}
}

/* For bpf/loaded.bpf.c. A file that is not in the table is waited for, which is no harm. */
static void known_tell_kernel(const struct trace *trace, const struct known_object *known,
			      bool there)
{
	int fd = bpf_map__fd(trace->skel->maps.known_files);
	uint8_t value = 1;

	if (trace->options.children < CHILDREN_EXACT || !trace->options.wait_loaded ||
	    !known->file.ino)
		return;
	if (there)
		bpf_map_update_elem(fd, &known->file, &value, BPF_ANY);
	else
		bpf_map_delete_elem(fd, &known->file);
}

void known_object_tell_kernel(const struct trace *trace, struct known_object *known)
{
	/* A gate, or guards, are made for each process that maps the allocator, which is to wait for it. */
	if ((trace->options.gate || trace->options.guard.period) &&
	    known->probes[KNOWN_ALLOCATOR].set)
		return;
	/* Nor of a runtime with a pool: the programs are told of each process that has one. */
	if (!known->told && !known->probes[KNOWN_TELLER].set &&
	    !runtime_pool(known->runtime->runtime, 0))
		known_tell_kernel(trace, known, true);
	known->told = true;
}

/* The oldest go first. Never `fresh`, whose first target is only about to map it. */
static void known_limit_left_over(struct trace *trace, const struct known_object *fresh)
{
	struct known_object *known, *next;
	size_t count = 0;

	HASH_ITER (hh, trace->known, known, next)
		count += known != fresh && known_is_left_over(known);
	HASH_ITER (hh, trace->known, known, next) {
		if (count <= KNOWN_UNMAPPED_MAX)
			break;
		if (known == fresh || !known_is_left_over(known))
			continue;
		HASH_DEL(trace->known, known);
		known_tell_kernel(trace, known, false);
		known_detach_everywhere(trace, known);
		known_object_free(trace, known);
		count--;
	}
}

/*
 * An allocator that was not known when they began: programs that run already may have used it
 * before its probes come.
 */
static void known_forget_whole(struct trace *trace)
{
	int fd = bpf_map__fd(trace->skel->maps.targets);
	struct target *target, *next;

	HASH_ITER (hh, trace->targets, target, next) {
		uint32_t tgid = (uint32_t)target->pid;
		struct target_info info;

		if (target->stage == TARGET_LAUNCHING || target_is_held(trace, target) ||
		    bpf_map_lookup_elem(fd, &tgid, &info) || info.id != target->id)
			continue;
		target->whole = false;
		info.flags &= ~TARGET_WHOLE;
		bpf_map_update_elem(fd, &tgid, &info, BPF_EXIST);
	}
	targets_changed(trace);
}

static bool provides_operators(const struct probe_set *set)
{
	for (size_t i = 0; set && i < set->provider->count; i++) {
		if (set->provider->fns[i].fn->cxx)
			return true;
	}
	return false;
}

/* With --mmap an allocator's probes are on them already; -O is about one object's functions only. */
static bool known_wants_mapper(const struct trace_options *options, const struct probe_set *set)
{
	for (size_t i = 0; set && i < set->provider->count; i++) {
		if (set->provider->fns[i].fn->mmap)
			return false;
	}
	return options->usdt != TRACE_USDT_ONLY && !options->providers.object;
}

/*
 * What the object has for a role, if the role is wanted: 0 and *out, or an error: nothing. The
 * allocator's comes first, for it may have the operators with it.
 */
static int known_look_for(const struct trace *trace, const struct known_object *known,
			  struct object *object, enum known_role role, struct provider **out)
{
	const struct trace_options *options = &trace->options;

	switch (role) {
	case KNOWN_TELLER:
		return options->usdt != TRACE_USDT_NEVER ? usdt_find(object, out) : -ENOENT;
	case KNOWN_ALLOCATOR:
		return object_is_vdso(object) || known->probes[KNOWN_TELLER].set ||
				       options->usdt == TRACE_USDT_ONLY
			       ? -ENOENT
			       : provider_find(object, &options->providers, out);
	case KNOWN_UNWINDER:
		return unwinder_find(object, out);
	case KNOWN_LEAVER:
		return options->hold_at_end ? leaver_find(object, out) : -ENOENT;
	case KNOWN_OPERATORS:
		return options->check_frees &&
				       !provides_operators(known->probes[KNOWN_ALLOCATOR].set)
			       ? operators_find(object, out)
			       : -ENOENT;
	case KNOWN_LOADER:
		return options->wait_loaded ? loader_find(object, out) : -ENOENT;
	case KNOWN_SCOPES:
		return scopes_find(trace->scopes, object, out);
	case KNOWN_MAPPER:
		return known_wants_mapper(options, known->probes[KNOWN_ALLOCATOR].set)
			       ? mapper_find(object, out)
			       : -ENOENT;
	default:
		return -ENOENT;
	}
}

int known_probes_attach_all(struct trace *trace, struct known_probes *probes)
{
	char reason[REASON_MAX] = "";
	int err;

	if (probes->in_all)
		return 0;
	err = make_way_everywhere(trace->objects, probes->set, reason);
	if (err == -EEXIST) {
		probe_set_use_entries(probes->set);
		err = make_way_everywhere(trace->objects, probes->set, reason);
	}
	if (err) {
		log_error(
			"--children exact-systemwide: no probes in %s: %s; a probe inside a gate's "
			"jump ends the process: end the other memleakbpf first, or use "
			"--children late",
			object_name(probes->set->provider->object), reason);
		return err;
	}
	err = attach_probes(trace->options.attach, &trace->programs, probes->set, 0,
			    &probes->in_all);
	if (!err)
		probes->ready_ns = monotonic_ns();
	return err;
}

/* Systemwide: what its allocations are known by is attached everywhere. */
static void known_attach_new(struct trace *trace, struct known_object *known,
			     const struct object *object)
{
	static const enum known_role roles[] = {KNOWN_TELLER, KNOWN_ALLOCATOR};

	for (size_t i = 0; i < ARRAY_SIZE(roles); i++) {
		struct known_probes *probes = &known->probes[roles[i]];

		/* Logged; the object then counts as one without probes. */
		if (probes->set && trace->options.children == CHILDREN_SYSTEMWIDE &&
		    known_probes_attach_all(trace, probes))
			log_debug("no probes in %s", object_path(object));
	}
}

/* A Python whose frames are followed tells which code objects end, if it can be found where. */
static void known_find_code_end(struct known_object *known, struct object *object)
{
	struct provider *provider = NULL;

	if (python_find_code_end(known->runtime, object, &provider))
		return;
	if (probe_set_new(provider, &known->probes[KNOWN_CODE_END].set))
		known->probes[KNOWN_CODE_END].set = NULL;
}

static struct known_object *known_object_new(struct trace *trace, struct object *object,
					     uint64_t id)
{
	struct known_object *known = calloc(1, sizeof(*known));
	const struct known_probes *allocator;

	if (!known)
		return NULL;
	known->id = id;
	if (!object_is_vdso(object))
		known->file = unwind_object_key_of(object);
	for (enum known_role role = 0; role < KNOWN_ROLES; role++) {
		struct provider *provider = NULL;

		if (known_look_for(trace, known, object, role, &provider) || !provider)
			continue;
		if (probe_set_new(provider, &known->probes[role].set)) {
			known_object_free(trace, known);
			return NULL;
		}
		if (role == KNOWN_ALLOCATOR && trace->options.guard.period)
			probe_set_use_entries(known->probes[role].set);
		if (role == KNOWN_SCOPES)
			scopes_assign(known->probes[role].set);
		if (role == KNOWN_TELLER && usdt_rows_assign(trace, known->probes[role].set)) {
			probe_set_free(known->probes[role].set);
			known->probes[role].set = NULL;
		}
	}
	known->runtime = runtime_object_new(object);
	if (known->runtime) {
		known_find_code_end(known, object);
		HASH_ADD(hh, trace->known, id, sizeof(known->id), known);
	}
	if (!known->hh.tbl) {
		known_object_free(trace, known);
		return NULL;
	}
	known_limit_left_over(trace, known);
	if (known->probes[KNOWN_TELLER].set)
		log_debug("%s tells its allocations in %zu places", object_path(object),
			  known->probes[KNOWN_TELLER].set->count);
	allocator = &known->probes[KNOWN_ALLOCATOR];
	if (allocator->set)
		trace->own_found |= allocator->set->provider->own_found;
	if (allocator->set)
		log_debug("%s provides %zu allocator functions", object_path(object),
			  allocator->set->provider->count);
	if (allocator->set && trace->options.children >= CHILDREN_EXACT)
		known_forget_whole(trace);
	known_attach_new(trace, known, object);
	return known;
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
	return known_object_new(trace, object, object_id(object));
}

const struct probe_set *known_probes_of(const struct trace *trace, const struct object *object,
					enum known_role role)
{
	const struct known_object *known = known_object_find(trace, object);

	return known ? known->probes[role].set : NULL;
}

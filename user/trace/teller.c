// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/teller.h"

#include <bpf/bpf.h>

#include "user/base/log.h"
#include "user/trace/skeleton.h"
#include "user/stacks/slots.h"

enum known_role teller_role(const struct target *target)
{
	return target->tells ? KNOWN_TELLER : KNOWN_ALLOCATOR;
}

static bool teller_has_counted(const struct trace *trace, const struct target *target)
{
	uint32_t slots = slots_used(trace->slots);

	for (uint32_t i = 0; i < slots; i++) {
		if (trace->slots->infos[i].target_id == target->id &&
		    trace->slots->counters[i].alloc_count)
			return true;
	}
	return slots_have_bare(trace->slots) &&
	       trace->slots->infos[slots_bare(trace->slots, target->id)].target_id == target->id;
}

/* For the programs; of processes that are in the kernel's table already. */
static void teller_mark(const struct trace *trace, const struct target *target, pid_t pid)
{
	int fd = bpf_map__fd(trace->skel->maps.targets);
	uint32_t tgid = (uint32_t)pid;
	struct target_info info;

	if (bpf_map_lookup_elem(fd, &tgid, &info) || info.id != target->id)
		return;
	info.flags |= TARGET_TELLS;
	bpf_map_update_elem(fd, &tgid, &info, BPF_EXIST);
}

static void teller_begin(struct trace *trace, struct target *target)
{
	struct known_object *known;
	struct sharer *sharer;

	target->tells = true;
	target->bare = false;
	teller_mark(trace, target, target->pid);
	for (sharer = target->sharers; sharer; sharer = sharer->next)
		teller_mark(trace, target, sharer->pid);
	targets_changed(trace);
	for (known = trace->known; known; known = known->hh.next) {
		if (known->probes[KNOWN_ALLOCATOR].set)
			target_detach(trace, target, known->probes[KNOWN_ALLOCATOR].set);
		if (known->probes[KNOWN_UNWINDER].set)
			target_detach(trace, target, known->probes[KNOWN_UNWINDER].set);
	}
}

void teller_look_at(struct trace *trace, struct target *target, struct object *object)
{
	const struct known_object *known;

	if (target->tells || target->tells_late)
		return;
	known = known_object_get(trace, object);
	if (!known || !known->probes[KNOWN_TELLER].set)
		return;
	if (!teller_has_counted(trace, target)) {
		teller_begin(trace, target);
		return;
	}
	target->tells_late = true;
	log_info(
		"process %d (%s) has opened %s, which tells its allocations itself (otel_memory); "
		"its functions stay traced, since nobody would tell the end of the blocks that are "
		"known by them; start memleakbpf -p %d anew to go by what it tells",
		target->pid, target->comm, object_path(object), target->pid);
}

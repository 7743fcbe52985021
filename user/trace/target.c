// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/patch/patches.h"
#include "user/symbol/symbol.h"
#include "user/figures/peaks.h"
#include "user/trace/target.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <bpf/bpf.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/probe/keeper.h"
#include "user/process/proc.h"
#include "user/patch/gated.h"
#include "user/patch/guarded.h"
#include "user/runtime/python/python_rows.h"
#include "user/capture/capture.h"
#include "user/growth/growth.h"
#include "user/stacks/slots.h"
#include "user/trace/skeleton.h"

uint32_t target_number(const struct target *target)
{
	return target->id;
}

pid_t target_pid(const struct target *target)
{
	return target->pid;
}

const char *target_comm(const struct target *target)
{
	return target->comm;
}

bool target_tells(const struct target *target)
{
	return target->tells;
}

bool target_is_traced(const struct target *target)
{
	/* Nobody is shown one that has ended and was not traced. */
	return target->stage >= TARGET_TRACED;
}

bool target_is_replaced(const struct target *target)
{
	return target->stage == TARGET_REPLACED;
}

void **target_user_data(struct target *target)
{
	return &target->user_data;
}

/* bpf/number.h */
uint32_t target_id_take(struct trace *trace)
{
	uint32_t *last = &trace->skel->bss->shared.last_target_id;
	uint32_t id = __atomic_load_n(last, __ATOMIC_ACQUIRE);

	while (id < ABI_TARGET_SLOTS) {
		if (__atomic_compare_exchange_n(last, &id, id + 1, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			return id + 1;
	}
	if (bpf_map_lookup_and_delete_elem(bpf_map__fd(trace->skel->maps.free_ids), NULL, &id))
		return 0;
	return id;
}

void target_id_give(struct trace *trace, uint32_t id)
{
	uint32_t next = abi_next_id_of_row(id);

	if (next)
		bpf_map_update_elem(bpf_map__fd(trace->skel->maps.free_ids), NULL, &next, BPF_ANY);
}

struct target *target_new(struct trace *trace, uint32_t id, pid_t pid)
{
	struct target *target = calloc(1, sizeof(*target));

	if (!target)
		return NULL;
	target->patched = patched_new();
	if (!target->patched) {
		free(target);
		return NULL;
	}
	target->id = id;
	target->pid = target->anchor = pid;
	target->pidfd = -1;
	target->stage = TARGET_FOUND;
	target->start_ns = monotonic_ns();
	HASH_ADD(hh, trace->targets, id, sizeof(target->id), target);
	if (target->hh.tbl)
		HASH_ADD(hh_pid, trace->by_pid, pid, sizeof(target->pid), target);
	if (target->hh_pid.tbl)
		return target;
	if (target->hh.tbl)
		HASH_DELETE(hh, trace->targets, target);
	patched_free(target->patched);
	free(target);
	return NULL;
}

struct patched *target_patched(const struct target *target)
{
	const struct patch_process process = {
		.id = target->id,
		.pid = target->pid,
		.comm = target->comm,
		.image = target->image,
		.runs = target->runs,
		.waits = !target->runs && !target->late,
		.has_gate = target->has_gate,
		.ended = target_has_ended(target),
	};

	if (target->patched)
		patched_is(target->patched, &process);
	return target->patched;
}

bool target_is_held(const struct trace *trace, const struct target *target)
{
	return target->held && !__atomic_load_n(&slots_stats(trace->slots, target->id)->loaded_ns,
						__ATOMIC_ACQUIRE);
}

/* Threads remember whose they are until they see that the table has changed. */
void targets_changed(struct trace *trace)
{
	__atomic_add_fetch(&trace->skel->bss->shared.target_epoch, 1, __ATOMIC_ACQ_REL);
}

uint32_t target_flags(const struct trace *trace, const struct target *target)
{
	uint32_t flags = 0;

	if (trace->options.children != CHILDREN_NONE)
		flags |= TARGET_FOLLOW;
	if (target->layered)
		flags |= TARGET_LAYERED;
	if (target->tells)
		flags |= TARGET_TELLS;
	return flags;
}

/* All functions' allocations count at once, since all probes are there already. */
int target_register(struct trace *trace, const struct target *target)
{
	const struct target_info info = {.id = target->id, .flags = target_flags(trace, target)};
	uint32_t tgid = (uint32_t)target->pid;
	int err;

	err = bpf_map_update_elem(bpf_map__fd(trace->skel->maps.targets), &tgid, &info, BPF_ANY);
	if (err)
		return log_errno(err, "cannot enter process %d in the table of targets",
				 target->pid);
	targets_changed(trace);
	return 0;
}

void target_unregister(struct trace *trace, const struct target *target)
{
	uint32_t tgid = (uint32_t)target->pid;

	bpf_map_delete_elem(bpf_map__fd(trace->skel->maps.targets), &tgid);
	targets_changed(trace);
}

/* Takes the list's next one away. `gone`: as for gated_free(). */
static void target_drop_attachment(struct trace *trace, const struct target *target,
				   struct target_attachment **at, bool gone)
{
	struct target_attachment *a = *at;

	*at = a->next;
	trace_detach(trace, a->attachment);
	gated_free(trace->patches, target_patched(target), a->gated, gone);
	keeper_free(a->keeper);
	free(a);
}

static void target_detach_list(struct trace *trace, const struct target *target,
			       struct target_attachment **at, const struct probe_set *set)
{
	/* One that was only given up goes on. */
	bool gone = target_has_ended(target) && !(target->stage == TARGET_REMOVED && target->alive);

	while (*at) {
		if (set && (*at)->set != set)
			at = &(*at)->next;
		else
			target_drop_attachment(trace, target, at, gone);
	}
}

void target_forget_gates(struct trace *trace, struct target *target)
{
	struct target_attachment **at = &target->attachments;

	while (*at) {
		if (!(*at)->gated)
			at = &(*at)->next;
		else
			target_drop_attachment(trace, target, at, true);
	}
}

void target_detach(struct trace *trace, struct target *target, const struct probe_set *set)
{
	struct sharer *sharer;

	target_detach_list(trace, target, &target->attachments, set);
	for (sharer = target->sharers; sharer; sharer = sharer->next)
		target_detach_list(trace, target, &sharer->attachments, set);
}

void target_drop_sharer(struct trace *trace, struct target *target, pid_t pid)
{
	struct sharer **at = &target->sharers, *sharer;

	while (*at && (*at)->pid != pid)
		at = &(*at)->next;
	sharer = *at;
	if (!sharer)
		return;
	*at = sharer->next;
	target_detach_list(trace, target, &sharer->attachments, NULL);
	free(sharer);
}

void target_release(struct trace *trace, struct target *target)
{
	bool gone = target_has_ended(target) && !(target->stage == TARGET_REMOVED && target->alive);

	patched_go_on(target->patched);
	/* Probes go one after the other. */
	python_tell_code_ends(trace->runtimes, &target->runtimes, false);
	target_detach(trace, target, NULL);
	/* After the gates, which stand before them. */
	guarded_end(trace->patches, target_patched(target), gone);
	while (target->sharers)
		target_drop_sharer(trace, target, target->sharers->pid);
	cleanup_close(&target->pidfd);
	target->pidfd = -1;
	if (target->image)
		image_forget_root(target->image);
}

void target_free(struct trace *trace, struct target *target)
{
	if (!target_has_ended(target))
		target_unregister(trace, target);
	if (target->has_names)
		symbolizer_forget_process(trace->symbolizer, target->pid);
	target_release(trace, target);
	for (size_t i = 0; i < target->preloaded_count; i++) {
		object_unmap(target->preloaded[i]);
		object_unref(target->preloaded[i]);
	}
	free(target->preloaded);
	image_free(target->image);
	image_free(target->next_image);
	free(target->cmdline);
	free(target->ooms);
	growth_watch_free(target->growth);
	captured_free(target->captured);
	peak_capture_free(target->peak);
	runtime_target_clear(trace->runtimes, &target->runtimes);
	patched_free(target->patched);
	free(target);
}

struct target *target_by_id(const struct trace *trace, uint32_t id)
{
	struct target *target;

	HASH_FIND(hh, trace->targets, &id, sizeof(id), target);
	return target;
}

struct target *target_by_pid(const struct trace *trace, pid_t pid)
{
	struct target *target;

	HASH_FIND(hh_pid, trace->by_pid, &pid, sizeof(pid), target);
	return target;
}

struct target *trace_find_target(const struct trace *trace, pid_t pid)
{
	struct target *target = target_by_pid(trace, pid);

	return target && target->stage != TARGET_LAUNCHING ? target : NULL;
}

void target_unlink(struct trace *trace, struct target *target)
{
	HASH_DEL(trace->targets, target);
	HASH_DELETE(hh_pid, trace->by_pid, target);
}

void target_identify(struct trace *trace, struct target *target)
{
	char **cmdline;

	/* A process that is gone keeps the names that are known. */
	proc_comm(target->pid, target->comm);
	if (proc_cmdline(target->pid, &cmdline) == 0) {
		free(target->cmdline);
		target->cmdline = cmdline;
	}
	if (!target->has_names)
		target->has_names = !symbolizer_note_process(trace->symbolizer, target->pid);
}

void target_add_lost(const struct target *target, uint64_t lost[LOSSES_ROOM])
{
	runtime_target_add_lost(&target->runtimes, lost);
	for (const struct target_attachment *a = target->attachments; a; a = a->next)
		lost[LOST_GATE_FULL] += a->gated ? gated_dropped(a->gated) : 0;
}

size_t trace_target_count(const struct trace *trace)
{
	return HASH_COUNT(trace->targets);
}

void trace_for_each_target(struct trace *trace, void (*fn)(void *ctx, struct target *target),
			   void *ctx)
{
	struct target *target, *next;

	HASH_ITER (hh, trace->targets, target, next) {
		if (target->stage != TARGET_LAUNCHING)
			fn(ctx, target);
	}
}

size_t target_build_id(const struct target *target, const uint8_t **id)
{
	char path[32];
	struct stat program;
	size_t size = 0;

	*id = NULL;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)target->pid);
	if (!target->image || stat(path, &program))
		return 0;
	for (size_t i = 0; i < image_range_count(target->image) && !*id; i++) {
		const struct object *object = image_range_at(target->image, i)->object;

		if (object && object_ino(object) == program.st_ino &&
		    object_dev(object) == program.st_dev)
			*id = object_build_id(object, &size);
	}
	return *id ? size : 0;
}

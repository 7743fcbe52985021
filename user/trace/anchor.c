// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/anchor.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "user/base/log.h"
#include "user/probe/keeper.h"
#include "user/probe/probe.h"
#include "user/process/proc.h"
#include "user/runtime/python/python_rows.h"
#include "user/stacks/slots.h"

/* The size of a breakpoint instruction. */
#if defined(__aarch64__)
#define PROBE_BYTES 4
#else
#define PROBE_BYTES 1
#endif

static void anchor_set(struct trace *trace, struct target *target, pid_t tid)
{
	uint64_t *anchor = &slots_stats(trace->slots, target->id)->anchor;

	target->anchor = tid;
	__atomic_store_n(anchor, tid == target->pid ? 0 : (uint64_t)tid, __ATOMIC_SEQ_CST);
}

/* A thread other than `ended`, whose own end will be told: it has been seen to live since. */
static bool anchor_find(struct trace *trace, struct target *target, pid_t ended)
{
	pid_t tid;

	while ((tid = proc_other_thread(target->pid, ended)) != 0) {
		anchor_set(trace, target, tid);
		if (proc_other_thread(target->pid, ended) == tid)
			return true;
	}
	return false;
}

void anchor_choose(struct trace *trace, struct target *target)
{
	if (proc_memory_id(target->pid) != target->pid)
		anchor_find(trace, target, target->pid);
}

/* Single probes find the process by the thread alone, links by the process. */
static int anchor_attach_through(struct trace *trace, const struct target *target,
				 const struct probe_set *set, struct attachment **out)
{
	bool single = trace->options.attach == ATTACH_SINGLE;

	return attach_probes(trace->options.attach, &trace->programs, set,
			     single ? target->anchor : target->pid, out);
}

static bool anchor_needs_keeper(const struct trace *trace, const struct target *target)
{
	return target->anchor != target->pid && trace->options.attach != ATTACH_SINGLE;
}

int anchor_attach(struct trace *trace, const struct target *target, struct target_attachment *a)
{
	int err = anchor_attach_through(trace, target, a->set, &a->attachment);

	if (err || !anchor_needs_keeper(trace, target))
		return err;
	err = keeper_new(a->set, target->anchor, &a->keeper);
	if (!err)
		return 0;
	trace_detach(trace, a->attachment);
	if (err != -ESRCH)
		log_error("process %d (%s): its main thread has ended, and the kernel puts no "
			  "probes into such a process%s; with --children exact it can be traced",
			  target->pid, target->comm,
			  err == -EACCES || err == -EPERM ? " but for CAP_SYS_ADMIN" : "");
	return err;
}

static void anchor_count_removed(const struct trace *trace, const struct target *target)
{
	struct target_stats *stats = slots_stats(trace->slots, target->id);

	__atomic_add_fetch(&stats->lost[LOST_REMOVED_PROBES], 1, __ATOMIC_RELAXED);
}

/* Beside the old one, which has no effect any more. */
static int anchor_renew(struct trace *trace, const struct target *target,
			struct target_attachment *a)
{
	struct attachment *attachment;
	struct keeper *keeper;
	int err;

	if (anchor_needs_keeper(trace, target)) {
		err = keeper_new(a->set, target->anchor, &keeper);
		if (err)
			return err;
		keeper_free(a->keeper);
		a->keeper = keeper;
		return 0;
	}
	/* Single probes have been without effect since the thread ended. */
	anchor_count_removed(trace, target);
	err = anchor_attach_through(trace, target, a->set, &attachment);
	if (err)
		return err;
	trace_detach(trace, a->attachment);
	a->attachment = attachment;
	return 0;
}

static void anchor_renew_all(struct trace *trace, struct target *target)
{
	struct target_attachment *a;
	int err = 0;

	for (a = target->attachments; a && !err; a = a->next)
		err = a->gated ? 0 : anchor_renew(trace, target, a);
	if (!err || err == -ESRCH)
		return;
	log_warn(
		"process %d (%s): its main thread has ended, so the kernel may take our probes out "
		"when another tracer of its libraries goes; attach anew to hold them "
		"(memleakbpf -p %d, as root)",
		target->pid, target->comm, target->pid);
}

void anchor_replace(struct trace *trace, struct target *target, pid_t tid)
{

	if (target->anchor != tid || !anchor_find(trace, target, tid))
		return;
	log_debug("process %d (%s): thread %d has ended, its probes hang on thread %d", target->pid,
		  target->comm, tid, target->anchor);
	/* Some may have no effect for a while, and others may be taken out. */
	python_tell_code_ends(trace->runtimes, &target->runtimes, false);
	anchor_renew_all(trace, target);
}

/* A breakpoint has replaced the instruction there. False too where that cannot be read. */
static bool anchor_is_missing(const struct target *target, const struct object *object,
			      uint64_t offset)
{
	for (size_t i = 0; i < image_range_count(target->image); i++) {
		const struct image_range *range = image_range_at(target->image, i);
		uint64_t address = range->start + (offset - range->offset);
		unsigned char ours[PROBE_BYTES], theirs[PROBE_BYTES];
		struct iovec to = {theirs, sizeof(theirs)};
		struct iovec from = {(void *)(uintptr_t)address, sizeof(theirs)};

		if (range->object != object || offset < range->offset || address >= range->end)
			continue;
		return pread(object_fd(object), ours, sizeof(ours), (off_t)offset) == PROBE_BYTES &&
		       process_vm_readv(target->anchor, &to, 1, &from, 1, 0) == PROBE_BYTES &&
		       !memcmp(ours, theirs, sizeof(ours));
	}
	return false;
}

static bool anchor_probes_are_missing(const struct target *target, const struct probe_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		if (anchor_is_missing(target, set->provider->object, set->probes[i].offset))
			return true;
	}
	return false;
}

void anchor_check(struct trace *trace, struct target *target)
{
	struct target_attachment *a;

	if (!anchor_needs_keeper(trace, target) || target_has_ended(target))
		return;
	for (a = target->attachments; a; a = a->next) {
		if (a->keeper || a->removed || a->gated ||
		    !anchor_probes_are_missing(target, a->set))
			continue;
		a->removed = true;
		anchor_count_removed(trace, target);
	}
}

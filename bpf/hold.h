/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A process that begins, by fork or exec, is held inside the kernel before any of its code has run,
 * until user space has put its probes in: so nothing is missed, and no other process has probes.
 *
 * Work given to a task is done in its own context on its way back to user mode, and may sleep
 * (bpf_task_work_schedule_resume() of kernel/bpf/helpers.c, 6.18). It waits as on_loaded does
 * (bpf/wait.h), but a little at a time: each round gives the task the next one and ends, so that
 * nobody who waits until running programs have ended (synchronize_rcu_tasks_trace()) waits for user
 * space as well, and the kernel gives the processor to others between two (task_work_run()). Nor
 * does it touch the process's memory, whose lock those want who put probes in. Two entries take
 * turns, since one is busy until its round is over.
 */
#ifndef MEMLEAKBPF_BPF_HOLD_H
#define MEMLEAKBPF_BPF_HOLD_H

#include "bpf/loss.h"
#include "bpf/wait.h"

#define HOLD_LOOKS	512 /* of a round: less than a tenth of a millisecond */
#define HOLD_SECOND	(1ull << 32)
#define HOLD_LONGEST_NS 15000000000ull /* for a tool that works, and does not come to this one */

struct hold {
	struct bpf_task_work work;
	uint64_t since_ns; /* 0: it has not begun; what user space is to have handled */
	uint32_t target_id;
	uint32_t pad;
};

/* By tid, of the second entry with HOLD_SECOND. Not made where nobody is held. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, uint64_t);
	__type(value, struct hold);
} holds __weak SEC(".maps");

typedef int(hold_callback)(struct bpf_map *map, void *key, void *value);

#ifdef NO_HOLD
/* For kernels without the function: libbpf must not come upon its name (user/trace/skeleton.h). */
static __always_inline void hold_call_off(struct task_struct *task)
{
	(void)task;
}

static __always_inline bool hold_begin(struct task_struct *task, uint32_t target_id)
{
	(void)task;
	(void)target_id;
	return false;
}
#else

/* From 7.0 on it has another name, which is not asked for yet. */
extern int bpf_task_work_schedule_resume_impl(struct task_struct *task, struct bpf_task_work *work,
					      void *map__map, hold_callback *callback,
					      void *aux__prog) __weak __ksym;

static int hold_round(struct bpf_map *map, void *key, void *value);

static __always_inline bool hold_schedule(struct task_struct *task, uint64_t key,
					  uint32_t target_id, uint64_t since_ns)
{
	struct hold fresh = {}, *hold = bpf_map_lookup_elem(&holds, &key);
	int err;

	if (!hold) {
		bpf_map_update_elem(&holds, &key, &fresh, BPF_ANY);
		hold = bpf_map_lookup_elem(&holds, &key);
	}
	if (!hold)
		return false;
	hold->target_id = target_id;
	hold->since_ns = since_ns;
	err = bpf_task_work_schedule_resume_impl(task, &hold->work, &holds, hold_round, NULL);
	if (err)
		bpf_map_delete_elem(&holds, &key);
	return !err;
}

/* Both entries: what is scheduled is called off with its entry. */
static __always_inline void hold_end(uint64_t key, uint32_t target_id)
{
	struct target_stats *stats = target_stats_of(target_id);

	/* What is killed as it waits has not gone on. */
	if (stats && !(kernel_read(bpf_get_current_task_btf(), signal, flags) & SIGNAL_GROUP_EXIT))
		stats->loaded_ns = bpf_ktime_get_ns();
	key ^= HOLD_SECOND;
	bpf_map_delete_elem(&holds, &key);
	key ^= HOLD_SECOND;
	bpf_map_delete_elem(&holds, &key);
}

static int hold_round(struct bpf_map *map, void *key, void *value)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct hold *hold = value;
	uint64_t number = *(uint64_t *)key, since = hold->since_ns;
	uint32_t target_id = hold->target_id;
	struct wait wait = {.task = task, .patient = true};
	uint64_t worked = *(volatile uint64_t *)&shared.worked_ns;
	bool again, first = !since;

	(void)map;
	if (!since)
		since = bpf_ktime_get_ns();
	/*
	 * First, and called off when there is no need: the verifier goes into the next round as soon
	 * as it has done with all that comes after this, and then knows it already.
	 */
	again = hold_schedule(task, number ^ HOLD_SECOND, target_id, since);
	wait.handled_ns = since;
	/* Where many are held, on a busy machine, a tool that works comes to this one as well. */
	if (worked > since + HOLD_LONGEST_NS)
		worked = since;
	wait.until_ns = (worked > since ? worked : since) + WAIT_EXACT_NS;
	/* A tool that has not answered, and has done nothing since, is not waited for again; who waits already has its own time. */
	if (again && (!first || tool_answers()))
		bpf_loop(HOLD_LOOKS, look, &wait, 0);
	else
		wait.done = true;
	if (!wait.done)
		return 0;
	if (!wait.handled && bpf_ktime_get_ns() > wait.until_ns)
		shared.waited_ns = since;
	hold_end(number, target_id);
	return 0;
}

static __always_inline void hold_call_off(struct task_struct *task)
{
	uint64_t key = (uint32_t)task->pid, second = key ^ HOLD_SECOND;

	bpf_map_delete_elem(&holds, &key);
	bpf_map_delete_elem(&holds, &second);
}

/* The task is about to begin, as a target of that number. False: it cannot be held. */
static __always_inline bool hold_begin(struct task_struct *task, uint32_t target_id)
{
	/* What is left of one that was killed as it waited. */
	hold_call_off(task);
	return hold_schedule(task, (uint32_t)task->pid, target_id, 0);
}
#endif /* NO_HOLD */

#endif

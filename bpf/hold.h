/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Holds a process that begins, by fork or exec, inside the kernel before any of its code has run.
 * User space puts its probes in meanwhile: so nothing is missed, and no other process has probes.
 *
 * A task does the work given to it in its own context on its way back to user mode, and may sleep.
 * (bpf_task_work_schedule_resume() of kernel/bpf/helpers.c, 6.18.) It waits as on_loaded does
 * (bpf/wait.h), but a little at a time: each round gives the task the next one and ends. So whoever
 * waits until running programs have ended (synchronize_rcu_tasks_trace()) does not wait for user
 * space as well. The kernel gives the processor to others between two rounds (task_work_run()). A
 * round does not touch the process's memory: user space needs that memory's lock to put probes in.
 * Two entries take turns, since one is busy until its round is over.
 */
#ifndef MEMLEAKBPF_BPF_HOLD_H
#define MEMLEAKBPF_BPF_HOLD_H

#include "bpf/loss.h"
#include "bpf/wait.h"

#define HOLD_LOOKS  512 /* in a round: less than a tenth of a millisecond */
#define HOLD_SECOND (1ull << 32)
/* for a tool that works, and does not come to this process */
#define HOLD_LONGEST_NS 15000000000ull

struct hold {
	struct bpf_task_work work;
	uint64_t since_ns; /* user space is to have handled all until then; 0: it has not begun */
	uint32_t target_id;
	uint32_t pad;
};

/* By tid; the second entry with HOLD_SECOND. Not made where nobody is held. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, uint64_t);
	__type(value, struct hold);
} holds __weak SEC(".maps");

typedef int(hold_callback)(struct bpf_map *map, void *key, void *value);

#ifdef NO_HOLD
/* For kernels without the function: libbpf must not find its name (user/trace/skeleton.h). */
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

/* From 7.0 on it has another name, which we do not ask for yet. */
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

/* Deletes both entries, and with them what is scheduled. */
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
	bool again, first = !since;
	uint64_t worked;

	(void)map;
	if (!since)
		since = bpf_ktime_get_ns();
	/* It is as good as at work: what it waits for is a processor. */
	if (!first && tool_is_starved())
		shared.worked_ns = bpf_ktime_get_ns();
	worked = *(volatile uint64_t *)&shared.worked_ns;
	/*
	 * First, and called off without need. The verifier looks at the next round as soon as it is
	 * done with all that follows here, and then knows it already.
	 */
	again = hold_schedule(task, number ^ HOLD_SECOND, target_id, since);
	wait.handled_ns = since;
	/* If many are held on a busy machine, a working tool comes to this one as well. */
	if (worked > since + HOLD_LONGEST_NS)
		worked = since;
	wait.until_ns = (worked > since ? worked : since) + WAIT_EXACT_NS;
	/*
	 * A tool that has not answered, and has done nothing since, is not waited for again; those
	 * who wait already have their own time.
	 */
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
	/* The rest of a hold whose process was killed as it waited. */
	hold_call_off(task);
	return hold_schedule(task, (uint32_t)task->pid, target_id, 0);
}
#endif /* NO_HOLD */

#endif

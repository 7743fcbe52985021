/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From a walked stack to the slot of its counters. */
#ifndef MEMLEAKBPF_BPF_STACK_H
#define MEMLEAKBPF_BPF_STACK_H

#include "bpf/runtime/java.h"
#include "bpf/loss.h"
#include "bpf/number.h"
#include "bpf/runtime/python.h"
#include "bpf/runtime/runtimes.h"
#include "bpf/scope.h"
#include "bpf/runtime/v8.h"
#include "bpf/stack_end.h"
#include "bpf/walk.h"

static __always_inline uint32_t slot_take(void)
{
	uint32_t slot = number_slot();

	if (slot != ABI_NO_SLOT || !bpf_map_pop_elem(&free_slots, &slot))
		return slot;
	return ABI_NO_SLOT;
}

/*
 * The slot for allocations whose stack cannot be recorded: their bytes still count. Every target
 * has one of its own, behind the stacks' slots, so there is always room for it.
 */
static __always_inline uint32_t slot_without_stack(uint32_t target_id)
{
	uint32_t slot = config.max_slots + target_id % ABI_TARGET_SLOTS;
	struct slot_info *info = bpf_map_lookup_elem(&slot_infos, &slot);

	if (!info)
		return ABI_NO_SLOT;
	if (info->target_id != target_id) {
		info->stack_id = 0;
		info->end = STACK_END_NO_MAPPING;
		info->weighed = info->arena = 0;
		info->target_id = target_id;
		shared.bare_slots = 1;
	}
	return slot;
}

/*
 * Publishes a slot for a stack. If another CPU was faster, uses its slot and gives ours back.
 * `managed`: the stack has functions of a runtime.
 */
static __always_inline uint32_t slot_publish(const struct stack_key *key, uint32_t slot,
					     uint8_t end, bool managed)
{
	struct slot_info *info = bpf_map_lookup_elem(&slot_infos, &slot);
	uint32_t *winner;

	if (!info)
		return slot_without_stack(key->target_id);
	info->stack_id = key->stack_id;
	info->end = end;
	info->weighed = info->arena = 0;
	info->managed = managed;
	scope_publish(slot, key->scope);
	info->target_id = key->target_id;
	if (!bpf_map_update_elem(&stacks, key, &slot, BPF_NOEXIST)) {
		if (managed)
			__sync_fetch_and_add(&shared.managed_slots, 1);
		return slot;
	}
	info->target_id = 0;
	bpf_map_push_elem(&free_slots, &slot, 0);
	winner = bpf_map_lookup_elem(&stacks, key);
	if (winner)
		return *winner;
	count_lost(key->target_id, LOST_STACKS_FULL); /* no memory for the entry */
	return slot_without_stack(key->target_id);
}

#ifndef MEMLEAKBPF_MANAGED
#define stack_runtime_end(event, flags) ((void)0)
#define stack_runtime_tell(event)	0
#else
/*
 * After the walk: finds the thread's place in Java and V8. Those of TARGET_INTERPRETED are known.
 */
static __always_inline void stack_runtime_end(struct stack_event *event, uint32_t flags)
{
	event->runtime.of[RUNTIME_JVM] = event->runtime.of[RUNTIME_V8] = 0;
	if (flags & (TARGET_JAVA | TARGET_V8)) {
		hotspot_end(&event->runtime, flags);
		v8_end(&event->runtime, flags);
	}
}

/* 0; or user space could not be told all that it has to know of them. */
static __always_inline int stack_runtime_tell(struct stack_event *event)
{
	return runtimes_tell(&event->runtime) | v8_tell(&event->runtime);
}
#endif

#ifdef MEMLEAKBPF_OLD_KERNEL
/* Walks by frame pointers never end that way. */
static __always_inline uint32_t slot_of_copy(struct thread_state *thread, uint32_t target_id)
{
	(void)thread;
	(void)target_id;
	return ABI_NO_SLOT;
}
#else
/*
 * For a walk that ended at code without tables yet. Sends a piece of the stack, once for each stack
 * that looks different, and user space finishes it. ABI_NO_SLOT when there is no room: the stack
 * then stays as short as it is, and says so.
 */
static __always_inline uint32_t slot_of_copy(struct thread_state *thread, uint32_t target_id)
{
	struct stack_copy_event *copy = bpf_ringbuf_reserve(&copies, sizeof(*copy), 0);
	struct stack_key key = {.target_id = target_id, .scope = scope_node_of(thread)};
	uint32_t slot = ABI_NO_SLOT, *found;

	if (!copy)
		return ABI_NO_SLOT;
	if (!unwind_copy(&thread->unwind, copy))
		goto discard;
	copy->stack.walk_id = copy->stack.stack_id;
	copy->stack.runtime = thread->event.runtime;
	copy->stack.arena = thread->event.arena;
	copy->stack.stack_id = runtime_stack_id(copy->stack.stack_id, &copy->stack.runtime);
	key.stack_id = copy->stack.stack_id;
	found = bpf_map_lookup_elem(&stacks, &key);
	if (found) {
		slot = *found;
		goto discard;
	}
	/* They may take some of the slots, not all. */
	if (__sync_fetch_and_add(&shared.copies, 1) >= config.max_slots / 4)
		goto discard;
	slot = slot_take();
	if (slot == ABI_NO_SLOT)
		goto discard;
	if (stack_runtime_tell(&thread->event)) {
		bpf_map_push_elem(&free_slots, &slot, 0);
		slot = ABI_NO_SLOT;
		goto discard;
	}
	kernel_copy_words(copy->stack.frames, thread->event.frames,
			  sizeof(copy->stack.frames) / sizeof(uint64_t));
	copy->stack.header.type = EVENT_STACK_COPY;
	copy->stack.header.target_id = target_id;
	copy->stack.header.time_ns = bpf_ktime_get_ns();
	copy->stack.slot = slot;
	copy->stack.tid = (uint32_t)bpf_get_current_pid_tgid();
	copy->stack.frame_count = thread->event.frame_count;
	copy->stack.end = STACK_END_NO_MAPPING;
	bpf_ringbuf_submit(copy, 0);
	/* Not a managed one: copies have a limit of their own. */
	return slot_publish(&key, slot, STACK_END_NO_MAPPING, false);
discard:
	/*
	 * With a wakeup: a discarded record takes room until the reader has passed it, and no later
	 * record would wake the reader.
	 */
	bpf_ringbuf_discard(copy, 0);
	return slot;
}
#endif

/*
 * At most so many slots for stacks with functions of a runtime: a large Perl program has more than
 * a million such stacks. Further ones count by their C functions alone, of which there are fewer,
 * and as LOST_STACKS_FULL.
 */
#define MANAGED_SLOTS (config.max_slots / 2)

static __always_inline bool slot_may_be_managed(void)
{
	return *(volatile uint32_t *)&shared.managed_slots < MANAGED_SLOTS;
}

#ifdef MEMLEAKBPF_MANAGED
#define STACK_FORGET(constant, name, text) runtime->of[RUNTIME_##constant] = 0;
/* Of the runtimes of TARGET_INTERPRETED. */
static __always_inline void stack_interpreted_forget(struct runtime_hashes *runtime)
{
	runtime->of[RUNTIME_PYTHON] = 0;
	RUNTIME_INTERPRETERS(STACK_FORGET)
}

static __always_inline void stack_runtime_forget(struct runtime_hashes *runtime)
{
	stack_interpreted_forget(runtime);
	runtime->of[RUNTIME_JVM] = runtime->of[RUNTIME_V8] = 0;
}
#endif

/*
 * Walks the stack and returns the slot of its counters. A new stack is sent to user space once;
 * only then its slot is published, so no slot is without frames. ABI_NO_SLOT when even the fallback
 * has no room. After walk_begin(). For a target of TARGET_INTERPRETED, event->runtime has the
 * thread's place in these runtimes. The thread then remembers the walk's hash, not the slot: the
 * same C functions may run any of their functions.
 */
static __always_inline uint32_t stack_slot_walked(uint32_t flags, struct thread_state *thread,
						  const struct target_info *target)
{
	struct stack_key key = {.target_id = target->id, .scope = scope_node_of(thread)};
	struct stack_event *event = &thread->event;
	uint32_t *found;
	uint64_t size;
	uint32_t slot;
	int unsent;

	key.stack_id = event->walk_id = walk_stack(thread, flags);
	stack_runtime_end(event, target->flags);
	if (event->end == STACK_END_NO_MAPPING && shared.copies < config.max_slots / 4) {
		slot = slot_of_copy(thread, target->id);
		if (slot != ABI_NO_SLOT)
			return slot;
	}
	key.stack_id = runtime_stack_id(event->walk_id, &event->runtime);
	found = bpf_map_lookup_elem(&stacks, &key);
	if (found) {
		unwind_remember(&thread->unwind, target->flags & TARGET_INTERPRETED || SCOPES
							 ? event->walk_id
							 : *found);
		return *found;
	}

	/* First: without a slot nothing of a stack is sent. */
	event->slot =
		key.stack_id == event->walk_id || slot_may_be_managed() ? slot_take() : ABI_NO_SLOT;
#ifdef MEMLEAKBPF_MANAGED
	if (event->slot == ABI_NO_SLOT && key.stack_id != event->walk_id) {
		stack_runtime_forget(&event->runtime);
		key.stack_id = event->walk_id;
		found = bpf_map_lookup_elem(&stacks, &key);
		if (found) {
			count_lost(target->id, LOST_STACKS_FULL);
			return *found;
		}
		event->slot = slot_take();
		if (event->slot != ABI_NO_SLOT)
			count_lost(target->id, LOST_STACKS_FULL);
	}
#endif
	if (event->slot == ABI_NO_SLOT) {
		count_lost(target->id, LOST_STACKS_FULL);
		return slot_without_stack(target->id);
	}
	unsent = stack_runtime_tell(event);
	event->header.type = EVENT_STACK;
	event->header.target_id = target->id;
	event->header.time_ns = bpf_ktime_get_ns();
	event->stack_id = key.stack_id;
	event->tid = (uint32_t)bpf_get_current_pid_tgid();
	size = sizeof(*event) - sizeof(event->frames) + 8 * (uint64_t)event->frame_count;
	if (size > sizeof(*event))
		size = sizeof(*event);
	if (unsent || bpf_ringbuf_output(&events, event, size, 0)) {
		bpf_map_push_elem(&free_slots, &event->slot, 0);
		count_lost(target->id, LOST_FRAMES);
		return slot_without_stack(target->id);
	}
	return slot_publish(&key, event->slot, event->end, key.stack_id != event->walk_id);
}

#ifdef MEMLEAKBPF_MANAGED
/* Renews the thread's interpreter from the table, without a slot. False: it has none. */
static __always_inline bool stack_python_renew(struct python_thread *py, uint32_t target_id,
					       uint32_t epoch)
{
	const struct python_row *row = bpf_map_lookup_elem(&python_rows, &target_id);

	if (!row)
		return false;
	py->row = *row;
	py->target_id = target_id;
	py->row_epoch = epoch;
	py->key_data = 0;
	py->code_ends = ~0ull;
	__builtin_memset(py->known, 0, sizeof(py->known));
	return true;
}

/*
 * A remembered walk and the thread's place in Python are a stack together. It comes through no
 * other runtime's code, or nobody would remember it. ABI_NO_SLOT: the stack is not known;
 * thread->event has the place then.
 */
static __always_inline uint32_t stack_python_slot(struct thread_state *thread,
						  const struct target_info *target,
						  uint64_t walk_id)
{
	struct stack_key key = {
		.target_id = target->id, .stack_id = walk_id, .scope = scope_node_of(thread)};
	struct python_thread *py =
		config.task_storage
			? bpf_task_storage_get(&python_threads, bpf_get_current_task_btf(), NULL,
					       BPF_LOCAL_STORAGE_GET_F_CREATE)
			: NULL;
	uint64_t known, name;
	uint32_t *found;

	if (!py) {
		/* Its place in Python is unknown. */
		count_lost(target->id, LOST_FRAMES);
		return slot_without_stack(target->id);
	}
	if ((py->row_epoch != thread->target_epoch || py->target_id != target->id) &&
	    !stack_python_renew(py, target->id, thread->target_epoch))
		return ABI_NO_SLOT;
	python_follow(&py->row, py);
	thread->event.runtime.of[RUNTIME_PYTHON] = py->chain.hash;
	if (walk_id == ABI_NO_SLOT)
		return ABI_NO_SLOT;
	if (py->chain.hash)
		key.stack_id = unwind_mix_ids(walk_id, py->chain.hash);
	key.stack_id = runtime_mix_interpreters(key.stack_id, &thread->event.runtime);
	name = SCOPES && key.scope ? unwind_mix_ids(key.stack_id, key.scope) : key.stack_id;
	known = name % PYTHON_KNOWN_SLOTS;
	if (py->known[known].stack_id == name)
		return (uint32_t)py->known[known].slot;
	found = bpf_map_lookup_elem(&stacks, &key);
	if (!found)
		return ABI_NO_SLOT;
	py->known[known].stack_id = name;
	py->known[known].slot = *found;
	return *found;
}
#endif

/* A remembered walk and the thread's present scope are a stack together. */
static __always_inline uint64_t scope_known_slot(struct thread_state *thread, uint32_t target_id,
						 uint64_t walk_id)
{
	struct stack_key key = {
		.target_id = target_id, .stack_id = walk_id, .scope = scope_node_of(thread)};
	uint32_t *found = walk_id != ABI_NO_SLOT ? bpf_map_lookup_elem(&stacks, &key) : NULL;

	(void)thread; /* without scopes */
	return found ? *found : ABI_NO_SLOT;
}

#ifdef MEMLEAKBPF_MANAGED
/* As stack_python_slot(), of RUNTIME_INTERPRETERS as well. */
static __always_inline uint32_t stack_interpreted_slot(struct thread_state *thread,
						       const struct target_info *target,
						       uint64_t walk_id)
{
	stack_interpreted_forget(&thread->event.runtime);
	if (target->flags & TARGET_INTERPRETED & ~TARGET_PYTHON &&
	    runtimes_follow(&thread->event.runtime, target->id, target->flags,
			    thread->target_epoch)) {
		count_lost(target->id, LOST_FRAMES);
		return slot_without_stack(target->id);
	}
	if (target->flags & TARGET_PYTHON)
		return stack_python_slot(thread, target, walk_id);
	if (walk_id != ABI_NO_SLOT)
		walk_id = runtime_mix_interpreters(walk_id, &thread->event.runtime);
	return (uint32_t)scope_known_slot(thread, target->id, walk_id);
}
#endif

/* The slot of the stack at the registers. `pc`, `flags`: as for walk_begin(). */
static __always_inline uint32_t stack_slot(const struct pt_regs *ctx, uint64_t pc, uint32_t flags,
					   struct thread_state *thread,
					   const struct target_info *target)
{
	uint64_t known;

	walk_begin(ctx, pc, flags, thread, target->id);
	known = unwind_recall(&thread->unwind);
#ifdef MEMLEAKBPF_MANAGED
	if (target->flags & TARGET_INTERPRETED)
		known = stack_interpreted_slot(thread, target, known);
	else
#endif
		if (SCOPES)
		known = scope_known_slot(thread, target->id, known);
#ifndef MEMLEAKBPF_MANAGED
	/* For such a target the thread remembers a walk's hash, no slot. */
	else if (target->flags & TARGET_INTERPRETED)
		known = ABI_NO_SLOT;
#endif
	if (known != ABI_NO_SLOT)
		return (uint32_t)known;
#ifdef MEMLEAKBPF_MANAGED
	if (!(target->flags & TARGET_INTERPRETED))
		stack_interpreted_forget(&thread->event.runtime);
	/* The walk finds their frames on its way. */
	if (target->flags & (TARGET_JAVA | TARGET_V8))
		thread->unwind.flags |=
			(uint32_t)runtimes_begin(target->id, target->flags, thread->target_epoch);
#else
	/* The thread may have been in a runtime before: bpf/managed.h. */
	__builtin_memset(&thread->event.runtime, 0, sizeof(thread->event.runtime));
#endif
	return stack_slot_walked(flags, thread, target);
}

#endif

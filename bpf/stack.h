/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From a walked stack to the slot of its counters. */
#ifndef MEMLEAKBPF_BPF_STACK_H
#define MEMLEAKBPF_BPF_STACK_H

#include "bpf/loss.h"
#include "bpf/java.h"
#include "bpf/number.h"
#include "bpf/php.h"
#include "bpf/python.h"
#include "bpf/ruby.h"
#include "bpf/scope.h"
#include "bpf/v8.h"
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
 * has one of its own behind those of the stacks, so that there is always room for it.
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
 * Publishes a slot for a stack; when another CPU was faster, its slot is used and ours goes back.
 */
static __always_inline uint32_t slot_publish(const struct stack_key *key, uint32_t slot,
					     uint8_t end)
{
	struct slot_info *info = bpf_map_lookup_elem(&slot_infos, &slot);
	uint32_t *winner;

	if (!info)
		return slot_without_stack(key->target_id);
	info->stack_id = key->stack_id;
	info->end = end;
	info->weighed = info->arena = 0;
	scope_publish(slot, key->scope);
	info->target_id = key->target_id;
	if (!bpf_map_update_elem(&stacks, key, &slot, BPF_NOEXIST))
		return slot;
	info->target_id = 0;
	bpf_map_push_elem(&free_slots, &slot, 0);
	winner = bpf_map_lookup_elem(&stacks, key);
	if (winner)
		return *winner;
	count_lost(key->target_id, LOST_STACKS_FULL); /* no memory for the entry */
	return slot_without_stack(key->target_id);
}

#ifdef MEMLEAKBPF_OLD_KERNEL
#define stack_runtime_end(event, flags) ((void)0)
#define stack_runtime_tell(event)	0
#else
/*
 * Here and below what a thread's storage has for a runtime is asked for each time, for the verifier: to remember it is to go all of the
 * ways on once more for each runtime that there may be.
 */
static __always_inline void *stack_storage(void *map, uint64_t flags)
{
	return bpf_task_storage_get(map, bpf_get_current_task_btf(), NULL, flags);
}

/* After the walk: what the thread is in. Those of Python, Ruby and PHP are known. */
static __always_inline void stack_runtime_end(struct stack_event *event, uint32_t flags)
{
	struct hotspot_thread *java =
		flags & TARGET_JAVA ? stack_storage(&hotspot_threads, 0) : NULL;
	struct v8_thread *v8 = flags & TARGET_V8 ? stack_storage(&v8_threads, 0) : NULL;

	event->runtime.java = event->runtime.v8 = 0;
	if (java) {
		hotspot_end(java);
		event->runtime.java = java->chain.hash;
	}
	if (v8) {
		v8_end(v8);
		event->runtime.v8 = v8->chain.hash;
	}
}

/* 0, or what user space has to know of them could not be sent. */
static __always_inline int stack_runtime_tell(const struct stack_event *event)
{
	struct python_thread *py = event->runtime.python ? stack_storage(&python_threads, 0) : NULL;
	struct hotspot_thread *java =
		event->runtime.java ? stack_storage(&hotspot_threads, 0) : NULL;
	struct v8_thread *v8 = event->runtime.v8 ? stack_storage(&v8_threads, 0) : NULL;
	struct ruby_thread *ruby = event->runtime.ruby ? stack_storage(&ruby_threads, 0) : NULL;
	struct php_thread *php = event->runtime.php ? stack_storage(&php_threads, 0) : NULL;
	int err = 0;

	if (py)
		err = python_tell(&py->row, py);
	if (java)
		err |= hotspot_tell(java);
	if (v8)
		err |= v8_tell(v8);
	if (ruby)
		err |= ruby_tell(ruby);
	if (php)
		err |= php_tell(php);
	return err;
}
#endif

#ifdef MEMLEAKBPF_OLD_KERNEL
/* Walks by frame pointers never end there. */
static __always_inline uint32_t slot_of_copy(struct thread_state *thread, uint32_t target_id)
{
	(void)thread;
	(void)target_id;
	return ABI_NO_SLOT;
}
#else
/*
 * For a walk that ended at code whose tables are not there yet: sends a piece of the stack, once
 * for each stack that looks different, and user space finishes it. ABI_NO_SLOT when there is no
 * room: the stack then stays as short as it is, and says so.
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
	/* They are worth some of the slots, not all. */
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
	bpf_probe_read_kernel(copy->stack.frames, sizeof(copy->stack.frames), thread->event.frames);
	copy->stack.header.type = EVENT_STACK_COPY;
	copy->stack.header.target_id = target_id;
	copy->stack.header.time_ns = bpf_ktime_get_ns();
	copy->stack.slot = slot;
	copy->stack.tid = (uint32_t)bpf_get_current_pid_tgid();
	copy->stack.frame_count = thread->event.frame_count;
	copy->stack.end = STACK_END_NO_MAPPING;
	bpf_ringbuf_submit(copy, 0);
	return slot_publish(&key, slot, STACK_END_NO_MAPPING);
discard:
	/*
	 * With a wakeup: what has been discarded takes room until the reader has passed it, and no
	 * later record would wake that.
	 */
	bpf_ringbuf_discard(copy, 0);
	return slot;
}
#endif

/*
 * Walks the stack and returns the slot of its counters. A stack seen for the first time is sent to
 * user space once; only when that succeeded is its slot published, so no slot is without frames.
 * ABI_NO_SLOT when even the fallback has no room. After walk_begin(). Of a target that runs Python, Ruby or PHP
 * event->runtime.python, .ruby and .php are what it is in, and what the thread remembers of its walks is not the slot, but the
 * walk's hash: in one and the same C function may be any function of theirs.
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

	/* First: without one nothing of a stack is sent. */
	event->slot = slot_take();
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
	return slot_publish(&key, event->slot, event->end);
}

#ifndef MEMLEAKBPF_OLD_KERNEL
static __always_inline void stack_java_begin(struct thread_state *thread, uint32_t target_id)
{
	struct hotspot_thread *java =
		stack_storage(&hotspot_threads, BPF_LOCAL_STORAGE_GET_F_CREATE);
	const struct hotspot_row *row;

	if (!java) {
		count_lost(target_id, LOST_JAVA);
		return;
	}
	if (java->row_epoch != thread->target_epoch || java->target_id != target_id) {
		row = bpf_map_lookup_elem(&hotspot_rows, &target_id);
		/* None, and none of the last walk's. */
		if (!row) {
			java->count = java->failure = 0;
			return;
		}
		java->row = *row;
		java->finds_heaps = !row->heaps[0].end;
		java->target_id = target_id;
		java->row_epoch = thread->target_epoch;
	}
	hotspot_begin(java);
	thread->unwind.flags |= UNWIND_HOTSPOT;
}

static __always_inline void stack_v8_begin(struct thread_state *thread, uint32_t target_id)
{
	struct v8_thread *v8 = stack_storage(&v8_threads, BPF_LOCAL_STORAGE_GET_F_CREATE);
	const struct v8_row *row;

	if (!v8) {
		count_lost(target_id, LOST_V8);
		return;
	}
	v8_begin(v8);
	if (v8->row_epoch != thread->target_epoch || v8->target_id != target_id) {
		row = bpf_map_lookup_elem(&v8_rows, &target_id);
		if (!row)
			return;
		v8->row = *row;
		v8->target_id = target_id;
		v8->row_epoch = thread->target_epoch;
		__builtin_memset(v8->maps, 0, sizeof(v8->maps));
	}
	thread->unwind.flags |= UNWIND_V8;
}

/* Of the runtimes of TARGET_INTERPRETED. */
static __always_inline void stack_interpreted_forget(struct runtime_hashes *runtime)
{
	runtime->python = runtime->ruby = runtime->php = 0;
}

/* The thread's interpreter, as the table has it now, and no slot. False: it has none. */
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
	__builtin_memset(py->known, 0, sizeof(py->known));
	return true;
}

/*
 * A walk that the thread remembers, and where in Python it is, are a stack together. It comes through no other runtime's code, or it
 * would not be remembered. ABI_NO_SLOT: it is not known; what it is in is in thread->event then.
 */
static __always_inline uint32_t stack_python_slot(struct thread_state *thread,
						  const struct target_info *target,
						  uint64_t walk_id)
{
	struct stack_key key = {
		.target_id = target->id, .stack_id = walk_id, .scope = scope_node_of(thread)};
	struct python_thread *py = stack_storage(&python_threads, BPF_LOCAL_STORAGE_GET_F_CREATE);
	uint64_t known, name;
	uint32_t *found;

	if (!py) {
		/* What it is in is not known. */
		count_lost(target->id, LOST_FRAMES);
		return slot_without_stack(target->id);
	}
	if ((py->row_epoch != thread->target_epoch || py->target_id != target->id) &&
	    !stack_python_renew(py, target->id, thread->target_epoch))
		return ABI_NO_SLOT;
	python_follow(&py->row, py);
	thread->event.runtime.python = py->chain.hash;
	if (walk_id == ABI_NO_SLOT)
		return ABI_NO_SLOT;
	if (py->chain.hash)
		key.stack_id = unwind_mix_ids(walk_id, py->chain.hash);
	if (thread->event.runtime.ruby)
		key.stack_id = unwind_mix_ids(key.stack_id, thread->event.runtime.ruby);
	if (thread->event.runtime.php)
		key.stack_id = unwind_mix_ids(key.stack_id, thread->event.runtime.php);
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

/* What the thread is in into thread->event. False: there is no memory to follow it, and it is not known. */
static __always_inline bool stack_ruby_follow(struct thread_state *thread, uint32_t target_id)
{
	struct ruby_thread *ruby = stack_storage(&ruby_threads, BPF_LOCAL_STORAGE_GET_F_CREATE);
	const struct ruby_row *row;

	if (!ruby)
		return false;
	if (ruby->row_epoch != thread->target_epoch || ruby->target_id != target_id) {
		row = bpf_map_lookup_elem(&ruby_rows, &target_id);
		if (!row)
			return true;
		ruby->row = *row;
		ruby->target_id = target_id;
		ruby->row_epoch = thread->target_epoch;
	}
	ruby_follow(ruby);
	thread->event.runtime.ruby = ruby->chain.hash;
	return true;
}

/* As stack_ruby_follow(). */
static __always_inline bool stack_php_follow(struct thread_state *thread, uint32_t target_id)
{
	struct php_thread *php = stack_storage(&php_threads, BPF_LOCAL_STORAGE_GET_F_CREATE);
	const struct php_row *row;

	if (!php)
		return false;
	if (php->row_epoch != thread->target_epoch || php->target_id != target_id) {
		row = bpf_map_lookup_elem(&php_rows, &target_id);
		if (!row)
			return true;
		php->row = *row;
		php->target_id = target_id;
		php->row_epoch = thread->target_epoch;
	}
	php_follow(php);
	thread->event.runtime.php = php->chain.hash;
	return true;
}
#endif

/* A walk that the thread remembers, and the scope that it is in now, are a stack together. */
static __always_inline uint64_t scope_known_slot(struct thread_state *thread, uint32_t target_id,
						 uint64_t walk_id)
{
	struct stack_key key = {
		.target_id = target_id, .stack_id = walk_id, .scope = scope_node_of(thread)};
	uint32_t *found = walk_id != ABI_NO_SLOT ? bpf_map_lookup_elem(&stacks, &key) : NULL;

	(void)thread; /* without scopes */
	return found ? *found : ABI_NO_SLOT;
}

#ifndef MEMLEAKBPF_OLD_KERNEL
/* As stack_python_slot(), of Ruby and PHP as well. */
static __always_inline uint32_t stack_interpreted_slot(struct thread_state *thread,
						       const struct target_info *target,
						       uint64_t walk_id)
{
	stack_interpreted_forget(&thread->event.runtime);
	if ((target->flags & TARGET_RUBY && !stack_ruby_follow(thread, target->id)) ||
	    (target->flags & TARGET_PHP && !stack_php_follow(thread, target->id))) {
		count_lost(target->id, LOST_FRAMES);
		return slot_without_stack(target->id);
	}
	if (target->flags & TARGET_PYTHON)
		return stack_python_slot(thread, target, walk_id);
	if (walk_id != ABI_NO_SLOT && thread->event.runtime.ruby)
		walk_id = unwind_mix_ids(walk_id, thread->event.runtime.ruby);
	if (walk_id != ABI_NO_SLOT && thread->event.runtime.php)
		walk_id = unwind_mix_ids(walk_id, thread->event.runtime.php);
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
#ifndef MEMLEAKBPF_OLD_KERNEL
	if (target->flags & TARGET_INTERPRETED)
		known = stack_interpreted_slot(thread, target, known);
	else
#endif
		if (SCOPES)
		known = scope_known_slot(thread, target->id, known);
	if (known != ABI_NO_SLOT)
		return (uint32_t)known;
#ifndef MEMLEAKBPF_OLD_KERNEL
	if (!(target->flags & TARGET_INTERPRETED))
		stack_interpreted_forget(&thread->event.runtime);
	/*
	 * The frames of Java's or JavaScript's that a walk comes through are found out on the way. Without memory for that they are
	 * what any code without rows is.
	 */
	if (target->flags & TARGET_JAVA)
		stack_java_begin(thread, target->id);
	if (target->flags & TARGET_V8)
		stack_v8_begin(thread, target->id);
#endif
	return stack_slot_walked(flags, thread, target);
}

#endif

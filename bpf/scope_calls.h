/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --scope: the entry of a call, its return, and its thread's end. Only for bpf/scoped.bpf.c. */
#ifndef MEMLEAKBPF_BPF_SCOPE_CALLS_H
#define MEMLEAKBPF_BPF_SCOPE_CALLS_H

#include "bpf/current.h"
#include "bpf/regs.h"
#include "bpf/scope.h"

/* ---- tags --------------------------------------------------------------------------------- */

static __always_inline void scope_read_number(const struct scope_tag_spec *spec, uint64_t value,
					      struct scope_tag *tag)
{
	uint32_t shift = (64 - 8 * (uint32_t)spec->size) & 63;

	value <<= shift;
	tag->number = spec->is_signed ? (uint64_t)((int64_t)value >> shift) : value >> shift;
	tag->type = spec->is_hex      ? SCOPE_IS_HEX
		    : spec->is_signed ? SCOPE_IS_SIGNED
				      : SCOPE_IS_UNSIGNED;
}

static __always_inline void scope_read_tag(const struct pt_regs *ctx, uint32_t row,
					   struct scope_tag *tag)
{
	const struct scope_tag_spec *spec;
	uint64_t value, at = row, i;

	barrier_var(at);
	if (at >= SCOPE_SPECS)
		return;
	spec = (const struct scope_tag_spec *)&scope_specs[at];
	if (spec->kind == SCOPE_TAG_NONE)
		return;
	if (spec->kind == SCOPE_TAG_THREAD) {
		tag->number = (uint32_t)bpf_get_current_pid_tgid();
		tag->type = SCOPE_IS_UNSIGNED;
		return;
	}
	tag->type = SCOPE_IS_UNREAD;
	value = regs_argument(ctx, spec->arg);
	for (i = 0; i < SCOPE_STEPS && i < spec->steps; i++) {
		value += (uint64_t)spec->step[i];
		/* The last step leads to the string itself. */
		if (spec->kind == SCOPE_TAG_STRING && i + 1 == spec->steps)
			break;
		if (bpf_probe_read_user(&value, sizeof(value), (void *)value))
			return;
	}
	if (spec->kind == SCOPE_TAG_NUMBER)
		scope_read_number(spec, value, tag);
	else if (bpf_probe_read_user_str(tag->text, sizeof(tag->text), (void *)value) >= 0)
		tag->type = SCOPE_IS_STRING;
}

/* Is the tag one that is told apart? */
static __always_inline bool scope_tag_is_known(const struct scope_node_key *key)
{
	struct scope_node_key name = {.function = key->function, .tag = key->tag};
	uint32_t function = key->function, one = 1, *count;

	if (bpf_map_lookup_elem(&scope_tags_known, &name))
		return true;
	count = bpf_map_lookup_elem(&scope_tag_counts, &function);
	if (!count || *(volatile uint32_t *)count >= scope_config.tags ||
	    __sync_fetch_and_add(count, 1) >= scope_config.tags)
		return false;
	return !bpf_map_update_elem(&scope_tags_known, &name, &one, BPF_ANY);
}

static __always_inline struct scope_others *scope_others_of(const struct scope_node_key *key)
{
	struct scope_others_key of = {.target_id = key->target_id, .function = key->function};
	struct scope_others *there = bpf_map_lookup_elem(&scope_others, &of), *none;
	uint32_t zero = 0;

	if (there)
		return there;
	none = bpf_map_lookup_elem(&scope_no_others, &zero);
	if (none)
		bpf_map_update_elem(&scope_others, &of, none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&scope_others, &of);
}

/*
 * Notes a tag that is not told apart. Of two at this very moment one may be missed, as an estimate
 * can bear.
 */
static __always_inline void scope_note_other(const struct scope_node_key *key)
{
	struct scope_others *others = scope_others_of(key);
	const uint64_t *words = (const uint64_t *)&key->tag;
	uint64_t hash = 0, at;
	uint32_t i, rank;

	if (!others)
		return;
	for (i = 0; i < SCOPE_TAG_BYTES / 8; i++)
		hash = unwind_mix(hash, words[i]);
	at = hash >> (64 - SCOPE_SKETCH_BITS);
	barrier_var(at);
	if (at >= SCOPE_SKETCH)
		return;
	rank = 64 - SCOPE_SKETCH_BITS - scope_log2(hash & (~0ull >> SCOPE_SKETCH_BITS));
	if (others->most[at] < rank)
		others->most[at] = (uint8_t)rank;
}

/* ---- nodes -------------------------------------------------------------------------------- */

static __always_inline uint32_t scope_take_node(void)
{
	uint32_t number = 0;

	if (!bpf_map_pop_elem(&scope_free_nodes, &number))
		return number;
	if (*(volatile uint32_t *)&scope_shared.next_node >= SCOPE_NODES - 1)
		return 0;
	number = 1 + __sync_fetch_and_add(&scope_shared.next_node, 1);
	return number < SCOPE_NODES ? number : 0;
}

/* 0: no room. */
static __always_inline uint32_t scope_new_node(const struct scope_node_key *key)
{
	uint32_t number = scope_take_node(), *winner;
	struct scope_node *node = number ? bpf_map_lookup_elem(&scope_nodes, &number) : NULL;

	if (!node)
		return 0;
	node->key.parent = key->parent;
	node->key.function = key->function;
	node->key.tag = key->tag;
	*(volatile uint32_t *)&node->key.target_id = key->target_id;
	if (!bpf_map_update_elem(&scope_node_of_key, key, &number, BPF_NOEXIST))
		return number;
	node->key.target_id = 0;
	bpf_map_push_elem(&scope_free_nodes, &number, 0);
	winner = bpf_map_lookup_elem(&scope_node_of_key, key);
	return winner ? *winner : 0;
}

static __always_inline uint32_t scope_get_node(struct scope_node_key *key)
{
	uint32_t *found = bpf_map_lookup_elem(&scope_node_of_key, key);

	if (found)
		return *found;
	if (key->tag.type != SCOPE_IS_UNTAGGED && !scope_tag_is_known(key)) {
		struct scope_tag other = {.type = SCOPE_IS_OTHER};

		scope_note_other(key);
		key->tag = other;
		found = bpf_map_lookup_elem(&scope_node_of_key, key);
		if (found)
			return *found;
	}
	return scope_new_node(key);
}

static __always_inline bool scope_same(const struct scope_node *node,
				       const struct scope_node_key *key)
{
	const uint64_t *x = (const uint64_t *)&node->key.tag, *y = (const uint64_t *)&key->tag;
	uint32_t i;

	if (node->key.function != key->function)
		return false;
	for (i = 0; i < SCOPE_TAG_BYTES / 8; i++) {
		if (x[i] != y[i])
			return false;
	}
	return true;
}

/*
 * Is one of the open calls of this function and tag? 0 no, 1 yes, 2 the innermost one is. A
 * function of its own for the verifier's sake.
 */
__noinline int scope_is_inside(uint32_t row, uint32_t number)
{
	const struct scope_node *this = bpf_map_lookup_elem(&scope_nodes, &number), *node;
	struct scope_stack *stack = scope_stack_at(row);
	uint32_t i;

	if (!this || !stack)
		return 0;
	for (i = 0; i < SCOPE_DEPTH; i++) {
		struct scope_frame *frame = scope_frame_at(stack, (uint64_t)stack->depth - 1 - i);
		uint32_t other;

		if (!frame)
			return 0;
		other = frame->node;
		node = bpf_map_lookup_elem(&scope_nodes, &other);
		if (node && scope_same(node, &this->key))
			return i ? 1 : 2;
	}
	return 0;
}

/* ---- calls -------------------------------------------------------------------------------- */

/*
 * The node of a call that is entered on the stack; 0: no room. A call directly inside itself shares
 * the node.
 */
static __always_inline uint32_t scope_node_on(const struct scope_stack *stack,
					      struct scope_node_key *key)
{
	struct scope_frame *top =
		scope_frame_at((struct scope_stack *)stack, (uint64_t)stack->depth - 1);
	const struct scope_node *node;
	uint32_t number;

	if (!top)
		return scope_get_node(key);
	number = top->node;
	node = bpf_map_lookup_elem(&scope_nodes, &number);
	if (node && scope_same(node, key))
		return number;
	key->parent = number;
	return scope_get_node(key);
}

static __always_inline int scope_enter(struct pt_regs *ctx, union probe_cookie cookie)
{
	struct scope_node_key key = {.function = cookie.scope_function};
	struct scope_entry at = scope_entry_at(ctx);
	struct thread_state *thread = NULL;
	struct target_info target;
	struct scope_thread *t;
	struct scope_stack *stack;
	struct scope_frame *frame;
	struct scope_node *node;
	uint64_t sp = regs_sp(ctx), depth;
	uint32_t row, number;

	if (!current_target(&target, &thread) || target.flags & TARGET_VFORK)
		return 0;
	t = scope_thread_of(bpf_get_current_task_btf(), BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t)
		goto lost;
	row = scope_row_at(t, sp);
	if (row == ABI_NO_SLOT)
		row = scope_row_new(t, target.id, sp);
	stack = row != ABI_NO_SLOT ? scope_stack_at(row) : NULL;
	if (!stack)
		goto lost;
	if (stack->target_id != target.id) {
		stack->target_id = target.id;
		stack->depth = 0;
	}
	scope_close_over(stack, row, &at, true);
	key.target_id = target.id;
	scope_read_tag(ctx, cookie.scope_tag, &key.tag);
	depth = stack->depth;
	barrier_var(depth);
	if (depth >= SCOPE_DEPTH)
		goto lost;
	number = scope_node_on(stack, &key);
	node = number ? bpf_map_lookup_elem(&scope_nodes, &number) : NULL;
	if (!node)
		goto lost;
	frame = &stack->frames[depth];
	__builtin_memset(frame, 0, sizeof(*frame));
	frame->flags = (scope_is_inside(row, number) ? SCOPE_INNER : 0) |
		       (cookie.scope_tail ? SCOPE_TAIL : 0);
	frame->sp = sp;
	frame->ret = scope_caller(&at);
	frame->node = number;
	frame->seq = ++stack->seq;
	frame->start_ns = bpf_ktime_get_ns();
	__sync_fetch_and_add(&node->calls, 1);
	*(volatile uint32_t *)&stack->depth = (uint32_t)depth + 1;
	return 0;
lost:
	count_lost(target.id, LOST_SCOPES);
	return 0;
}

/* The row of this thread's present stack; NULL: it has none. */
static __always_inline struct scope_stack *scope_current(uint64_t sp, uint32_t *row)
{
	struct scope_thread *t = scope_thread_of(bpf_get_current_task_btf(), 0);

	*row = t ? scope_row_at(t, sp) : ABI_NO_SLOT;
	return *row != ABI_NO_SLOT ? scope_stack_at(*row) : NULL;
}

/*
 * At a return, where the stack pointer is the same as at the entry. Other functions' calls may end
 * there, too.
 */
static __always_inline int scope_leave(struct pt_regs *ctx)
{
	uint64_t sp = regs_sp(ctx);
	struct scope_stack *stack;
	uint32_t row, i;

	stack = scope_current(sp, &row);
	for (i = 0; stack && i < SCOPE_DEPTH; i++) {
		struct scope_frame *top = scope_frame_at(stack, (uint64_t)stack->depth - 1);

		if (!top || top->sp > sp)
			return 0;
		/* A call that has jumped to another returns together with it. */
		scope_close(row, top->sp == sp ? SCOPE_RETURNED : SCOPE_LEFT);
	}
	return 0;
}

/* A jump to another function: its return will end the call. */
static __always_inline int scope_tail(struct pt_regs *ctx)
{
	uint64_t sp = regs_sp(ctx);
	struct scope_stack *stack;
	struct scope_frame *top;
	uint32_t row;

	stack = scope_current(sp, &row);
	if (!stack)
		return 0;
	top = scope_frame_at(stack, (uint64_t)stack->depth - 1);
	if (top && top->sp == sp)
		top->flags |= SCOPE_TAIL;
	return 0;
}

/* The thread has ended, or has become another program: none of its calls will return. */
static __always_inline int scope_thread_ends(struct task_struct *task)
{
	struct scope_thread *t = scope_thread_of(task, 0);
	uint32_t i, n;

	if (!t)
		return 0;
	for (i = 0; i < SCOPE_STACKS && i < t->count; i++) {
		uint32_t row = t->rows[i];
		struct scope_stack *stack = scope_stack_at(row);

		for (n = 0; n < SCOPE_DEPTH && stack && stack->depth; n++)
			scope_close(row, SCOPE_LEFT);
		bpf_map_push_elem(&scope_free_rows, &row, 0);
	}
	t->count = 0;
	bpf_task_storage_delete(&scope_threads, task);
	return 0;
}

#endif

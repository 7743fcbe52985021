/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * --scope: the open calls, on a thread, of the functions that somebody has named.
 *
 * There are no return probes. Their trampoline on the stack would end a program that an exception
 * passes, or that returns in another order than it called (coroutines). A call ends at a probe on
 * one of the function's `ret` instructions. A call left by longjmp, an exception, or a jump to
 * another function ends when something happens further up the same stack. That event is counted
 * afterwards, so no block counts for a call that is over.
 *
 * A thread may have several stacks: coroutines, or one for signals. Their mappings tell them apart.
 */
#ifndef MEMLEAKBPF_BPF_SCOPE_H
#define MEMLEAKBPF_BPF_SCOPE_H

#include "bpf/kernel_read.h"
#include "bpf/loss.h"
#include "bpf/regs.h"
#include "bpf/scope_books.h"
#include "bpf/thread.h"

#ifndef MEMLEAKBPF_SCOPES
#define scope_node_of(thread)	    0
#define scope_mark_of(thread)	    0
#define scope_publish(slot, node)   ((void)0)
#define scope_look(ctx, thread, id) true
#define scope_freed(ctx, block)	    ((void)0)
#else

/* The stacks of a thread that have, or had, open calls. */
struct scope_thread {
	uint32_t count;
	uint32_t target_id;
	uint32_t rows[SCOPE_STACKS];
	uint64_t other_lo, other_hi; /* another mapping, which has no open call */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct scope_thread);
} scope_threads __weak SEC(".maps");

/* Rows of scope_stacks that threads have given back. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(key, 0);
	__type(value, uint32_t);
	__uint(max_entries, 1);
} scope_free_rows __weak SEC(".maps");

/* The nodes; user space has them mapped, and gives those of ended targets back. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, uint32_t);
	__type(value, struct scope_node);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
} scope_nodes __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(key, 0);
	__type(value, uint32_t);
	__uint(max_entries, 1);
} scope_free_nodes __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct scope_node_key);
	__type(value, uint32_t);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} scope_node_of_key __weak SEC(".maps");

/* How many different tags a function has: row 0. The tags: by a key without target and parent. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, uint32_t);
	__type(value, uint32_t);
	__uint(max_entries, 1);
} scope_tag_counts __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct scope_node_key);
	__type(value, uint32_t);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} scope_tags_known __weak SEC(".maps");

/*
 * The tags beyond these; and the initial value of a row, which is too large for the programs'
 * stack.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct scope_others_key);
	__type(value, struct scope_others);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} scope_others __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, uint32_t);
	__type(value, struct scope_others);
	__uint(max_entries, 1);
} scope_no_others __weak SEC(".maps");

/* The node of a slot's stack; 0: none. User space has it mapped. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, uint32_t);
	__type(value, uint32_t);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
} slot_scopes __weak SEC(".maps");

static __always_inline uint32_t scope_node_of(const struct thread_state *thread)
{
	return thread->scope;
}

static __always_inline uint64_t scope_mark_of(const struct thread_state *thread)
{
	return thread->scope_mark;
}

static __always_inline void scope_publish(uint32_t slot, uint32_t node)
{
	uint32_t *of = bpf_map_lookup_elem(&slot_scopes, &slot);

	if (of)
		*of = node;
}

static __always_inline struct scope_stack *scope_stack_at(uint32_t row)
{
	return bpf_map_lookup_elem(&scope_stacks, &row);
}

/* ---- how a call ends ---------------------------------------------------------------------- */

enum scope_end { SCOPE_RETURNED, SCOPE_LEFT };

/* floor(log2(n)), 0 for 0. */
static __always_inline uint32_t scope_log2(uint64_t n)
{
	uint32_t log = 0;

#define SCOPE_LOG(bits)        \
	if (n >> (bits)) {     \
		n >>= (bits);  \
		log += (bits); \
	}
	SCOPE_LOG(32)
	SCOPE_LOG(16)
	SCOPE_LOG(8)
	SCOPE_LOG(4)
	SCOPE_LOG(2)
	SCOPE_LOG(1)
#undef SCOPE_LOG
	return log;
}

static __always_inline void scope_add(struct scope_sums *to, const struct scope_sums *from)
{
	__sync_fetch_and_add(&to->alloc_bytes, from->alloc_bytes);
	__sync_fetch_and_add(&to->alloc_count, from->alloc_count);
	__sync_fetch_and_add(&to->free_bytes, from->free_bytes);
	__sync_fetch_and_add(&to->free_count, from->free_count);
	if (config.sample_bytes)
		__sync_fetch_and_add(&to->variance, from->variance);
}

static __always_inline void scope_add_bucket(uint64_t *buckets, uint64_t value)
{
	uint64_t at = scope_log2(value);

	barrier_var(at);
	if (at < SCOPE_BUCKETS)
		__sync_fetch_and_add(&buckets[at], 1);
}

static __always_inline void scope_add_kept(struct scope_node *node, uint64_t bytes)
{
	uint32_t i;

	if (!bytes) {
		__sync_fetch_and_add(&node->kept_nothing, 1);
		return;
	}
	for (i = 0; i < SCOPE_VALUES; i++) {
		uint64_t there = node->kept[i].bytes;

		if (!there)
			there = __sync_val_compare_and_swap(&node->kept[i].bytes, 0, bytes)
					?: bytes;
		if (there == bytes) {
			__sync_fetch_and_add(&node->kept[i].calls, 1);
			return;
		}
	}
	scope_add_bucket(node->kept_others, bytes);
}

static __always_inline void scope_add_time(struct scope_node *node, uint64_t ns, bool inner)
{
	uint64_t max = node->time_max;
	uint32_t i;

	__sync_fetch_and_add(&node->returned, 1);
	if (!inner)
		__sync_fetch_and_add(&node->time_sum, ns);
	scope_add_bucket(node->times, ns);
	for (i = 0; i < 4 && ns > max; i++)
		max = __sync_val_compare_and_swap(&node->time_max, max, ns);
}

/* Ends the innermost call of the stack. A function of its own: it comes in loops. */
__weak __noinline int scope_close(uint32_t row, uint32_t end)
{
	struct scope_stack *stack = scope_stack_at(row);
	struct scope_frame *frame, *outer;
	struct scope_node *node;
	struct scope_sums all;
	uint32_t number;
	uint64_t depth;

	if (!stack)
		return 0;
	depth = stack->depth;
	frame = scope_frame_at(stack, depth - 1);
	if (!frame)
		return 0;
	/* First: a thread that frees a block from now on finds the call around this one. */
	*(volatile uint32_t *)&stack->depth = (uint32_t)depth - 1;
	all = frame->own;
	all.alloc_bytes += frame->nested.alloc_bytes;
	all.alloc_count += frame->nested.alloc_count;
	all.free_bytes += frame->nested.free_bytes;
	all.free_count += frame->nested.free_count;
	all.variance += frame->nested.variance;
	outer = scope_frame_at(stack, depth - 2);
	if (outer)
		scope_add(&outer->nested, &all);
	number = frame->node;
	node = bpf_map_lookup_elem(&scope_nodes, &number);
	if (!node || node->key.target_id != stack->target_id)
		return 0;
	scope_add(&node->own, &frame->own);
	if (!(frame->flags & SCOPE_INNER))
		scope_add(&node->sums, &all);
	/* A free at that very moment may have been counted for a call that was over. */
	if (!config.sample_bytes)
		scope_add_kept(node, (int64_t)(all.alloc_bytes - all.free_bytes) > 0
					     ? all.alloc_bytes - all.free_bytes
					     : 0);
	if (end == SCOPE_RETURNED)
		scope_add_time(node, bpf_ktime_get_ns() - frame->start_ns,
			       frame->flags & SCOPE_INNER);
	else if (frame->flags & SCOPE_TAIL)
		__sync_fetch_and_add(&node->tailed, 1);
	else
		__sync_fetch_and_add(&node->left, 1);
	return 0;
}

/* The entry of a function: its stack pointer, and on aarch64 its return address. */
struct scope_entry {
	uint64_t sp, lr;
};

static __always_inline struct scope_entry scope_entry_at(const struct pt_regs *ctx)
{
	struct scope_entry at = {.sp = regs_sp(ctx)};

#if !defined(__TARGET_ARCH_x86)
	at.lr = regs_lr(ctx);
#endif
	return at;
}

/* The return address; 0: unknown. */
static __always_inline uint64_t scope_caller(const struct scope_entry *at)
{
#if defined(__TARGET_ARCH_x86)
	uint64_t caller = 0;

	return bpf_probe_read_user(&caller, sizeof(caller), (void *)at->sp) ? 0 : caller;
#else
	return at->lr;
#endif
}

/*
 * Is the call's return address still on the stack? If the call was left without a return, the next
 * call from there overwrites it. Another tool's return probe puts the kernel's trampoline in its
 * place.
 */
static __always_inline bool scope_is_on_stack(const struct scope_frame *frame)
{
#if defined(__TARGET_ARCH_x86)
	struct task_struct *task = kernel_current_task();
	uint64_t there = 0, trampoline;

	if (bpf_probe_read_user(&there, sizeof(there), (void *)frame->sp))
		return false;
	if (there == frame->ret)
		return true;
	trampoline = kernel_read(task, mm, uprobes_state.xol_area, vaddr);
	return trampoline && there == trampoline;
#else
	(void)frame;
	return true;
#endif
}

/*
 * Has the call ended, now that a function is entered? At the same place on the stack the call may
 * have jumped to that function: both then return to the same place. `scope`: the function's calls
 * are scopes, none of which may be called twice from one place.
 */
static __always_inline bool scope_is_over(const struct scope_frame *frame,
					  const struct scope_entry *at, bool scope)
{
	if (frame->sp != at->sp)
		return frame->sp < at->sp || !scope_is_on_stack(frame);
	if (scope && !(frame->flags & SCOPE_TAIL))
		return true;
	return frame->ret != scope_caller(at);
}

/* Ends the calls that are over. */
static __always_inline void scope_close_over(struct scope_stack *stack, uint32_t row,
					     const struct scope_entry *at, bool scope)
{
	uint32_t i;

	for (i = 0; i < SCOPE_DEPTH; i++) {
		struct scope_frame *top = scope_frame_at(stack, (uint64_t)stack->depth - 1);

		if (!top || !scope_is_over(top, at, scope))
			return;
		scope_close(row, SCOPE_LEFT);
	}
}

/* ---- a thread's stacks --------------------------------------------------------------------- */

static __always_inline struct scope_thread *scope_thread_of(struct task_struct *task,
							    uint64_t flags)
{
	return bpf_task_storage_get(&scope_threads, task, NULL, flags);
}

struct scope_range {
	uint64_t lo, hi;
};

static long scope_take_range(struct task_struct *task, struct vm_area_struct *vma, void *arg)
{
	struct scope_range *range = arg;

	(void)task;
	range->lo = vma->vm_start;
	range->hi = vma->vm_end;
	return 0;
}

/* So much around the stack pointer, when others change mappings and the mapping cannot be had. */
#define SCOPE_REACH (256u << 10)

/* The mapping that holds `sp`. Without bpf_find_vma() (before 5.17) all is one stack. */
static __always_inline void scope_find_range(uint64_t sp, struct scope_range *out)
{
	out->lo = 0;
	out->hi = ~0ull;
	if (!scope_config.find_vma)
		return;
	if (!bpf_find_vma(bpf_get_current_task_btf(), sp, scope_take_range, out, 0) &&
	    out->hi != ~0ull)
		return;
	out->lo = sp - SCOPE_REACH;
	out->hi = sp + SCOPE_REACH;
}

/* The thread's row that holds the stack pointer; ABI_NO_SLOT: none. */
static __always_inline uint32_t scope_known_row(const struct scope_thread *t, uint64_t sp)
{
	uint32_t i;

	for (i = 0; i < SCOPE_STACKS && i < t->count; i++) {
		struct scope_stack *stack = scope_stack_at(t->rows[i]);

		if (stack && sp >= stack->lo && sp < stack->hi)
			return t->rows[i];
	}
	return ABI_NO_SLOT;
}

/* Has a stack grown? It is the same one if it ends at the same place. */
static __always_inline uint32_t scope_grown_row(const struct scope_thread *t,
						const struct scope_range *range)
{
	uint32_t i;

	for (i = 0; i < SCOPE_STACKS && i < t->count; i++) {
		struct scope_stack *stack = scope_stack_at(t->rows[i]);

		if (!stack || stack->hi != range->hi)
			continue;
		stack->lo = range->lo;
		return t->rows[i];
	}
	return ABI_NO_SLOT;
}

/* The row of the stack that holds `sp`; ABI_NO_SLOT: none. */
static __always_inline uint32_t scope_row_at(struct scope_thread *t, uint64_t sp)
{
	uint32_t row = scope_known_row(t, sp);
	struct scope_range range;

	if (row != ABI_NO_SLOT || (sp >= t->other_lo && sp < t->other_hi))
		return row;
	scope_find_range(sp, &range);
	row = scope_grown_row(t, &range);
	if (row == ABI_NO_SLOT) {
		t->other_lo = range.lo;
		t->other_hi = range.hi;
	}
	return row;
}

static __always_inline uint32_t scope_take_row(void)
{
	uint32_t row = ABI_NO_SLOT;

	if (!bpf_map_pop_elem(&scope_free_rows, &row))
		return row;
	/* A cheap test once all are out. */
	if (*(volatile uint32_t *)&scope_shared.next_row >= SCOPE_ROWS)
		return ABI_NO_SLOT;
	row = __sync_fetch_and_add(&scope_shared.next_row, 1);
	return row < SCOPE_ROWS ? row : ABI_NO_SLOT;
}

/* One of the thread's rows without an open call; or a new one. ABI_NO_SLOT: no room. */
static __always_inline uint32_t scope_row_to_use(struct scope_thread *t)
{
	uint32_t i, row;
	uint64_t at;

	for (i = 0; i < SCOPE_STACKS && i < t->count; i++) {
		struct scope_stack *stack = scope_stack_at(t->rows[i]);

		if (stack && !stack->depth)
			return t->rows[i];
	}
	at = t->count;
	barrier_var(at);
	if (at >= SCOPE_STACKS)
		return ABI_NO_SLOT;
	row = scope_take_row();
	if (row == ABI_NO_SLOT)
		return row;
	t->rows[at] = row;
	t->count = at + 1;
	return row;
}

/* The same for a stack that gets its first call. */
static __always_inline uint32_t scope_row_new(struct scope_thread *t, uint32_t target_id,
					      uint64_t sp)
{
	uint32_t row = scope_row_to_use(t);
	struct scope_stack *stack = row != ABI_NO_SLOT ? scope_stack_at(row) : NULL;
	struct scope_range range;

	if (!stack)
		return ABI_NO_SLOT;
	scope_find_range(sp, &range);
	if (range.lo < t->other_hi && range.hi > t->other_lo)
		t->other_lo = t->other_hi = 0;
	stack->lo = range.lo;
	stack->hi = range.hi;
	stack->target_id = target_id;
	stack->depth = 0;
	return row;
}

/* The mark of the call around a function that is entered there; 0: none. A function of its own. */
__weak __noinline uint64_t scope_find(uint64_t sp, uint64_t lr, uint32_t target_id)
{
	struct scope_thread *t = scope_thread_of(bpf_get_current_task_btf(), 0);
	struct scope_entry at = {.sp = sp, .lr = lr};
	struct scope_stack *stack;
	struct scope_frame *top;
	uint32_t row;

	if (!t)
		return 0;
	row = scope_row_at(t, sp);
	stack = row != ABI_NO_SLOT ? scope_stack_at(row) : NULL;
	if (!stack || stack->target_id != target_id)
		return 0;
	scope_close_over(stack, row, &at, false);
	top = scope_frame_at(stack, (uint64_t)stack->depth - 1);
	return top ? scope_mark(row, top->seq) : 0;
}

/*
 * A block with that mark is freed: calls that are over by then have kept it. A function of its own.
 */
__weak __noinline int scope_settle(uint64_t mark, uint64_t sp, uint64_t lr)
{
	uint32_t row = scope_mark_row(mark);
	struct scope_stack *stack = mark & SCOPE_MARK ? scope_stack_at(row) : NULL;
	struct scope_entry at = {.sp = sp, .lr = lr};

	/* Not by another thread: that is on another stack. */
	if (stack && stack->depth && sp >= stack->lo && sp < stack->hi)
		scope_close_over(stack, row, &at, false);
	return 0;
}

/* The same, at the entry of a function that frees the block. */
static __always_inline void scope_freed(const struct pt_regs *ctx, const struct live_value *block)
{
	struct scope_entry at = scope_entry_at(ctx);

	if (block->weighed & SCOPE_MARK)
		scope_settle(block->weighed, at.sp, at.lr);
	scope_count_free(block);
}

/*
 * Finds the call around the present event, and fills in thread->scope and scope_mark. False: it is
 * not to be recorded (--scope-only, and there is no call).
 */
static __always_inline bool scope_look(const struct pt_regs *ctx, struct thread_state *thread,
				       uint32_t target_id)
{
	struct scope_entry at = scope_entry_at(ctx);
	uint64_t mark = scope_find(at.sp, at.lr, target_id);
	struct scope_stack *stack = mark ? scope_stack_at(scope_mark_row(mark)) : NULL;
	struct scope_frame *top = stack ? scope_frame_at(stack, (uint64_t)stack->depth - 1) : NULL;

	thread->scope = top ? top->node : 0;
	thread->scope_mark = top ? mark : 0;
	return top || !SCOPES_ONLY;
}

#endif

#endif

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Guard sampling (docs/guard.md): the probes of the guards' stubs, and a check of each page fault
 * of a target's threads. Bad accesses are kept by kind and stacks in `bad_accesses`: a loop of them
 * costs one row.
 */
/* Reads the stacks of runtimes from the start: bpf/managed.h. */
#define MEMLEAKBPF_MANAGED

#include "bpf/current.h"
#include "bpf/guard_abi.h"
#include "bpf/own_stack.h"
#include "bpf/regs.h"
#include "bpf/stack.h"

struct guard_span guard_span = {};
struct guard_right guard_rights[GUARD_ABI_RIGHTS] = {};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, uint32_t);
	__type(value, struct guard_row);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} guard_rows SEC(".maps");

/*
 * A target's rows are one behind the other, from guard_row.first on, as places are used in turn. A
 * look into a hash table would cost 0.3 us, most of it waiting for memory that nobody has touched
 * since the place's last block.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, GUARD_ABI_BLOCKS);
	__type(key, uint32_t);
	__type(value, struct guard_block);
} guard_blocks SEC(".maps");

/* By target id. The target maps its array, so no two have one: what a process maps it may change. */
struct guard_said {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, GUARD_ABI_SAID);
	__type(key, uint32_t);
	__type(value, uint64_t);
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, uint32_t);
	__array(values, struct guard_said);
} guard_saids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct bad_access_key);
	__type(value, struct bad_access_value);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} bad_accesses SEC(".maps");

/* As user/model/bad_access.h has them, which user/patch/guarded.c asserts. */
enum {
	KIND_OVERFLOW,
	KIND_UNDERFLOW,
	KIND_USE_AFTER_FREE,
	KIND_SLACK_OVERWRITE,
	KIND_DOUBLE_FREE,
	KIND_INVALID_FREE,
};

/* An address's place in the pool. */
struct guarded {
	struct guard_row *row;
	uint64_t place;
	uint64_t page; /* of the place's data */
	struct guard_abi_meta meta;
};

static __always_inline void guard_count_lost(struct guard_row *row)
{
	__sync_fetch_and_add(&row->lost, 1);
}

/* NULL: the target has no guards. */
static __always_inline struct guard_row *guard_row_of(const struct target_info *target)
{
	return bpf_map_lookup_elem(&guard_rows, &target->id);
}

/*
 * Fills in all but meta. False: the address is not in the target's pool; or `pc` is in the stubs,
 * which touch it by right and most often. `pc` 0: is nowhere.
 */
static __always_inline bool guarded_place(struct guard_row *row, uint64_t address, uint64_t pc,
					  struct guarded *out)
{
	uint64_t place;

	if (!row || (pc && pc - row->code < row->code_size))
		return false;
	place = (address - row->pool) >> GUARD_ABI_PLACE_BITS;
	if (address < row->pool || place >= row->count)
		return false;
	out->row = row;
	out->place = place;
	out->page = row->pool + (place << GUARD_ABI_PLACE_BITS) + GUARD_ABI_DATA;
	return true;
}

/* Fills in meta, too. False also if it cannot be read. */
static __always_inline bool guarded_find(struct guard_row *row, uint64_t address, uint64_t pc,
					 struct guarded *out)
{
	return guarded_place(row, address, pc, out) &&
	       !bpf_probe_read_user(&out->meta, sizeof(out->meta),
				    (void *)(out->row->metas + out->place * sizeof(out->meta)));
}

/*
 * Begins the place's next block, in the row of the last one. The life is 0 meanwhile: readers of
 * the slots look at it afterwards as well (guarded_slots()).
 */
static __always_inline void guarded_block_begin(struct guard_block *block, uint64_t life,
						uint32_t alloc_slot)
{
	*(volatile uint64_t *)&block->life = 0;
	*(volatile uint32_t *)&block->alloc_slot = alloc_slot;
	*(volatile uint32_t *)&block->free_slot = ABI_NO_SLOT;
	*(volatile uint64_t *)&block->freed_ns = 0;
	*(volatile uint32_t *)&block->again = 0;
	*(volatile uint64_t *)&block->life = life;
}

/*
 * The slots of the life that guarded_block() has found; none if the next one has begun meanwhile.
 */
static __always_inline void guarded_slots(const struct guard_block *block, uint64_t life,
					  struct bad_access_key *key)
{
	key->alloc_slot = *(const volatile uint32_t *)&block->alloc_slot;
	key->free_slot = *(const volatile uint32_t *)&block->free_slot;
	if (*(const volatile uint64_t *)&block->life != life)
		key->alloc_slot = key->free_slot = ABI_NO_SLOT;
}

/* The place's row. Never NULL, but the verifier does not know that. */
static __always_inline struct guard_block *guarded_row(const struct guarded *at)
{
	uint32_t number = (uint32_t)(at->row->first + at->place);

	return bpf_map_lookup_elem(&guard_blocks, &number);
}

/*
 * The row of the place's block; NULL as above, and for a block that only an earlier tool has seen
 * begin.
 */
static __always_inline struct guard_block *guarded_block(const struct guarded *at, uint64_t life)
{
	struct guard_block *block = guarded_row(at);

	if (block && block->life != life)
		guarded_block_begin(block, life, ABI_NO_SLOT);
	return block;
}

/*
 * The slot of the stack at the registers, as free_slot() of bpf/badfree.h. `thread` may be NULL.
 * ABI_NO_SLOT without room.
 */
static __always_inline uint32_t guard_stack(const struct pt_regs *regs, uint64_t pc, uint32_t flags,
					    const struct target_info *target,
					    struct thread_state *thread)
{
	if (!thread)
		thread = current_thread_new(target);
	if (!thread)
		return ABI_NO_SLOT;
	thread->event.arena = 0;
	return stack_slot(regs, pc, flags, thread, target);
}

/* Counts it. False: there is no room, which is counted. */
static __noinline int guard_report(const struct bad_access_key *key, uint64_t block, uint64_t size,
				   int64_t offset, int32_t byte)
{
	struct bad_access_value first = {.block = block,
					 .size = size,
					 .offset = offset,
					 .value = byte,
					 .tid = (uint32_t)bpf_get_current_pid_tgid()};
	struct bad_access_value *value;

	if (!key)
		return 0;
	value = bpf_map_lookup_elem(&bad_accesses, key);
	if (!value) {
		bpf_get_current_comm(first.comm, sizeof(first.comm));
		bpf_map_update_elem(&bad_accesses, key, &first, BPF_NOEXIST);
		value = bpf_map_lookup_elem(&bad_accesses, key);
	}
	if (!value)
		return 0;
	__sync_fetch_and_add(&value->count, 1);
	return 1;
}

static __always_inline uint64_t guard_stub_pc(const struct guard_row *row, uint64_t number)
{
	return number < GUARD_ABI_STUBS ? row->pcs[number & (GUARD_ABI_STUBS - 1)] : 0;
}

/* ---- the stubs' probes -------------------------------------------------------------------- */

/*
 * A block begins that the program has not seen yet. Arguments: block, size, number of the stub,
 * life.
 */
static __always_inline int guard_begun(const struct pt_regs *regs, struct guard_row *row,
				       const struct target_info *target,
				       struct thread_state *thread)
{
	uint64_t life = regs_argument(regs, 4);
	struct guard_block *block;
	struct guarded at = {};
	uint32_t slot;

	if (!guarded_place(row, regs_argument(regs, 1), 0, &at))
		return 0;
	block = guarded_row(&at);
	/* A fault may come twice, if the page could not be had at once. */
	if (!block || block->life == life)
		return 0;
	__sync_fetch_and_add(&at.row->guarded, 1);
	slot = guard_stack(regs, guard_stub_pc(at.row, regs_argument(regs, 3)), 0, target, thread);
	guarded_block_begin(block, life, slot);
	return 0;
}

/*
 * The clock takes 0.1 us, more than most of the work for a block: once in a tick is often enough.
 */
static __always_inline uint64_t guard_now_ns(struct guard_row *row)
{
	uint64_t ticks = bpf_jiffies64();

	if (*(volatile uint64_t *)&row->ticks != ticks) {
		*(volatile uint64_t *)&row->ticks_ns = bpf_ktime_get_ns();
		*(volatile uint64_t *)&row->ticks = ticks;
	}
	return *(volatile uint64_t *)&row->ticks_ns;
}

/*
 * The number of the thread's seccomp filters, and one, as guard_pool.filters has it. In strict mode
 * it is the number of no filters.
 */
static __always_inline uint64_t guard_filters(void)
{
	const struct task_struct *task = bpf_get_current_task_btf();

	if (!bpf_core_field_exists(task->seccomp.mode))
		return 1;
	if (!task->seccomp.mode)
		return 1;
	if (task->seccomp.mode != 2 || !bpf_core_field_exists(task->seccomp.filter_count))
		return GUARD_ABI_SAID_MAX;
	return 1 + (uint64_t)task->seccomp.filter_count.counter;
}

/* No helper writes to a process's memory on a kernel that is locked down; a map may be mapped there. */
static __always_inline void guard_say(const struct target_info *target, const struct guarded *at,
				      uint64_t life)
{
	uint32_t place = (uint32_t)at->place;
	uint64_t filters = guard_filters();
	uint64_t *word;
	void *said;

	if (filters > GUARD_ABI_SAID_MAX)
		filters = GUARD_ABI_SAID_MAX;
	if (filters > *(volatile uint64_t *)&at->row->filters)
		*(volatile uint64_t *)&at->row->filters = filters;
	said = bpf_map_lookup_elem(&guard_saids, &target->id);
	if (!said)
		return;
	word = bpf_map_lookup_elem(said, &place);
	if (word)
		*(volatile uint64_t *)word = life << GUARD_ABI_SAID_BITS | filters;
}

/* A block is about to end. Arguments: block, third the number of the stub, fourth the life. */
static __always_inline int guard_ended(struct pt_regs *ctx, const struct target_info *target,
				       struct thread_state *thread)
{
	struct guard_block *block;
	struct guarded at = {};
	uint32_t slot;

	if (!guarded_place(guard_row_of(target), regs_argument(ctx, 1), 0, &at))
		return 0;
	__sync_fetch_and_add(&at.row->freed, 1);
	guard_say(target, &at, regs_argument(ctx, 4));
	slot = guard_stack(ctx, guard_stub_pc(at.row, regs_argument(ctx, 3)), 0, target, thread);
	block = guarded_row(&at);
	if (!block)
		return 0;
	if (block->life != regs_argument(ctx, 4)) {
		__sync_fetch_and_add(&at.row->unseen, 1);
		guarded_block_begin(block, regs_argument(ctx, 4), ABI_NO_SLOT);
	}
	block->free_slot = slot;
	block->freed_ns = guard_now_ns(at.row);
	return 0;
}

/* A bad free. Arguments: the address, what is wrong with it, the number of the stub. */
static __always_inline int guard_bad(struct pt_regs *ctx, const struct target_info *target,
				     struct thread_state *thread)
{
	uint64_t address = regs_argument(ctx, 1), wrong = regs_argument(ctx, 2), begins;
	struct bad_access_key key = {
		.alloc_slot = ABI_NO_SLOT, .free_slot = ABI_NO_SLOT, .touch_slot = ABI_NO_SLOT};
	struct guard_block *block = NULL;
	struct guarded at = {};
	int32_t byte = -1;
	int64_t offset;
	uint32_t slot;

	if (!guarded_find(guard_row_of(target), address, 0, &at))
		return 0;
	key.target_id = target->id;
	slot = guard_stack(ctx, guard_stub_pc(at.row, regs_argument(ctx, 3)), 0, target, thread);
	begins = at.page + at.meta.offset;
	offset = (int64_t)(address - begins);
	/* No block has ever been there. */
	if (at.meta.state == GUARD_ABI_EMPTY) {
		begins = address;
		offset = 0;
		at.meta.size = 0;
	} else {
		block = guarded_block(&at, at.meta.life);
		if (block)
			guarded_slots(block, at.meta.life, &key);
	}
	/*
	 * One write past the end changes the bytes there, and touches the page behind them: the
	 * touch has been told.
	 */
	if (wrong == GUARD_ABI_CHANGED && block &&
	    *(volatile uint64_t *)&block->told == at.meta.life)
		return 0;
	if (wrong == GUARD_ABI_CHANGED) {
		key.kind = KIND_SLACK_OVERWRITE;
		key.free_slot = slot;
		offset = at.meta.changed_at;
		byte = at.meta.changed_to;
	} else {
		key.kind = wrong == GUARD_ABI_DOUBLE_FREE ? KIND_DOUBLE_FREE : KIND_INVALID_FREE;
		key.touch_slot = slot;
	}
	if (!guard_report(&key, begins, at.meta.size, offset, byte))
		guard_count_lost(at.row);
	return 0;
}

/* One program for all of a stub's probes, for the reason in bpf/alloc.bpf.c. */
SEC("uprobe")
int guard_probed(struct pt_regs *ctx)
{
	uint64_t what = bpf_get_attach_cookie(ctx);
	struct thread_state *thread = NULL;
	struct target_info target;

	use_own_stack();
	if (!current_target(&target, &thread))
		return 0;
	switch (what) {
	case GUARD_ABI_TELLS_BEGIN:
		return guard_begun(ctx, guard_row_of(&target), &target, thread);
	case GUARD_ABI_TELLS_END:
		return guard_ended(ctx, &target, thread);
	default:
		return guard_bad(ctx, &target, thread);
	}
}

/* ---- page faults -------------------------------------------------------------------------- */

/*
 * A rightful touch: a copy on write after a fork, the first touch, or an address where no block has
 * been.
 */
static __always_inline bool touch_is_right(const struct guarded *at, uint64_t address)
{
	switch (at->meta.state) {
	case GUARD_ABI_LIVE:
		return address - at->page < GUARD_ABI_PAGE;
	case GUARD_ABI_FREED:
	case GUARD_ABI_GONE:
		return false;
	default:
		return true;
	}
}

/*
 * True: the first touch of this life. Later faults on its page tell that the first one was a read:
 * a page that has been written to faults no more.
 */
static __always_inline bool touch_is_first(struct guard_block *block, uint64_t life,
					   uint64_t address)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
	uint64_t told = block->told;

	if (told != life && __sync_val_compare_and_swap(&block->told, told, life) == told) {
		block->touched = address;
		block->touch_tid = tid;
		return true;
	}
	if (block->touched / GUARD_ABI_PAGE == address / GUARD_ABI_PAGE)
		block->again |= block->touch_tid == tid ? GUARD_AGAIN_SAME : GUARD_AGAIN_OTHER;
	return false;
}

/* In a frame of its own, which ends before the walk: bpf/badfree.h. */
static __noinline int touch_tell(const struct bad_access_key *key, uint32_t place, uint64_t life,
				 uint64_t address)
{
	struct guard_touch_event event = {
		.header = {.type = EVENT_GUARD_TOUCH},
		.place = place,
		.life = life,
		.address = address,
	};

	if (!key)
		return 0;
	event.key = *key;
	event.header.target_id = key->target_id;
	event.header.time_ns = bpf_ktime_get_ns();
	/* Without this event nobody learns whether it was a read or a write. */
	bpf_ringbuf_output(&events, &event, sizeof(event), 0);
	return 0;
}

static __always_inline int guard_touched(const struct pt_regs *regs, uint64_t address,
					 struct guard_row *row, const struct target_info *target,
					 struct thread_state *thread)
{
	struct bad_access_key key = {};
	struct guard_block *block;
	struct guarded at = {};
	uint64_t begins;

	if (!guarded_find(row, address, regs_ip(regs), &at))
		return 0;
	key.target_id = target->id;
	if (at.meta.state == GUARD_ABI_BUSY) {
		__sync_fetch_and_add(&at.row->amid, 1);
		key.kind = GUARD_TOUCHED_AMID;
		return touch_tell(&key, (uint32_t)at.place, at.meta.life, address);
	}
	if (touch_is_right(&at, address))
		return 0;
	block = guarded_block(&at, at.meta.life);
	if (!block || !touch_is_first(block, at.meta.life, address))
		return 0;
	begins = at.page + at.meta.offset;
	if (at.meta.state != GUARD_ABI_LIVE)
		key.kind = KIND_USE_AFTER_FREE;
	else
		key.kind = address < begins ? KIND_UNDERFLOW : KIND_OVERFLOW;
	guarded_slots(block, at.meta.life, &key);
	if (at.meta.state == GUARD_ABI_LIVE)
		key.free_slot = ABI_NO_SLOT;
	key.touch_slot = guard_stack(regs, 0, UNWIND_INSIDE, target, thread);
	if (!guard_report(&key, begins, at.meta.size, (int64_t)(address - begins), -1))
		guard_count_lost(at.row);
	touch_tell(&key, (uint32_t)at.place, at.meta.life, address);
	return 0;
}

/* Does the stub touch it, to make or to end a block? Most faults here are such. */
static __always_inline bool touch_is_stubs(const struct guard_right *right, uint64_t address,
					   uint64_t pc)
{
	return address - *(volatile uint64_t *)&right->pool < *(volatile uint64_t *)&right->size &&
	       pc - *(volatile uint64_t *)&right->code < *(volatile uint64_t *)&right->code_size;
}

/* Each fault of a target's threads comes here: faults that are none of ours leave at once. */
SEC("perf_event")
int guard_fault(struct bpf_perf_event_data *ctx)
{
	uint64_t address = ctx->addr, pc = regs_ip((const void *)&ctx->regs);
	const struct guard_right *right =
		&guard_rights[(address >> GUARD_ABI_PIECE_BITS) & (GUARD_ABI_RIGHTS - 1)];
	struct thread_state *thread = NULL;
	const struct pt_regs *regs;
	struct target_info target;
	struct guard_row *row;

	use_own_stack();
	if (address - *(volatile uint64_t *)&guard_span.start >=
	    *(volatile uint64_t *)&guard_span.size)
		return 0;
	if (touch_is_stubs(right, address, pc) && pc != *(volatile uint64_t *)&right->given)
		return 0;
	if (!current_target(&target, &thread))
		return 0;
	row = guard_row_of(&target);
	if (!row)
		return 0;
	regs = (const void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	return pc == row->given ? guard_begun(regs, row, &target, thread)
				: guard_touched(regs, address, row, &target, thread);
}

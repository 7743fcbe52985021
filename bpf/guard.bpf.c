// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Guard sampling (docs/guard.md): the probes of the guards' stubs, and what each page fault of a target's threads
 * is compared with. What is wrong is kept by kind and stacks in `bad_accesses`: a loop of it costs one row.
 */
#include "bpf/current.h"
#include "bpf/guard_abi.h"
#include "bpf/own_stack.h"
#include "bpf/regs.h"
#include "bpf/stack.h"

struct guard_span guard_span = {};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, uint32_t);
	__type(value, struct guard_row);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} guard_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct guard_block_key);
	__type(value, struct guard_block);
	__uint(max_entries, 1 << 18);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} guard_blocks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct bad_access_key);
	__type(value, struct bad_access_value);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} bad_accesses SEC(".maps");

/* As user/model/bad_access.h has them, which user/trace/guarded.c asserts. */
enum {
	KIND_OVERFLOW,
	KIND_UNDERFLOW,
	KIND_USE_AFTER_FREE,
	KIND_SLACK_OVERWRITE,
	KIND_DOUBLE_FREE,
	KIND_INVALID_FREE,
};

/* Where in the pool an address is. */
struct guarded {
	struct guard_row *row;
	struct guard_block_key key;
	struct guard_abi_meta meta;
	uint64_t page; /* of the place's data */
};

static __always_inline void guard_count_lost(struct guard_row *row)
{
	__sync_fetch_and_add(&row->lost, 1);
}

/* False: not in the target's pool, or what is there cannot be read. */
static __always_inline bool guarded_find(uint32_t target_id, uint64_t address, struct guarded *out)
{
	struct guard_row *row = bpf_map_lookup_elem(&guard_rows, &target_id);
	uint64_t place;

	if (!row)
		return false;
	place = (address - row->pool) >> GUARD_ABI_PLACE_BITS;
	if (address < row->pool || place >= row->count)
		return false;
	out->row = row;
	out->key.target_id = target_id;
	out->key.place = (uint32_t)place;
	out->page = row->pool + (place << GUARD_ABI_PLACE_BITS) + GUARD_ABI_DATA;
	return !bpf_probe_read_user(&out->meta, sizeof(out->meta),
				    (void *)(row->metas + place * sizeof(out->meta)));
}

/* In a frame of its own, which is not there while a stack is walked. */
static __noinline int guarded_block_new(const struct guard_block_key *key, uint64_t life)
{
	struct guard_block new = {
		.life = life, .alloc_slot = ABI_NO_SLOT, .free_slot = ABI_NO_SLOT};

	return key ? (int)bpf_map_update_elem(&guard_blocks, key, &new, BPF_ANY) : 0;
}

/*
 * What is known of the place's block. Of one that an earlier tool has seen begin nothing is. NULL:
 * there is no room, which is counted.
 */
static __always_inline struct guard_block *guarded_block(const struct guarded *at)
{
	struct guard_block *block = bpf_map_lookup_elem(&guard_blocks, &at->key);

	if (block && block->life == at->meta.life)
		return block;
	guarded_block_new(&at->key, at->meta.life);
	block = bpf_map_lookup_elem(&guard_blocks, &at->key);
	if (block && block->life == at->meta.life)
		return block;
	guard_count_lost(at->row);
	return NULL;
}

/* The stack at the registers, as free_slot() of bpf/badfree.h. ABI_NO_SLOT without room. */
static __always_inline uint32_t guard_stack(const struct pt_regs *regs, uint64_t pc, uint32_t flags,
					    const struct target_info *target)
{
	struct thread_state *thread = current_thread_new(target);

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

/* Block, size: the program has not seen it yet. */
SEC("uprobe")
int guard_allocated(struct pt_regs *ctx)
{
	union probe_cookie cookie = {.value = bpf_get_attach_cookie(ctx)};
	struct thread_state *thread = NULL;
	struct guard_block block = {.free_slot = ABI_NO_SLOT};
	struct target_info target;
	struct guarded at = {};

	use_own_stack();
	if (!current_target(&target, &thread) ||
	    !guarded_find(target.id, regs_argument(ctx, 1), &at))
		return 0;
	__sync_fetch_and_add(&at.row->guarded, 1);
	block.life = at.meta.life;
	block.allocated_ns = bpf_ktime_get_ns();
	block.alloc_slot = guard_stack(ctx, told_cookie_pc(cookie), 0, &target);
	if (bpf_map_update_elem(&guard_blocks, &at.key, &block, BPF_ANY))
		guard_count_lost(at.row);
	return 0;
}

/* Block, number of the stub: it is about to end. */
SEC("uprobe")
int guard_ended(struct pt_regs *ctx)
{
	struct thread_state *thread = NULL;
	struct guard_block *block;
	struct target_info target;
	struct guarded at = {};
	uint32_t slot;

	use_own_stack();
	if (!current_target(&target, &thread) ||
	    !guarded_find(target.id, regs_argument(ctx, 1), &at))
		return 0;
	__sync_fetch_and_add(&at.row->freed, 1);
	slot = guard_stack(ctx, guard_stub_pc(at.row, regs_argument(ctx, 3)), 0, &target);
	block = guarded_block(&at);
	if (!block)
		return 0;
	block->free_slot = slot;
	block->freed_ns = bpf_ktime_get_ns();
	return 0;
}

/* An address, what is wrong with it, and the number of the stub. */
SEC("uprobe")
int guard_bad(struct pt_regs *ctx)
{
	uint64_t address = regs_argument(ctx, 1), wrong = regs_argument(ctx, 2), begins;
	struct bad_access_key key = {
		.alloc_slot = ABI_NO_SLOT, .free_slot = ABI_NO_SLOT, .touch_slot = ABI_NO_SLOT};
	struct thread_state *thread = NULL;
	struct guard_block *block;
	struct target_info target;
	struct guarded at = {};
	int32_t byte = -1;
	int64_t offset;
	uint32_t slot;

	use_own_stack();
	if (!current_target(&target, &thread) || !guarded_find(target.id, address, &at))
		return 0;
	key.target_id = target.id;
	slot = guard_stack(ctx, guard_stub_pc(at.row, regs_argument(ctx, 3)), 0, &target);
	begins = at.page + at.meta.offset;
	offset = (int64_t)(address - begins);
	/* No block has ever been there. */
	if (at.meta.state == GUARD_ABI_EMPTY) {
		begins = address;
		offset = 0;
		at.meta.size = 0;
	} else {
		block = guarded_block(&at);
		if (block) {
			key.alloc_slot = block->alloc_slot;
			key.free_slot = block->free_slot;
		}
	}
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

/* ---- page faults -------------------------------------------------------------------------- */

/* Such as a copy on write after a fork, or the first touch: what is touched by right. Or an address where no block has been. */
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
 * True: the first one of this life. Later ones on its page tell whether it was read: a page that has been written
 * to faults no more.
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

/* What is not in use while a stack is walked is in a frame of its own: bpf/badfree.h. */
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
	/* Without it, it is not known whether it was read or written. */
	bpf_ringbuf_output(&events, &event, sizeof(event), 0);
	return 0;
}

static __always_inline int guard_touched(uint64_t address)
{
	const struct pt_regs *regs = (const void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	struct bad_access_key key = {};
	struct thread_state *thread = NULL;
	struct guard_block *block;
	struct target_info target;
	struct guarded at = {};
	uint64_t begins;

	if (!current_target(&target, &thread) || !guarded_find(target.id, address, &at) ||
	    regs_ip(regs) - at.row->code < at.row->code_size)
		return 0;
	key.target_id = target.id;
	if (at.meta.state == GUARD_ABI_BUSY) {
		__sync_fetch_and_add(&at.row->amid, 1);
		key.kind = GUARD_TOUCHED_AMID;
		return touch_tell(&key, at.key.place, at.meta.life, address);
	}
	if (touch_is_right(&at, address))
		return 0;
	block = guarded_block(&at);
	if (!block || !touch_is_first(block, at.meta.life, address))
		return 0;
	begins = at.page + at.meta.offset;
	if (at.meta.state != GUARD_ABI_LIVE)
		key.kind = KIND_USE_AFTER_FREE;
	else
		key.kind = address < begins ? KIND_UNDERFLOW : KIND_OVERFLOW;
	key.alloc_slot = block->alloc_slot;
	key.free_slot = at.meta.state == GUARD_ABI_LIVE ? ABI_NO_SLOT : block->free_slot;
	key.touch_slot = guard_stack(regs, 0, UNWIND_INSIDE, &target);
	if (!guard_report(&key, begins, at.meta.size, (int64_t)(address - begins), -1))
		guard_count_lost(at.row);
	touch_tell(&key, at.key.place, at.meta.life, address);
	return 0;
}

/* Each fault of a target's threads comes here: what is none of ours leaves at once. */
SEC("perf_event")
int guard_fault(struct bpf_perf_event_data *ctx)
{
	uint64_t address = ctx->addr;

	use_own_stack();
	if (address - *(volatile uint64_t *)&guard_span.start >=
	    *(volatile uint64_t *)&guard_span.size)
		return 0;
	return guard_touched(address);
}

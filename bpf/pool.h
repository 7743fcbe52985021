/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Mappings of a runtime with a pool of its own. One mapping stands for all objects that it will
 * have; its stack is that of the object that found no room.
 */
#ifndef MEMLEAKBPF_BPF_POOL_H
#define MEMLEAKBPF_BPF_POOL_H

#include "bpf/abi.h"
#include "bpf/regs.h"
#include <bpf/bpf_helpers.h>

/* Targets with such a runtime, by id. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, uint32_t);
	__type(value, struct pool_row);
	__uint(max_entries, ABI_TARGET_SLOTS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} pool_rows __weak SEC(".maps");

#define POOL_PROT  0x3	   /* PROT_READ | PROT_WRITE */
#define POOL_FLAGS 0x22	   /* MAP_PRIVATE | MAP_ANONYMOUS */
#define POOL_NEVER 0x20100 /* MAP_STACK (PHP's fibers have theirs so), MAP_GROWSDOWN */

/*
 * The caller of the function at whose entry, or a place with the same registers, the probe is; 0:
 * unknown.
 */
static __always_inline uint64_t pool_caller(const struct pt_regs *ctx)
{
#if defined(__TARGET_ARCH_x86)
	uint64_t caller = 0;

	return bpf_probe_read_user(&caller, sizeof(caller), (void *)regs_sp(ctx)) ? 0 : caller;
#else
	return regs_lr(ctx);
#endif
}

/* At the entry of mmap(): is it to be an arena? `size` is in whole pages. */
static __always_inline bool pool_maps(const struct pt_regs *ctx, uint32_t id, uint64_t size)
{
	uint64_t flags = regs_argument(ctx, 4), caller;
	const struct pool_row *row;

	if (regs_argument(ctx, 3) != POOL_PROT || (flags & POOL_FLAGS) != POOL_FLAGS ||
	    flags & POOL_NEVER)
		return false;
	row = bpf_map_lookup_elem(&pool_rows, &id);
	if (!row || (row->sizes[0] && size != row->sizes[0] && size != row->sizes[1]))
		return false;
	caller = pool_caller(ctx);
	return caller >= row->start && caller < row->end;
}

/* Is the probe at the entry of a function that the code of the target's PHP has called? */
static __always_inline bool pool_of_any_size_calls(const struct pt_regs *ctx, uint32_t id)
{
	const struct pool_row *row = bpf_map_lookup_elem(&pool_rows, &id);
	uint64_t caller;

	if (!row || row->sizes[0])
		return false;
	caller = pool_caller(ctx);
	return caller >= row->start && caller < row->end;
}

/* A forked child has its parent's runtime. */
static __always_inline void pool_forked(uint32_t parent_id, uint32_t child_id)
{
	const struct pool_row *row = bpf_map_lookup_elem(&pool_rows, &parent_id);
	struct pool_row own;

	if (!row)
		return;
	own = *row;
	bpf_map_update_elem(&pool_rows, &child_id, &own, BPF_ANY);
}

static __always_inline void pool_forgotten(uint32_t target_id)
{
	bpf_map_delete_elem(&pool_rows, &target_id);
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Allocators that sample by themselves and report by two USDT probes: OpenTelemetry's contract for
 * memory profiling. otel_memory:alloc has the block, its size, and how many bytes it stands for:
 * samples times the mean bytes between them, which is unbiased. otel_memory:free has the block, and
 * comes for sampled blocks only.
 */
#ifndef MEMLEAKBPF_BPF_USDT_H
#define MEMLEAKBPF_BPF_USDT_H

#include "bpf/told.h"
#include "bpf/usdt_abi.h"

/* The contents of one of the target's registers. */
static __always_inline uint64_t usdt_register(const struct pt_regs *ctx, uint8_t reg)
{
	uint64_t value = 0;

	/* A computed place in the context is not for the verifier. Without copies nobody tells. */
	if (reg != USDT_NO_REGISTER && !kernel_typed())
		bpf_probe_read_kernel(&value, sizeof(value), (const uint64_t *)ctx + reg);
	return value;
}

/* Widens it to a register, by the sign or by zeros. */
static __always_inline uint64_t usdt_widen(const struct usdt_arg *arg, uint64_t value)
{
	uint32_t shift = (64 - 8 * (uint32_t)arg->size) & 63;

	value <<= shift;
	return arg->is_signed ? (uint64_t)((int64_t)value >> shift) : value >> shift;
}

/* False: it cannot be read. */
static __always_inline bool usdt_read(const struct pt_regs *ctx, const struct usdt_arg *arg,
				      uint64_t *out)
{
	uint64_t value = 0, address;

	switch (arg->kind) {
	case USDT_CONSTANT:
		value = (uint64_t)arg->value;
		break;
	case USDT_REGISTER:
		value = usdt_register(ctx, arg->reg);
		break;
	case USDT_MEMORY:
		address = usdt_register(ctx, arg->reg) + (uint64_t)arg->value +
			  (usdt_register(ctx, arg->index) << (arg->shift & 7));
		/* Our machines are little-endian: the wanted bytes come first. */
		if (bpf_probe_read_user(&value, arg->size & 15, (const void *)address))
			return false;
		break;
	default:
		return false;
	}
	*out = usdt_widen(arg, value);
	return true;
}

/* An argument lies in memory that is not there now: the sample is lost. */
static __always_inline int usdt_unread(void)
{
	struct thread_state *thread = NULL;
	struct target_info target;

	if (current_target(&target, &thread) && target.flags & TARGET_TELLS)
		count_lost(target.id, LOST_OUT_POINTER);
	return 0;
}

/* `managed`: as for told_alloc(). */
static __always_inline int usdt_allocated(const struct pt_regs *ctx, uint32_t row, void *managed)
{
	struct usdt_spec *spec = bpf_map_lookup_elem(&usdt_specs, &row);
	uint64_t block, size, weighed;

	if (!spec)
		return 0;
	if (!usdt_read(ctx, &spec->args[0], &block) || !usdt_read(ctx, &spec->args[1], &size) ||
	    !usdt_read(ctx, &spec->args[2], &weighed))
		return usdt_unread();
	/* A sample that stands for nothing. */
	if (!weighed)
		return 0;
	return told_alloc(ctx, 0, block, size, weighed, 0, managed);
}

static __always_inline int usdt_freed(const struct pt_regs *ctx, uint32_t row)
{
	struct usdt_spec *spec = bpf_map_lookup_elem(&usdt_specs, &row);
	uint64_t block;

	if (!spec || !usdt_read(ctx, &spec->args[0], &block))
		return 0;
	return told_free(block, false);
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Registers at a probe: the arguments by number, and how a call is recognised at its return. */
#ifndef MEMLEAKBPF_BPF_REGS_H
#define MEMLEAKBPF_BPF_REGS_H

#include "bpf/abi.h"
#include <bpf/bpf_helpers.h>

/*
 * Reads one register. The barrier keeps the compiler from merging the reads of a switch into one
 * through a computed pointer. The verifier allows only constant offsets into the context.
 */
#define REGS_READ(field)                   \
	({                                 \
		uint64_t value_ = (field); \
		barrier_var(value_);       \
		value_;                    \
	})

/*
 * Argument n (from 1) of the function at whose entry, or a place with the same registers, the probe
 * is. 0 for n = 0.
 */
static __always_inline uint64_t regs_argument(const struct pt_regs *ctx, uint8_t n)
{
	switch (n) {
#if defined(__TARGET_ARCH_x86)
	case 1:
		return REGS_READ(ctx->di);
	case 2:
		return REGS_READ(ctx->si);
	case 3:
		return REGS_READ(ctx->dx);
	case 4:
		return REGS_READ(ctx->cx);
	case 5:
		return REGS_READ(ctx->r8);
	case 6:
		return REGS_READ(ctx->r9);
#else
	case 1:
		return REGS_READ(ctx->user_regs.regs[0]);
	case 2:
		return REGS_READ(ctx->user_regs.regs[1]);
	case 3:
		return REGS_READ(ctx->user_regs.regs[2]);
	case 4:
		return REGS_READ(ctx->user_regs.regs[3]);
	case 5:
		return REGS_READ(ctx->user_regs.regs[4]);
	case 6:
		return REGS_READ(ctx->user_regs.regs[5]);
#endif
	default:
		return 0;
	}
}

#if defined(__TARGET_ARCH_x86)
static __always_inline uint64_t regs_result(const struct pt_regs *ctx)
{
	return ctx->ax;
}

static __always_inline uint64_t regs_ip(const struct pt_regs *ctx)
{
	return ctx->ip;
}

static __always_inline uint64_t regs_sp(const struct pt_regs *ctx)
{
	return ctx->sp;
}

static __always_inline uint64_t regs_fp(const struct pt_regs *ctx)
{
	return ctx->bp;
}

/* The same call's stack pointer at its entry: the return has popped the return address. */
static __always_inline uint64_t regs_entry_sp_at_return(const struct pt_regs *ctx)
{
	return ctx->sp - 8;
}
#else
static __always_inline uint64_t regs_result(const struct pt_regs *ctx)
{
	return ctx->user_regs.regs[0];
}

static __always_inline uint64_t regs_ip(const struct pt_regs *ctx)
{
	return ctx->user_regs.pc;
}

static __always_inline uint64_t regs_sp(const struct pt_regs *ctx)
{
	return ctx->user_regs.sp;
}

static __always_inline uint64_t regs_fp(const struct pt_regs *ctx)
{
	return ctx->user_regs.regs[29];
}

static __always_inline uint64_t regs_lr(const struct pt_regs *ctx)
{
	return ctx->user_regs.regs[30];
}

static __always_inline uint64_t regs_entry_sp_at_return(const struct pt_regs *ctx)
{
	return ctx->user_regs.sp;
}
#endif

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The record that bpf/sleepers writes for each sleeping thread, back to back. */
#ifndef MEMLEAKBPF_BPF_SLEEPERS_ABI_H
#define MEMLEAKBPF_BPF_SLEEPERS_ABI_H

#include "bpf/types.h"

/* Nobody asks for system calls with higher numbers. */
#define SLEEPER_CALLS 512

/* Words of struct pt_regs: on x86_64 from r15 to ss; on aarch64 x0 to x30, sp, pc, pstate. */
#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#define SLEEPER_GENERAL 21
#define SLEEPER_SP	19
#else
#define SLEEPER_GENERAL 34
#define SLEEPER_SP	31
#endif

/* XSAVE's area with AMX tiles has 11 KiB. aarch64: v0 to v31. */
#define SLEEPER_VECTOR_MAX 12288

struct sleeper {
	/* how often it has left a processor in its life: if this stays the same, it has not run */
	uint64_t switches;
	uint64_t tls;	  /* fs_base, tpidr_el0 */
	uint64_t gs_base; /* x86_64 */
	uint64_t general[SLEEPER_GENERAL];
	uint32_t tid; /* in the initial pid namespace */
	/* bytes that follow, padded to 8; 0: registers were not asked for */
	uint32_t vector_size;
};
_Static_assert(sizeof(struct sleeper) == 32 + 8 * SLEEPER_GENERAL, "ABI");

#endif

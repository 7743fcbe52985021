/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The unwinder's (bpf/unwind_walk.h) questions to its host. bpf/unwind.bpf.c and bpf/walk.h have
 * tables and memory in BPF maps and the current process. user/unwind/finish.c has them in plain
 * memory and a copy, the tests in captured stacks. A host includes this, defines the functions, and
 * then includes bpf/unwind_walk.h. A host for stacks of AArch64 defines UNWIND_AARCH64, too: tests
 * walk those of the other machine.
 */
#ifndef MEMLEAKBPF_BPF_UNWIND_HOST_H
#define MEMLEAKBPF_BPF_UNWIND_HOST_H

#include "bpf/unwind.h"

#ifndef __always_inline /* libbpf's headers and glibc's have it */
#define __always_inline inline __attribute__((always_inline))
#endif

/* Hides the variable's value from the compiler. */
#define unwind_opaque(variable) __asm__ volatile("" : "+r"(variable))

/* The chunk of the storage (bpf/unwind_abi.h) that the word lies in, as bytes; NULL: none. */
static __always_inline const uint8_t *unwind_chunk(const struct unwind_state *state, uint32_t word);

/* NULL when the number is out of range, or there are no rules. */
static __always_inline const struct unwind_rule *unwind_rule_at(const struct unwind_state *state,
								uint32_t number);

/* The row of state->target_id; NULL: it has none. */
static __always_inline const struct unwind_target *unwind_target_of(
	const struct unwind_state *state);

/* Copies `size` bytes of the target's memory. 0, or an error when they cannot all be read. */
static __always_inline int unwind_read(const struct unwind_state *state, void *to, uint32_t size,
				       uint64_t address);

/*
 * For an address that no set of mappings knows: enum unwind_answer. With UNWIND_KNOWN it has filled
 * in the mapping: state->map_start to object.
 */
static __always_inline int unwind_ask_kernel(struct unwind_state *state, uint64_t pc);

/*
 * With UNWIND_HOTSPOT, for code without a file: the size in bytes of the frame at state->regs, or
 * UNWIND_FRAME_*. regs.fp is right.
 */
static __always_inline int unwind_frame_size(const struct unwind_state *state);

/*
 * For the current thread: has a return probe replaced a return address by the address
 * state->regs.pc? Then state->regs.pc is the original one from now on.
 */
static __always_inline bool unwind_undo_return_probe(struct unwind_state *state);

#endif

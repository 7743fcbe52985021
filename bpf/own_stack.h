/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From 6.13 on the kernel gives programs of this type whose stack is not small one stack per
 * processor ("private stack", bpf_enable_priv_stack() in kernel/bpf/verifier.c). Probes on the
 * kernel can have that: they exclude each other on a processor. Probes on user space do not: a
 * thread can be preempted in them, or sleep, and the next one on that processor overwrites its
 * variables. Where the kernel preempts itself (lazily, as Debian's and Ubuntu's do by now) a busy
 * program with several threads brings the machine down within minutes.
 *
 * A program with a tail call gets no such stack. The verifier looks for the instruction before it
 * knows that nothing leads there. It takes the instruction out later: at run time it does not
 * exist.
 */
#ifndef MEMLEAKBPF_BPF_OWN_STACK_H
#define MEMLEAKBPF_BPF_OWN_STACK_H

#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"

/* Never changed; known to the verifier and not to the compiler. */
const volatile uint32_t never_set __attribute__((weak)) = 0;

/* Belongs into every program on user space's functions (tests/unit/trace/test_verifier.c checks that). */
static __always_inline void use_own_stack(void)
{
	if (never_set)
		asm volatile("call %[tail_call]" ::[tail_call] "i"(12) /* BPF_FUNC_tail_call */
			     : "r0", "r1", "r2", "r3", "r4", "r5", "memory");
}

#endif

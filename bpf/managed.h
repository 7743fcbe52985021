/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Targets that have a runtime: Python, Ruby, PHP, Perl, a JVM, V8. Most of what the verifier looks
 * at is the readers of these, and most targets have none. So each program that walks a stack is
 * there twice: as it is, and with the readers (MEMLEAKBPF_MANAGED). The first one goes on in the
 * second by a tail call, where it knows that the target has a runtime. User space loads the second
 * before the first such target is entered in a runtime's rows (user/trace/later.c). So its slot is
 * never empty then.
 *
 * Some kernels have no tail calls for programs with functions of their own. There the second one is
 * loaded in place of the first, and does all (config.managed_later is 0).
 */
#ifndef MEMLEAKBPF_BPF_MANAGED_H
#define MEMLEAKBPF_BPF_MANAGED_H

#include "bpf/config.h"

#define TARGET_MANAGED (TARGET_INTERPRETED | TARGET_JAVA | TARGET_V8)

#if defined(MEMLEAKBPF_MANAGED) || defined(MEMLEAKBPF_OLD_KERNEL)

#define MANAGED_ENTER			 NULL
#define MANAGED_SESSION			 NULL
#define MANAGED_GATE			 NULL
#define go_on_managed(ctx, target, slot) ((void)(slot))

#else

/*
 * One for each kind of program. The kernel wants caller and callee to be loaded for the same kind
 * of attachment, and remembers that kind with the array.
 */
#define MANAGED_SLOT(name)                             \
	struct {                                       \
		__uint(type, BPF_MAP_TYPE_PROG_ARRAY); \
		__uint(max_entries, 1);                \
		__uint(key_size, sizeof(uint32_t));    \
		__uint(value_size, sizeof(uint32_t));  \
	} name __weak SEC(".maps")

MANAGED_SLOT(enter_managed);
MANAGED_SLOT(session_managed);
MANAGED_SLOT(gate_managed);

#define MANAGED_ENTER	&enter_managed
#define MANAGED_SESSION &session_managed
#define MANAGED_GATE	&gate_managed

/* Does not return where the target has a runtime. Nothing may be on the way by then that the other program does again. */
static __always_inline void go_on_managed(const struct pt_regs *ctx,
					  const struct target_info *target, void *slot)
{
	if (config.managed_later && target->flags & TARGET_MANAGED)
		bpf_tail_call((void *)ctx, slot, 0);
}

#endif

#endif

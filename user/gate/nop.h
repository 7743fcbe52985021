/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The instruction that the gate's probes sit on. A uprobe on a nop costs 0.2 to 16 us. The kernel
 * may turn the nop into a call that enters without a trap; or it copies the nop elsewhere and
 * single-steps it there. That differs by nop and kernel:
 *
 *   nop10  66 2e 0f 1f 84 ..  7.3 makes a call of it; 5.10 to 6.18 refuse it (prefix cs, ENOTSUPP)
 *   nop5   0f 1f 44 00 00     6.18 makes a call of it; 7.3 emulates it; up to 6.12 single-stepped
 *   nop    90                 emulated after a trap, by all
 *
 * (arch_uprobe_analyze_insn(), can_optimize() and branch_setup_xol_ops() in the kernel's
 * arch/x86/kernel/uprobes.c.) Versions say little, so each nop is tried in this process.
 */
#ifndef MEMLEAKBPF_GATE_NOP_H
#define MEMLEAKBPF_GATE_NOP_H

#include <stdbool.h>
#include <stdint.h>

#include "user/gate/stub_layout.h"

struct gate_nop {
	uint8_t bytes[GATE_PROBE]; /* the nop for the probe, then others that fill the place */
	uint8_t length;		   /* of the first */
	bool optimised;		   /* the kernel makes a call of it */
	uint32_t hit_ns;	   /* the best time of a hit, with a BPF program that counts it */
	const char *name;	   /* "nop5" */
	const char *step;	   /* the step that failed; NULL: none. Both are static strings. */
};

/*
 * Tries all nops, in some milliseconds, and chooses. Needs the right to load BPF programs, in a
 * process that may still map code (before confine_tool()). A kernel that made a call of one leaves
 * a page of its own mapped here, "[uprobes-trampoline]", for good. 0; or -errno, not logged:
 * uprobes do not work on a memfd here, and out->step has the failed step.
 */
int gate_nop_choose(struct gate_nop *out);

/* Writes the nop to each place of a probe (gate_stubs()) in a copy of gate_code(). */
void gate_nop_write(uint8_t *code, const struct gate_nop *nop);

#endif

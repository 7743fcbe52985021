/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How walks up a stack end: the programs find it out, and people are shown it. */
#ifndef MEMLEAKBPF_BPF_STACK_END_H
#define MEMLEAKBPF_BPF_STACK_END_H

/*
 * Why a walk up the stack ended. Part of the stack id: a truncated stack never equals a whole one.
 */
enum stack_end {
	STACK_END_COMPLETE = 0, /* reached the thread's first frame */
	STACK_END_TRUNCATED,	/* deeper than the recorded frames */
	STACK_END_NO_ROWS,	/* code without unwind rows and no usable frame pointer */
	STACK_END_NO_MAPPING,	/* pc in no known mapping */
	STACK_END_READ_FAULT,	/* the stack could not be read */
	STACK_END_BAD_CFA,	/* the frame address did not grow */
	STACK_END_BAD_PC,	/* return address is not code */
	STACK_END_UNSUPPORTED,	/* a rule the compact tables cannot express */
	STACK_ENDS,
};

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the test's BPF program sends to the harness. */
#ifndef MEMLEAKBPF_TESTS_UNWIND_HARNESS_H
#define MEMLEAKBPF_TESTS_UNWIND_HARNESS_H

#include "bpf/unwind.h"

struct harness_event {
	uint64_t sequence; /* second argument of the probed function */
	uint64_t hash;
	struct stack_event stack;
};

struct scratch {
	struct unwind_state state;
	struct harness_event event;
};

#endif

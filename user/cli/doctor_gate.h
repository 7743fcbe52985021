/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The part of `doctor` that says whether allocators can have a gate here (user/gate). */
#ifndef MEMLEAKBPF_CLI_DOCTOR_GATE_H
#define MEMLEAKBPF_CLI_DOCTOR_GATE_H

#include <stdbool.h>

#include "user/base/reason.h"
#include "user/gate/nop.h"
#include "user/kernel/feature_machine.h"

#define DOCTOR_GATE_NOTES 2

struct doctor_gate {
	bool have;
	struct gate_nop nop; /* if so */
	char why[160];	     /* why not; "" if so */
	const char *remedy;  /* what to do then; NULL: nothing */
	char no_guards
		[REASON_MAX]; /* why there are no guarded blocks (--guard); "": there can be */
	const char *notes[DOCTOR_GATE_NOTES]; /* processes that it may not be for; NULL: no more */
};

/*
 * Tries a gate, in this process and on a child that it makes, in some milliseconds. `old`: as in
 * struct attach_plan.
 */
void doctor_gate_read(const struct machine *machine, bool old, struct doctor_gate *out);

/* "nop5, optimised by the kernel, 0.21 us a hit", for a possible gate. */
void doctor_gate_text(const struct doctor_gate *gate, char *text, size_t size);

#endif

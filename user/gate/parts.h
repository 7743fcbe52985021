/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The gate's parts, one for each function of a request: the plan, the stub, the jump. */
#ifndef MEMLEAKBPF_GATE_PARTS_H
#define MEMLEAKBPF_GATE_PARTS_H

#include "user/gate/displace.h"
#include "user/gate/gate.h"
#include "user/gate/stub.h"

struct gate_part {
	struct gate_function function;
	const struct gate_stub *stub;
	uint64_t jump_at; /* where the jump stands */
	/* The bytes that it replaces: the file's, or with function.onward the jump of guards. */
	uint8_t original[DISPLACE_JUMP];
	/* The bytes there before gate_start(): those, or a jump that an earlier gate left. */
	uint8_t before[DISPLACE_JUMP];
};

/*
 * Decides whether and how each function gets its jump. 0 and as many parts as there are functions,
 * to be freed; or -errno with the reason.
 */
int gate_parts_new(const struct gate_request *request, struct gate_part **out,
		   char reason[static REASON_MAX]);

/*
 * Decides where one function's jump stands: all of *part but the stub and `instead`. 0, or -errno
 * with the reason.
 */
int gate_part_plan(const struct gate_request *request, const struct gate_wanted *function,
		   struct gate_part *part, char reason[static REASON_MAX]);

/* Writes the gate's code for `address`, GATE_CODE_SIZE bytes. 0 or -ERANGE. */
int gate_parts_fill(const struct gate_request *request, const struct gate_part *parts,
		    uint64_t address, uint8_t code[]);

#endif

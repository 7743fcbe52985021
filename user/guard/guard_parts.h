/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Guard sampling's parts, one for each function of a request: the plan, the stub, the jump. */
#ifndef MEMLEAKBPF_GUARD_GUARD_PARTS_H
#define MEMLEAKBPF_GUARD_GUARD_PARTS_H

#include "user/gate/parts.h"
#include "user/guard/guard.h"
#include "user/guard/guard_stub.h"

struct guard_part {
	struct gate_part place; /* all of it but the gate's stub and `instead` */
	const struct guard_stub *stub;
	/* A gate in use stands before the jump, and goes on to it: nothing is to be written. */
	bool covered;
};

/*
 * Decides whether and how each function gets its jump. 0 and as many parts as there are functions,
 * to be freed; or -errno with the reason.
 */
int guard_parts_new(const struct guard_request *request, struct guard_part **out,
		    char reason[static REASON_MAX]);

/*
 * Writes the code for `address`, GUARD_CODE_SIZE bytes, with a pool of `count` places at `pool`. 0,
 * -ERANGE or -EINVAL.
 */
int guard_parts_fill(const struct guard_request *request, const struct guard_part *parts,
		     uint64_t address, uint64_t pool, uint32_t count, uint8_t code[]);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One of the calls that what is wrong with a block is told by: where it was allocated, freed, touched. */
#ifndef MEMLEAKBPF_MODEL_REPORTED_CALL_H
#define MEMLEAKBPF_MODEL_REPORTED_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/stack_end.h"
#include "user/model/frame.h"

struct reported_call {
	bool known; /* there is such a call */
	uint64_t stack_id;
	enum stack_end end;
	const struct frame *const *frames; /* NULL until symbolised, or not recorded */
	size_t frame_count;
};

#endif

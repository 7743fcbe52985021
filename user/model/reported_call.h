/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A call that helps to explain a misused block: it allocated, freed, or touched the block. */
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

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is wanted of gates and guards. */
#ifndef MEMLEAKBPF_PATCH_PATCH_OPTIONS_H
#define MEMLEAKBPF_PATCH_PATCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "user/probe/attach_mode.h"

/* Guarded blocks: docs/guard.md. */
struct guard_options {
	uint64_t period; /* one call in so many gets one, in the mean; 0: none does */
	uint32_t places; /* of a target's pool: guard_count_fits() */
};

struct patch_options {
	enum attach_mode attach; /* how probes come to them */
	bool gate;		 /* allocators get a gate where they can have it */
	bool gate_only;		 /* or it is an error */
	bool old;		 /* kernel before 5.15 */
	uint64_t sample_bytes;	 /* of gates: mean distance of sample points */
	struct guard_options guard;
};

#endif

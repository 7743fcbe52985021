/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to user/figures. */
#ifndef MEMLEAKBPF_FIGURES_FIGURES_INTERNAL_H
#define MEMLEAKBPF_FIGURES_FIGURES_INTERNAL_H

#include "bpf/figures_abi.h"
#include "user/figures/figures_read.h"

struct figures {
	struct figures_options options;
	struct figures_maps maps;
	const struct slots *slots;
	struct stack_table *stacks;
	/* The kernel's arrays, mapped: of one row, where they are not asked for. */
	struct slot_lifetimes *lifetimes;
	uint32_t lifetime_rows; /* for a slot; 0: lifetimes are not kept */
	struct slot_outlived *outlived;
	struct slot_temporary *temporaries;
	uint64_t *slot_peaks;
	struct target_peak *target_peaks;
	uint64_t sizes_ns, sizes_end_ns; /* of the last walk for sizes */
};

#endif

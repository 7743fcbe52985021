// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/managed/go_layout.h"

#include <stddef.h>

#include "user/base/util.h"

#define GO_LAST 27 /* the last version whose layout was looked at */

#define SPAN_1_22                                                                           \
	.span_bytes = 160, .nelems = 50, .alloc_bits = 64, .mark_bits = 72, .sweepgen = 88, \
	.alloc_count = 96, .span_class = 98, .state = 99, .elem_size = 104, .limit = 112,   \
	.large_type = 152, .narrow = true

/* src/runtime/{mheap,runtime2,symtab}.go of each. */
static const struct go_layout layouts[] = {
	{.minor = 19,
	 .span_bytes = 136,
	 .nelems = 56,
	 .alloc_bits = 72,
	 .mark_bits = 80,
	 .sweepgen = 88,
	 .alloc_count = 96,
	 .span_class = 98,
	 .state = 99,
	 .elem_size = 104,
	 .limit = 112,
	 .syscall_sp = 112,
	 .status = 144,
	 .wait_reason = 176,
	 .go_pc = 296,
	 .start_pc = 312,
	 .types = 280,
	 .etypes = 288},
	/* its debug information was not at hand: runtime.moduledata has grown by covctrs, ecovctrs */
	{.minor = 20,
	 .span_bytes = 136,
	 .nelems = 56,
	 .alloc_bits = 72,
	 .mark_bits = 80,
	 .sweepgen = 88,
	 .alloc_count = 96,
	 .span_class = 98,
	 .state = 99,
	 .elem_size = 104,
	 .limit = 112,
	 .syscall_sp = 112,
	 .status = 144,
	 .wait_reason = 176,
	 .go_pc = 296,
	 .start_pc = 312,
	 .types = 296,
	 .etypes = 304},
	{.minor = 21,
	 .span_bytes = 144,
	 .nelems = 56,
	 .alloc_bits = 72,
	 .mark_bits = 80,
	 .sweepgen = 96,
	 .alloc_count = 104,
	 .span_class = 106,
	 .state = 107,
	 .elem_size = 112,
	 .limit = 120,
	 .syscall_sp = 112,
	 .status = 144,
	 .wait_reason = 176,
	 .go_pc = 280,
	 .start_pc = 296,
	 .types = 296,
	 .etypes = 304},
	{.minor = 22,
	 SPAN_1_22,
	 .syscall_sp = 112,
	 .status = 144,
	 .wait_reason = 176,
	 .go_pc = 280,
	 .start_pc = 296,
	 .types = 296,
	 .etypes = 304},
	{.minor = 23,
	 SPAN_1_22,
	 .syscall_sp = 112,
	 .status = 152,
	 .wait_reason = 184,
	 .go_pc = 288,
	 .start_pc = 304,
	 .types = 296,
	 .etypes = 304},
	{.minor = 24,
	 SPAN_1_22,
	 .syscall_sp = 112,
	 .status = 152,
	 .wait_reason = 184,
	 .go_pc = 288,
	 .start_pc = 304,
	 .types = 296,
	 .etypes = 304,
	 .swiss_maps = true},
	{.minor = 25,
	 SPAN_1_22,
	 .syscall_sp = 104,
	 .status = 144,
	 .wait_reason = 176,
	 .go_pc = 280,
	 .start_pc = 296,
	 .types = 296,
	 .etypes = 304,
	 .swiss_maps = true},
	{.minor = 26,
	 SPAN_1_22,
	 .inline_marks = true,
	 .syscall_sp = 104,
	 .status = 144,
	 .wait_reason = 176,
	 .go_pc = 288,
	 .start_pc = 304,
	 .types = 296,
	 .etypes = 304,
	 .swiss_maps = true},
	{.minor = 27,
	 SPAN_1_22,
	 .inline_marks = true,
	 .syscall_sp = 104,
	 .status = 144,
	 .wait_reason = 176,
	 .go_pc = 288,
	 .start_pc = 304,
	 .types = 296,
	 .etypes = 312,
	 .swiss_maps = true},
};

const struct go_layout *go_layout_of(unsigned minor)
{
	const struct go_layout *found = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		if (layouts[i].minor <= minor)
			found = &layouts[i];
	}
	return minor <= GO_LAST ? found : NULL;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/analysis/inlined_operators.h"

#include <string.h>

#include "user/base/util.h"

/* The family of an operator that stands inlined over the innermost function; `otherwise`: there is none. */
static enum alloc_family inlined_family(const struct reported_call *call,
					enum alloc_family otherwise)
{
	static const struct {
		const char *begins;
		enum alloc_family family;
	} operators[] = {
		{"operator new[]", FAMILY_NEW_ARRAY},
		{"operator delete[]", FAMILY_NEW_ARRAY},
		{"operator new", FAMILY_NEW},
		{"operator delete", FAMILY_NEW},
	};

	for (size_t i = 1; call->frames && i < call->frame_count && call->frames[i]->inlined; i++) {
		const char *function = call->frames[i]->function;

		for (size_t k = 0; function && k < ARRAY_SIZE(operators); k++) {
			if (!strncmp(function, operators[k].begins, strlen(operators[k].begins)))
				return operators[k].family;
		}
	}
	return otherwise;
}

void bad_free_see_inlined(struct bad_free *bad)
{
	if (bad->kind != BAD_FREE_MISMATCH)
		return;
	/* An operator that was called is known by that. */
	if (bad->alloc_family == FAMILY_MALLOC)
		bad->alloc_family = inlined_family(&bad->calls[BAD_FREE_ALLOC], FAMILY_MALLOC);
	if (bad->free_family == FAMILY_MALLOC)
		bad->free_family = inlined_family(&bad->calls[BAD_FREE_NOW], FAMILY_MALLOC);
	if (bad->alloc_family == bad->free_family)
		bad->suppressed = "an operator of the program's own that was inlined";
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/analysis/inlined_operators.h"

#include <string.h>

#include "user/base/util.h"

/* The family of an operator inlined over the innermost function; `otherwise`: there is none. */
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

void misuse_see_inlined(struct misuse *misuse)
{
	if (misuse->kind != MISUSE_MISMATCH)
		return;
	/* An operator that was called is known by that. */
	if (misuse->alloc_family == FAMILY_MALLOC)
		misuse->alloc_family =
			inlined_family(&misuse->calls[MISUSE_CALL_ALLOC], FAMILY_MALLOC);
	if (misuse->free_family == FAMILY_MALLOC)
		misuse->free_family =
			inlined_family(&misuse->calls[MISUSE_CALL_NOW], FAMILY_MALLOC);
	if (misuse->alloc_family == misuse->free_family)
		misuse->suppressed = "an operator of the program's own that was inlined";
}

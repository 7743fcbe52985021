// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/outcome.h"

#include "user/analysis/leaks.h"

/* Is what is left a leak? Without the verdict that was asked for nobody knows. */
void outcome_add(struct outcome *outcome, const struct snapshot *last, bool verdict)
{
	for (size_t i = 0; i < last->bad_free_count; i++)
		outcome->found_leaks |= !last->bad_frees[i].suppressed;
	if (!verdict || last->verdict.state == VERDICT_TAKEN)
		outcome->found_leaks |= leaks_of(last).count != 0;
	else
		outcome->left_unjudged |= last->live.count && !last->execed;
}

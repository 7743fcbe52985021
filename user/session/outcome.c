// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/outcome.h"

#include "bpf/lost_cause.h"
#include "user/analysis/leaks.h"
#include "user/base/util.h"

/* Causes of loss that hide whole processes. */
static const enum lost_cause of_children[] = {LOST_SHORT_CHILDREN, LOST_TARGETS_FULL, LOST_EVENTS,
					      LOST_RECURSION};

/* Is the rest a leak? Without the wanted verdict nobody knows. */
void outcome_add(struct outcome *outcome, const struct report *last, bool verdict)
{
	const struct snapshot *s = last->snapshot;

	for (int finder = 0; finder < MISUSE_FINDERS; finder++) {
		const struct misuse_list *list = &last->misuses[finder];

		for (size_t i = 0; i < list->count; i++)
			outcome->found_leaks |= !list->items[i].suppressed;
	}
	for (size_t i = 0; i < ARRAY_SIZE(of_children); i++)
		outcome->left_children |= s->lost[of_children[i]] != 0;
	outcome->left_unseen |= s->growth.untraced != 0;
	outcome->left_heaps |= s->heaps.kinds != 0;
	if (!verdict || s->verdict.state == VERDICT_TAKEN)
		outcome->found_leaks |= leaks_of(last).count != 0;
	else
		outcome->left_unjudged |= s->live.count && !s->execed;
}

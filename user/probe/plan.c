// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/probe/plan.h"

void attach_plan(struct features *features, struct attach_plan *out)
{
	/*
	 * Multi-uprobe links are newer than cookies; single uprobes may be refused to us where
	 * these are not.
	 */
	bool cookie = features_have(features, FEATURE_UPROBE_COOKIE) ||
		      features_have(features, FEATURE_UPROBE_MULTI);
	bool single = features_have(features, FEATURE_UPROBE_COOKIE) ||
		      features_have(features, FEATURE_UPROBE);

	*out = (struct attach_plan){
		.works = {[ATTACH_SESSION] = features_have(features, FEATURE_UPROBE_SESSION),
			  [ATTACH_MULTI] = features_have(features, FEATURE_UPROBE_MULTI_PID),
			  [ATTACH_SINGLE] = single},
		.old = !cookie && single,
		.hold = cookie && features_have(features, FEATURE_UPROBE_SLEEPS),
		.sleepers = features_have(features, FEATURE_THREAD_ITERATOR),
		.task_storage = cookie && features_have(features, FEATURE_TASK_STORAGE),
		.find_vma = features_have(features, FEATURE_FIND_VMA),
	};
	for (unsigned mode = 0; mode < ATTACH_MODES && !out->possible; mode++) {
		out->possible = out->works[mode];
		out->best = mode;
	}
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/probe/plan.h"

bool attach_mode_works(struct features *features, enum attach_mode mode)
{
	switch (mode) {
	case ATTACH_SESSION:
		/* Only programs on allocators are on session links, all others on older ones. */
		return features_have(features, FEATURE_UPROBE_SESSION) &&
		       features_have(features, FEATURE_UPROBE_MULTI_PID);
	case ATTACH_MULTI:
		return features_have(features, FEATURE_UPROBE_MULTI_PID);
	case ATTACH_SINGLE:
		return features_have(features, FEATURE_UPROBE_COOKIE) ||
		       features_have(features, FEATURE_UPROBE);
	default:
		return false;
	}
}

void attach_plan(struct features *features, enum attach_mode wanted, struct attach_plan *out)
{
	bool cookie;

	*out = (struct attach_plan){.best = wanted};
	out->possible = attach_mode_works(features, wanted);
	for (unsigned mode = 0; mode < ATTACH_MODES && !out->possible; mode++) {
		out->possible = attach_mode_works(features, mode);
		out->best = mode;
	}
	/*
	 * Multi-uprobe links are newer than cookies, and may be permitted where single uprobes are
	 * not. Taking a single uprobe off again costs a tenth of a second: we do not try it for
	 * what we know already.
	 */
	cookie = (out->possible && out->best != ATTACH_SINGLE) ||
		 features_have(features, FEATURE_UPROBE_COOKIE) ||
		 features_have(features, FEATURE_UPROBE_MULTI);
	out->old = out->possible && !cookie;
	out->hold = cookie && features_have(features, FEATURE_UPROBE_SLEEPS);
	out->hold_new = out->hold && features_have(features, FEATURE_TASK_WORK);
	out->task_storage = cookie && features_have(features, FEATURE_TASK_STORAGE);
	out->find_vma = features_have(features, FEATURE_FIND_VMA);
	/* Where nothing can be loaded the attempt says why. */
	out->typed_reads = cookie && features_have(features, FEATURE_BPF) &&
			   !features_have(features, FEATURE_READ_KERNEL);
	out->loops = features_have(features, FEATURE_LOOP);
	out->tail_calls = features_have(features, FEATURE_TAIL_CALL);
}

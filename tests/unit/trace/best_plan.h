/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How programs are attached on this kernel. After cmocka.h. */
#ifndef MEMLEAKBPF_TESTS_BEST_PLAN_H
#define MEMLEAKBPF_TESTS_BEST_PLAN_H

#include <unistd.h>

#include "user/probe/plan.h"

/* The test is skipped without root. */
static inline void best_plan(struct attach_plan *best)
{
	struct features *features = features_new();

	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
	assert_non_null(features);
	attach_plan(features, ATTACH_AUTO, best);
	features_free(features);
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What suppressions have taken out of a report: made by user/analysis/suppress, printed by
 * user/export.
 */
#ifndef MEMLEAKBPF_MODEL_SUPPRESSED_H
#define MEMLEAKBPF_MODEL_SUPPRESSED_H

#include <stddef.h>
#include <stdint.h>

#include "user/model/amount.h"

/* One suppression, and how much it has suppressed in one snapshot. */
struct suppressed_by {
	const char *name; /* Valgrind's name for it, or LeakSanitizer's pattern */
	const char *file; /* NULL: built in */
	unsigned line;
	struct amount amount;
	uint64_t stacks;
};

/* Of one snapshot. The strings belong to the suppressions, the rest is one allocation. */
struct suppressed {
	struct amount total;
	uint64_t stacks; /* with nothing left to show */
	size_t count;
	/* those that have suppressed something, in the order of their files */
	struct suppressed_by by[];
};

#endif

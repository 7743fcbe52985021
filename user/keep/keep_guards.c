// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/keep/keep_guards.h"

#include <stdlib.h>

#include "user/session/suppressions.h"

/* A process that does one thing wrong in many ways is not to fill the others' rows, nor our memory. */
#define BAD_ACCESSES_MAX 16

/* Of a list in which what is suppressed comes last, what has no room is counted. */
static void cut_list(struct survey_kept *kept, const struct misuse *list, size_t count)
{
	kept->bad_access_count = count < BAD_ACCESSES_MAX ? count : BAD_ACCESSES_MAX;
	for (size_t i = kept->bad_access_count; i < count; i++) {
		if (list[i].suppressed)
			kept->bad_accesses_suppressed_beside += list[i].count;
		else
			kept->bad_accesses_left_out++;
	}
}

void keep_guards_read(struct trace *trace, struct target *target, struct suppressions *suppressions,
		      struct survey_process *data)
{
	/* By its names only it is known what is to be suppressed. */
	size_t named = suppressions ? SIZE_MAX : BAD_ACCESSES_MAX;
	struct survey_kept *kept = &data->kept;
	size_t count = 0;

	trace_read_guards(trace, target, &kept->guards);
	if (!guard_figures_bad(&kept->guards) ||
	    trace_read_bad_accesses(trace, target, named, &data->bad_accesses, &count))
		return;
	suppress_misuses(suppressions, data->bad_accesses, count);
	misuses_sort(data->bad_accesses, count);
	kept->bad_accesses = data->bad_accesses;
	cut_list(kept, data->bad_accesses, count);
}

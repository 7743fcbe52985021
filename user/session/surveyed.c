// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/surveyed.h"

#include <stdlib.h>
#include <string.h>

struct snapshot *surveyed_snapshot(const struct survey_report *report, const struct survey_row *row)
{
	const struct survey_kept *kept = row->kept;
	struct misuse *list = calloc(kept->bad_access_count + 1, sizeof(*list));
	struct snapshot *s = calloc(1, sizeof(*s));

	if (!s || !list) {
		free(list);
		free(s);
		return NULL;
	}
	*s = (struct snapshot){
		.target_id = (uint32_t)row->process.pid,
		.pid = row->process.pid,
		.time_ns = report->time_ns,
		.elapsed_ns = kept->since_ns,
		.sample_bytes = report->keep ? report->keep->sample_bytes : 0,
		.surveyed = true,
		.exited = row->ended,
		.guard = kept->guards.state,
		.misuses = {[MISUSE_BY_GUARD] = {list, kept->bad_access_count}},
	};
	s->guard.lost += kept->bad_accesses_left_out;
	memcpy(s->comm, row->process.comm, sizeof(s->comm));
	if (kept->bad_access_count)
		memcpy(list, kept->bad_accesses, kept->bad_access_count * sizeof(*list));
	return s;
}

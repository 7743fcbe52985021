// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/moment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/log.h"
#include "user/session/suppressions.h"

void moment_release(struct moment *m)
{
	for (size_t i = 0; i < m->count; i++)
		report_free(m->reports[i]);
	free(m->reports);
	source_recording_free(m->recording);
}

static struct report **moment_find(const struct moment *m, uint32_t target_id)
{
	for (size_t i = 0; i < m->count; i++) {
		if (m->reports[i]->snapshot->target_id == target_id)
			return &m->reports[i];
	}
	return NULL;
}

/* Takes the snapshot over, in place of the process's earlier one. */
static int moment_put(struct moment *m, struct snapshot *s)
{
	struct report **old = moment_find(m, s->target_id), **grown;
	struct report *report = report_new(s);

	if (report && old) {
		report_free(*old);
		*old = report;
		return 0;
	}
	grown = report ? reallocarray(m->reports, m->count + 1, sizeof(struct report *)) : NULL;
	if (!grown) {
		report_free(report);
		return log_errno(ENOMEM, "reading a recording");
	}
	m->reports = grown;
	grown[m->count++] = report;
	return 0;
}

static void moment_drop_execed(struct moment *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->count; i++) {
		if (m->reports[i]->snapshot->execed)
			report_free(m->reports[i]);
		else
			m->reports[n++] = m->reports[i];
	}
	m->count = n;
}

static void moment_say_found(const struct moment *m, const char *option,
			     const struct replay_time *time)
{
	uint64_t first_ns = 0, last_ns = 0;

	for (size_t i = 0; i < m->count; i++) {
		uint64_t at = m->reports[i]->snapshot->time_ns;

		first_ns = first_ns && first_ns < at ? first_ns : at;
		last_ns = last_ns > at ? last_ns : at;
	}
	source_recording_say_found(m->recording, option, time, first_ns, last_ns);
}

int moment_read(struct moment *m, const char *path, const struct replay_config *config,
		const char *option, bool first)
{
	const struct replay_time *time =
		strcmp(option, "--to") != 0 ? &config->times.from : &config->times.to;
	struct snapshot *s;
	int got, err = source_recording_open(path, config, &m->recording);

	if (err)
		return err;
	while (!err && (got = source_recording_next(m->recording, &s)) > 0) {
		bool late = source_recording_snapshot_is_late(m->recording, time, s);

		if (late || (first && moment_find(m, s->target_id)))
			snapshot_free(s);
		else
			err = moment_put(m, s);
	}
	moment_drop_execed(m);
	if (!err)
		moment_say_found(m, option, time);
	return err ? err : got;
}

int moment_compare(struct moment *m, const struct filter_config *filter, struct suppressions *s,
		   struct diff *diff, bool is_new)
{
	int err = 0;

	for (size_t i = 0; !err && i < m->count; i++) {
		err = suppress_stacks(filter, false, s, m->reports[i]);
		suppress_bad_frees(s, m->reports[i]);
		err = err ?: diff_add(diff, m->reports[i], is_new);
	}
	return err;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/moment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/log.h"
#include "user/session/inspected_stacks.h"
#include "user/session/suppressions.h"
#include "user/session/surveyed.h"

void moment_release(struct moment *m)
{
	for (size_t i = 0; i < m->count; i++)
		report_free(m->reports[i]);
	free(m->reports);
	free((void *)m->by_name.names.items);
	free(m->names);
	id_map_free(&m->programs);
	for (size_t i = 0; i < m->inspection_count; i++) {
		if (m->inspected)
			inspected_stacks_free(m->inspected[i]);
		inspection_free(m->inspections[i]);
	}
	free(m->inspected);
	free(m->inspections);
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

/* Takes the snapshot over, in place of the old report (NULL: none). */
static int moment_put_at(struct moment *m, struct report **old, struct snapshot *s)
{
	struct report *report = report_new(s), **grown;

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

/* ... of the process's earlier report. */
static int moment_put(struct moment *m, struct snapshot *s)
{
	return moment_put_at(m, moment_find(m, s->target_id), s);
}

/* Takes one look over, in place of the process's earlier one. */
static int moment_put_inspection(struct moment *m, struct inspection *inspection)
{
	struct inspection **grown;

	for (size_t i = 0; i < m->inspection_count; i++) {
		if (m->inspections[i]->pid != inspection->pid)
			continue;
		inspection_free(m->inspections[i]);
		m->inspections[i] = inspection;
		return 0;
	}
	grown = reallocarray(m->inspections, m->inspection_count + 1, sizeof(struct inspection *));
	if (!grown) {
		inspection_free(inspection);
		return log_errno(ENOMEM, "reading a recording");
	}
	m->inspections = grown;
	grown[m->inspection_count++] = inspection;
	return 0;
}

static bool moment_has_inspection(const struct moment *m, pid_t pid)
{
	for (size_t i = 0; i < m->inspection_count; i++) {
		if (m->inspections[i]->pid == pid)
			return true;
	}
	return false;
}

/* Turns a process's kinds of blocks into stacks, to be compared. */
static int moment_turn_inspections(struct moment *m)
{
	int err = 0;

	m->inspected = calloc(m->inspection_count + 1, sizeof(struct inspected_stacks *));
	if (!m->inspected)
		return log_errno(ENOMEM, "reading a recording");
	for (size_t i = 0; !err && i < m->inspection_count; i++) {
		struct snapshot *s;

		err = inspected_stacks_new(m->inspections[i], &m->inspected[i], &s);
		err = err ? log_errno(err, "reading a recording") : moment_put(m, s);
	}
	return err;
}

static void moment_drop_execed(struct moment *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->count; i++) {
		const struct snapshot *s = m->reports[i]->snapshot;

		if (s->execed && !s->misuses[MISUSE_BY_GUARD].count)
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

#define MOMENT_NO_PROGRAM UINT32_MAX

/*
 * A process that executes another program has a row for each program's end: the next program's row
 * must not replace the first one's findings.
 */
static int moment_put_row(struct moment *m, const struct survey_report *report,
			  const struct survey_row *row)
{
	struct snapshot *s = surveyed_snapshot(report, row);
	uint32_t at = MOMENT_NO_PROGRAM;
	int err = s ? 0 : -ENOMEM;

	if (!id_map_get(&m->programs, (uint64_t)row->process.pid, &at) || at >= m->count)
		at = (uint32_t)m->count;
	if (!err)
		err = id_map_put(&m->programs, (uint64_t)row->process.pid,
				 row->ended ? MOMENT_NO_PROGRAM : at);
	if (err) {
		snapshot_free(s);
		return log_errno(ENOMEM, "reading a recording");
	}
	return moment_put_at(m, at < m->count ? &m->reports[at] : NULL, s);
}

/* A process that has gone keeps its last row. */
static int moment_take_survey(struct moment *m, const struct survey_report *report,
			      const struct replay_config *config, const struct replay_time *time,
			      bool first)
{
	uint64_t before = m->survey_ns && m->survey_ns < report->time_ns
				  ? report->time_ns - m->survey_ns
				  : report->elapsed_ns;
	int err = 0;

	/* With `first`: processes kept later had shown nothing yet. */
	if (first && m->surveyed)
		return 0;
	m->survey_ns = report->time_ns;
	if (source_recording_is_late(m->recording, time, report->time_ns, before))
		return 0;
	for (size_t i = 0; !err && i < report->row_count; i++) {
		const struct survey_row *row = &report->rows[i];

		if (!row->kept ||
		    !source_recording_wants(config, row->process.pid, row->process.comm))
			continue;
		m->surveyed = true;
		err = moment_put_row(m, report, row);
	}
	return err;
}

/* Drops snapshots after the time, and with `first` all but the first. */
static int moment_take(struct moment *m, const struct recording_item *item,
		       const struct replay_config *config, const struct replay_time *time,
		       bool first)
{
	struct inspection *inspection = item->inspection;
	struct snapshot *s = item->snapshot;

	if (item->survey)
		return moment_take_survey(m, item->survey, config, time, first);
	if (inspection) {
		/* Traced processes compare by their stacks. */
		if (!inspection->traced &&
		    !source_recording_is_late(m->recording, time, inspection->time_ns, 0) &&
		    !(first && moment_has_inspection(m, inspection->pid)))
			return moment_put_inspection(m, inspection);
		inspection_free(inspection);
	} else if (s) {
		m->first_ns = m->first_ns ?: s->time_ns;
		/* A process that came later had shown nothing yet. */
		if (first && s->time_ns - s->elapsed_ns > m->first_ns)
			s->misuses[MISUSE_BY_GUARD].count = 0;
		if (!source_recording_snapshot_is_late(m->recording, time, s) &&
		    !(first && moment_find(m, s->target_id)))
			return moment_put(m, s);
		snapshot_free(s);
	}
	return 0;
}

int moment_read(struct moment *m, const char *path, const struct replay_config *config,
		const char *option, bool first)
{
	const struct replay_time *time =
		strcmp(option, "--to") != 0 ? &config->times.from : &config->times.to;
	struct recording_item item;
	int got, err = source_recording_open(path, config, &m->recording);

	if (err)
		return err;
	while (!err && (got = source_recording_next_any(m->recording, &item)) > 0)
		err = moment_take(m, &item, config, time, first);
	if (!err && got >= 0)
		err = moment_turn_inspections(m);
	moment_drop_execed(m);
	if (!err && got >= 0)
		source_recording_say_beyond(m->recording, option, time);
	if (!err)
		moment_say_found(m, option, time);
	return err ? err : got;
}

/* The names of the reports, each once. */
static int moment_names_of(struct moment *m, const struct moment *like)
{
	const char **items = calloc(like->count + 1, sizeof(*items));
	size_t count = 0;

	m->by_name.names.items = items;
	m->names = calloc(like->count + 1, sizeof(*m->names));
	if (!items || !m->names)
		return log_errno(ENOMEM, "reading a recording");
	for (size_t i = 0; i < like->count; i++) {
		const struct snapshot *s = like->reports[i]->snapshot;
		size_t at = 0;

		while (at < count && strncmp(items[at], s->comm, sizeof(s->comm)) != 0)
			at++;
		if (at < count)
			continue;
		memcpy(m->names[count], s->comm, sizeof(s->comm));
		items[count] = m->names[count];
		count++;
	}
	m->by_name.names.count = count;
	return 0;
}

int moment_read_alike(struct moment *m, const char *path, const struct replay_config *config,
		      const char *option, const struct moment *like)
{
	int err;

	moment_release(m);
	*m = (struct moment){.by_name = *config};
	err = moment_names_of(m, like);
	err = err ?: moment_read(m, path, &m->by_name, option, false);
	if (!err && m->count)
		log_warn("%s: no process that -p names is in it; those with the name of the other "
			 "recording's are compared, '%s'%s",
			 path, m->names[0], m->by_name.names.count > 1 ? " and others" : "");
	return err;
}

int moment_compare(struct moment *m, const struct filter_config *filter, struct suppressions *s,
		   struct diff *diff, bool is_new)
{
	int err = 0;

	for (size_t i = 0; !err && i < m->count; i++) {
		err = suppress_stacks(filter, false, s, m->reports[i]);
		suppress_all_misuses(s, m->reports[i]);
		err = err ?: diff_add(diff, m->reports[i], is_new);
	}
	return err;
}

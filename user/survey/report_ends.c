// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/survey/report_ends.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void report_ends_release(struct report_ends *ends)
{
	free(ends->items);
	*ends = (struct report_ends){0};
}

static const char *report_ends_where(const struct survey_row *row)
{
	return row->container ?: row->pod_name ?: row->pod ?: row->unit ?: "";
}

static struct survey_end report_ends_of(const struct survey_report *report,
					const struct survey_row *row)
{
	struct survey_end end = {
		.time_ns = report->time_ns,
		.processes = 1,
		.pid = row->process.pid,
		.growing = row->trend.kind == TREND_GROWING,
		.leaking = row->trend.kind == TREND_GROWING && row->trend.leaking,
	};

	memcpy(end.comm, row->process.comm, sizeof(end.comm));
	snprintf(end.where, sizeof(end.where), "%s", report_ends_where(row));
	if (end.growing && row->trend.growth_known)
		end.growth = row->trend.growth;
	if (!row->kept)
		return end;
	end.live_bytes = row->kept->live_bytes;
	end.suppressed = survey_kept_suppressed(row->kept);
	memcpy(end.bad_accesses, row->kept->guards.bad_accesses, sizeof(end.bad_accesses));
	return end;
}

static bool report_ends_same_name(const struct survey_end *a, const struct survey_end *b)
{
	return !strncmp(a->comm, b->comm, sizeof(a->comm)) && !strcmp(a->where, b->where);
}

static void report_ends_join(struct survey_end *to, const struct survey_end *from)
{
	to->time_ns = from->time_ns;
	to->pid = from->pid;
	to->processes += from->processes;
	to->growing += from->growing;
	to->leaking += from->leaking;
	to->growth += from->growth;
	to->live_bytes += from->live_bytes;
	to->suppressed += from->suppressed;
	for (int i = 0; i < MISUSE_GUARDED_KINDS; i++)
		to->bad_accesses[i] += from->bad_accesses[i];
}

static int report_ends_append(struct report_ends *ends, const struct survey_end *end)
{
	if (ends->count == REPORT_ENDS_NAMES) {
		ends->left_out += end->processes;
		return 0;
	}
	if (ends->count == ends->room) {
		size_t room = ends->room ? ends->room * 2 : REPORT_ENDS_SINGLE + 1;
		struct survey_end *grown = reallocarray(ends->items, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		ends->items = grown;
		ends->room = room;
	}
	ends->items[ends->count++] = *end;
	return 0;
}

/* To those of its name, which are the latest then. */
static int report_ends_add_by_name(struct report_ends *ends, const struct survey_end *end)
{
	for (size_t i = 0; i < ends->count; i++) {
		struct survey_end joined = ends->items[i];

		if (!report_ends_same_name(&joined, end))
			continue;
		report_ends_join(&joined, end);
		memmove(&ends->items[i], &ends->items[i + 1],
			(ends->count - i - 1) * sizeof(joined));
		ends->items[ends->count - 1] = joined;
		return 0;
	}
	return report_ends_append(ends, end);
}

static void report_ends_fold(struct report_ends *ends)
{
	size_t count = ends->count;

	ends->by_name = true;
	ends->count = 0;
	/* No more than have been read: there is room. */
	for (size_t i = 0; i < count; i++) {
		struct survey_end end = ends->items[i];

		report_ends_add_by_name(ends, &end);
	}
}

int report_ends_take(struct report_ends *ends, const struct survey_report *report,
		     const struct survey_row *row)
{
	struct survey_end end = report_ends_of(report, row);
	int err;

	if (!row->ended || (!end.growing && survey_end_bad(&end) <= end.suppressed))
		return 0;
	err = ends->by_name ? report_ends_add_by_name(ends, &end) : report_ends_append(ends, &end);
	if (!err && !ends->by_name && ends->count > REPORT_ENDS_SINGLE)
		report_ends_fold(ends);
	return err;
}

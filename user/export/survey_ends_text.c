// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Of a survey's recording, whose last look is shown: what there was to say at the ends before it. */
#include <inttypes.h>
#include <string.h>

#include "user/base/parse.h"
#include "user/export/render.h"
#include "user/export/text_parts.h"

#define ENDS_SHOWN 16 /* -v: all */

static void survey_ends_put_name(FILE *out, const struct survey_end *end)
{
	char when[TEXT_TIME_MAX], comm[sizeof(end->comm) + 1], count[FORMAT_GROUPED_MAX];

	fprintf(out, "  %s  ", text_time(when, end->time_ns));
	snprintf(comm, sizeof(comm), "%.*s", (int)sizeof(end->comm), end->comm);
	if (end->processes == 1)
		fprintf(out, "PID %d (", (int)end->pid);
	else
		fprintf(out, "%s processes (", format_grouped(count, end->processes));
	text_put_name(out, *comm ? comm : "?");
	if (*end->where) {
		fputs(", ", out);
		text_put_name(out, end->where);
	}
	fputc(')', out);
	if (end->processes > 1)
		fprintf(out, ", the last %d", (int)end->pid);
	fputs(": ", out);
}

/* "leaking, +1.2 GiB/h", "3 suspect, 1 leaking, +1.2 GiB/h together" */
static bool survey_ends_put_growth(FILE *out, const struct survey_end *end)
{
	size_t suspect = end->growing - end->leaking;
	bool one = end->processes == 1;
	char bytes[FORMAT_BYTES_MAX];

	if (!end->growing)
		return false;
	if (one) {
		fputs(end->leaking ? "leaking" : "suspect", out);
	} else {
		if (suspect)
			fprintf(out, "%zu suspect", suspect);
		if (end->leaking)
			fprintf(out, "%s%zu leaking", suspect ? ", " : "", end->leaking);
	}
	if (end->growth > 0)
		fprintf(out, ", %s/h%s", format_bytes_short_signed(bytes, end->growth * 3600),
			one ? "" : " together");
	return true;
}

static bool survey_ends_put_bad(FILE *out, const struct survey_end *end, bool behind)
{
	uint64_t seen = survey_end_bad(end);
	const char *separator = ": ";
	char count[FORMAT_GROUPED_MAX];

	if (seen <= end->suppressed)
		return behind;
	fprintf(out, "%s%s bad %s", behind ? "; " : "", format_grouped(count, seen),
		text_plural(seen, "access", "accesses"));
	for (unsigned i = 0; i < MISUSE_GUARDED_KINDS; i++) {
		if (!end->bad_accesses[i])
			continue;
		fprintf(out, "%s%s %s", separator, misuse_kind_text(i),
			format_grouped(count, end->bad_accesses[i]));
		separator = ", ";
	}
	if (end->suppressed)
		fprintf(out, " (%s of them suppressed)", format_grouped(count, end->suppressed));
	return true;
}

void survey_text_put_ends(FILE *out, const struct export_options *options,
			  const struct survey_report *report)
{
	size_t from = !options->verbose && report->end_count > ENDS_SHOWN
			      ? report->end_count - ENDS_SHOWN
			      : 0;
	size_t more = report->ends_left_out;
	char count[FORMAT_GROUPED_MAX], bytes[FORMAT_BYTES_MAX];

	if (!report->end_count || options->brief)
		return;
	fputs("\nended before:\n", out);
	for (size_t i = 0; i < from; i++)
		more += report->ends[i].processes;
	if (more)
		fprintf(out, "  %s more%s\n", format_grouped(count, more), from ? " (-v)" : "");
	for (size_t i = from; i < report->end_count; i++) {
		const struct survey_end *end = &report->ends[i];
		bool behind;

		survey_ends_put_name(out, end);
		behind = survey_ends_put_growth(out, end);
		survey_ends_put_bad(out, end, behind);
		if (end->live_bytes)
			fprintf(out, "; %s allocated and kept",
				format_bytes(bytes, end->live_bytes));
		fputc('\n', out);
	}
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/export/growth_text.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "user/base/clock.h"
#include "user/base/parse.h"
#include "user/base/util.h"

#define SECONDS_MATTER_NS (2 * 60 * NS_PER_S)
#define FAR_S		  1e9 /* decades: no limit at all */

static uint64_t growth_between(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

const char *growth_text_time(char buf[static GROWTH_TIME_MAX], uint64_t time_ns, uint64_t now_ns)
{
	time_t at = (time_t)(time_ns / NS_PER_S), now = (time_t)(now_ns / NS_PER_S);
	const char *format = "%b %e %H:%M";
	struct tm tm, today;

	if (!localtime_r(&at, &tm) || !localtime_r(&now, &today)) {
		snprintf(buf, GROWTH_TIME_MAX, "?");
		return buf;
	}
	if (tm.tm_year == today.tm_year && tm.tm_yday == today.tm_yday)
		format = growth_between(time_ns, now_ns) < SECONDS_MATTER_NS ? "%H:%M:%S" : "%H:%M";
	if (!strftime(buf, GROWTH_TIME_MAX, format, &tm))
		snprintf(buf, GROWTH_TIME_MAX, "?");
	return buf;
}

/* "3.3 MiB/s (3.2 MiB to 3.4 MiB)" */
static void growth_put_rate(FILE *out, const struct trend *trend)
{
	char mid[FORMAT_BYTES_MAX], low[FORMAT_BYTES_MAX], high[FORMAT_BYTES_MAX];

	fprintf(out, "%s/s", format_bytes_short(mid, trend->growth));
	if (!trend->error_known)
		return;
	format_bytes_short(low, trend->growth_low > 0 ? trend->growth_low : 0);
	format_bytes_short(high, trend->growth_high);
	if (strcmp(low, high) != 0)
		fprintf(out, " (%s to %s)", low, high);
}

static void growth_put_limit(FILE *out, const struct survey_row *row, uint64_t now_ns)
{
	char at[GROWTH_TIME_MAX], limit[FORMAT_BYTES_MAX], in[FORMAT_DURATION_MAX];
	uint64_t in_ns;

	if (!row->limit_known || row->limit_s > FAR_S)
		return;
	in_ns = (uint64_t)(row->limit_s * NS_PER_S);
	fprintf(out, "; full at %s (", growth_text_time(at, now_ns + in_ns, now_ns));
	if (row->limit_bytes)
		fprintf(out, "limit %s, ", format_bytes_short(limit, (double)row->limit_bytes));
	fprintf(out, "in %s)", format_duration(in, in_ns));
}

static void growth_put_open(FILE *out, const struct survey_row *row, uint64_t now_ns)
{
	const struct survey_growth *g = &row->growth;
	char at[GROWTH_TIME_MAX], ago[FORMAT_DURATION_MAX];

	fprintf(out, "%s since %s%s (%s), ", row->trend.leaking ? "leaking" : "growing",
		g->since_start ? "the start, " : "", growth_text_time(at, g->since_ns, now_ns),
		format_duration(ago, growth_between(now_ns, g->since_ns)));
	growth_put_rate(out, &row->trend);
	if (g->level_before_ns)
		fprintf(out, "; was level for %s", format_duration(ago, g->level_before_ns));
	else if (g->since_start && !row->trend.leaking)
		fputs("; a warm-up is not excluded", out);
	growth_put_limit(out, row, now_ns);
}

bool growth_text_put(FILE *out, const struct survey_row *row, uint64_t now_ns)
{
	char since[GROWTH_TIME_MAX], until[GROWTH_TIME_MAX], bytes[FORMAT_BYTES_MAX];
	const struct survey_growth *g = &row->growth;

	growth_text_time(since, g->since_ns, now_ns);
	growth_text_time(until, g->until_ns, now_ns);
	format_bytes(bytes, saturate_u64(g->bytes));
	switch (g->state) {
	case GROWTH_NONE:
		return false;
	case GROWTH_KEPT:
		fprintf(out, "grew %s-%s by %s and kept it; level since", since, until, bytes);
		break;
	case GROWTH_STEPS:
		fprintf(out, "rose in %u step%s by %s, the last at %s; level since", g->steps,
			g->steps == 1 ? "" : "s", bytes, until);
		break;
	case GROWTH_FILLING:
		fprintf(out, "filling since %s, ever slower", since);
		if (g->levels_off_at > 0)
			fprintf(out, ": levels off at about %s",
				format_bytes_short(bytes, g->levels_off_at));
		break;
	case GROWTH_GOES_ON:
		growth_put_open(out, row, now_ns);
		break;
	}
	return true;
}

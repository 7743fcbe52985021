// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/lost_cause.h"
#include "user/base/clock.h"
#include "user/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/parse.h"
#include "user/base/util.h"
#include "user/export/growth_text.h"
#include "user/export/render.h"
#include "user/export/row_label.h"
#include "user/export/text_fit.h"
#include "user/export/text_parts.h"
#include "user/model/function_name.h"
#include "user/model/lost_causes.h"

/*
 * Columns of the table: with one blank between them, 100, which is how wide it is where there is no
 * terminal. A wider one has room for longer names; in a narrower one columns are left out
 * (table_fit()). The function that allocates has a line below its row: a name that is cut to what
 * would be left here says nothing.
 */
#define WIDTH_COMMAND 12
#define WIDTH_WHERE   14
#define WIDTH_BYTES   6
#define WIDTH_GROWTH  8
#define WIDTH_PERCENT 6
#define WIDTH_TREND   9
#define WIDTH_SEEN    5
#define WIDTH_LIMIT   6
#define WIDTH_LIVE    5

#define WIDTH	    100
#define WIDTH_LEAST 80	/* with some left out */
#define WIDTH_RSS   120 /* with the resident set, too */
#define MIN_SAMPLES 4
#define MAX_STACKS  3 /* of a suspect; -v: all */

struct table {
	FILE *out;
	const struct export_options *options;
	const struct survey_report *report;
	struct survey_shown *shown;
	size_t width, command, where; /* of the whole, and of these columns; 0: left out */
	bool details;		      /* percent, seen, live */
	bool rss;
};

static void table_fit(struct table *t)
{
	const size_t width = t->options->width ?: WIDTH;
	size_t spare = width > WIDTH ? width - WIDTH : 0;

	t->width = width;
	t->details = width >= WIDTH;
	t->rss = width >= WIDTH_RSS;
	spare -= t->rss ? WIDTH_BYTES + 1 : 0;
	/* Most names of commands have 15 characters at most. */
	t->command = WIDTH_COMMAND + (spare > 3 ? 3 : spare);
	spare -= t->command - WIDTH_COMMAND;
	t->where = width >= WIDTH_LEAST ? WIDTH_WHERE + (spare > 26 ? 26 : spare) : 0;
}

/* A name in so much room, without its middle where it is too wide. Returns how wide it came out. */
static size_t put_cut(const struct table *t, const char *name, size_t width)
{
	char text[TEXT_FIT_MAX];
	size_t used = text_shorten(text, name, width);

	fputs(text, t->out);
	return used;
}

static void put_column(const struct table *t, const char *name, size_t width)
{
	size_t used = put_cut(t, name, width);

	fprintf(t->out, "%*s", (int)(width - used) + 1, "");
}

/* ---- head --------------------------------------------------------------------------------- */

/* Those that are sampled all the time, and what keeps to the limits. */
static void survey_text_put_keep(const struct table *t, const struct survey_keep_report *keep)
{
	char bytes[FORMAT_BYTES_MAX];

	fprintf(t->out, "sampled all the time: %zu", keep->sampled);
	if (keep->left_out)
		fprintf(t->out, " (%zu more cannot be)", keep->left_out);
	fprintf(t->out, ", one sample per %s; %.0f a second (of %" PRIu64 "), %" PRIu64 " live\n",
		format_bytes(bytes, keep->sample_bytes), keep->samples_per_s, keep->rate,
		keep->live_samples);
}

static void survey_text_put_head(const struct table *t)
{
	const struct survey_report *r = t->report;
	char elapsed[FORMAT_DURATION_MAX], when[TEXT_TIME_MAX];

	text_set_style(t->out, t->options, TEXT_BOLD);
	fprintf(t->out, "=== %s  survey of %zu %s, %s  %s===\n", text_time(when, r->time_ns),
		r->process_count, text_plural(r->process_count, "process", "processes"),
		format_duration(elapsed, r->elapsed_ns), r->final ? "FINAL " : "");
	text_set_style(t->out, t->options, TEXT_NONE);
	if (r->growing_count)
		fprintf(t->out, "%zu growing; ", r->growing_count);
	else
		fputs("none growing; ", t->out);
	if (r->watched_count)
		fprintf(t->out, "probes on %zu; ", r->watched_count);
	fprintf(t->out, "of a CPU: probes %.2f %%", 100 * r->probe_share);
	if (r->budget_share > 0)
		fprintf(t->out, " (budget %g %%)", 100 * r->budget_share);
	if (r->tool_known)
		fprintf(t->out, ", the survey itself %.2f %%", 100 * r->tool_share);
	fputs("\n", t->out);
	if (r->keep)
		survey_text_put_keep(t, r->keep);
	/* What a window takes is spent at once, and waited off afterwards. */
	if (r->tool_known && r->probe_share > 0 && r->budget_share > 0 &&
	    r->probe_share + r->tool_share > r->budget_share)
		fputs("the budget is for probes, for placing them and naming what they find:\n"
		      "spent at once, that is waited off before the next window\n",
		      t->out);
}

static void put_titles(const struct table *t)
{
	text_set_style(t->out, t->options, TEXT_DIM);
	fprintf(t->out, "%*s %7s %-*s ", t->details ? 3 : 2, "#", "PID", (int)t->command,
		"COMMAND");
	if (t->where)
		fprintf(t->out, "%-*s ", (int)t->where, "UNIT/CONTAINER");
	fprintf(t->out, "%*s ", WIDTH_BYTES, "MEMORY");
	if (t->rss)
		fprintf(t->out, "%*s ", WIDTH_BYTES, "RSS");
	fprintf(t->out, "%*s ", WIDTH_GROWTH, "GROWTH/H");
	if (t->details)
		fprintf(t->out, "%*s ", WIDTH_PERCENT, "%/H");
	fprintf(t->out, "%-*s %-*s ", WIDTH_TREND, "TREND", SURVEY_SPARK, "");
	if (t->details)
		fprintf(t->out, "%*s ", WIDTH_SEEN, "SEEN");
	fprintf(t->out, "%*s", WIDTH_LIMIT, "LIMIT");
	if (t->details)
		fprintf(t->out, " %*s", WIDTH_LIVE, "LIVE");
	fputc('\n', t->out);
	text_set_style(t->out, t->options, TEXT_NONE);
}

/* ---- a row -------------------------------------------------------------------------------- */

/* A recording may say anything: a path without a slash is a name. */
static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void put_where(const struct table *t, const struct survey_row *row)
{
	char where[512];

	if (!t->where)
		return;
	if (row->container && row->pod_name)
		snprintf(where, sizeof(where), "%s:%s", last_part(row->pod_name), row->container);
	else if (row->container && row->runtime && *row->runtime)
		snprintf(where, sizeof(where), "%s:%s", row->runtime, row->container);
	else if (row->container)
		snprintf(where, sizeof(where), "%s", row->container);
	else if (row->pod)
		snprintf(where, sizeof(where), "pod:%s", row->pod);
	else if (row->unit)
		snprintf(where, sizeof(where), "%s", row->unit);
	else if (row->cgroup && strcmp(row->cgroup, "/") != 0)
		snprintf(where, sizeof(where), "%s", last_part(row->cgroup));
	else
		snprintf(where, sizeof(where), "-");
	put_column(t, where, t->where);
}

/* Its program has ended, and the process goes on. */
static bool is_replaced(const struct survey_row *row)
{
	return row->ended && row->trend.kind == TREND_UNKNOWN && row->trend.reason;
}

/* Growth is "leaking" when it has lasted for long, measured by what is left. */
static const char *trend_word(const struct survey_row *row)
{
	const char *name = trend_name(row->trend.kind);

	if (row->ended)
		return is_replaced(row) ? "replaced" : "exited";
	if (row->trend.kind == TREND_GROWING)
		return row->trend.leaking ? "leaking" : "growing";
	return name ? name : "too early";
}

static void put_growth(const struct table *t, const struct survey_row *row)
{
	double bytes = (double)(row->process.anon + row->process.swap), per_hour;
	char text[FORMAT_BYTES_MAX], percent[16];

	/* Between two or three samples there is always some. */
	if (!row->trend.growth_known || row->samples < MIN_SAMPLES) {
		fprintf(t->out, "%*s ", WIDTH_GROWTH, "?");
		if (t->details)
			fprintf(t->out, "%*s ", WIDTH_PERCENT, "");
		return;
	}
	per_hour = row->trend.growth * 3600;
	snprintf(percent, sizeof(percent), "%+.0f%%", bytes > 0 ? 100 * per_hour / bytes : 0);
	if (fabs(per_hour) < 1)
		percent[0] = '\0';
	if (strlen(percent) > WIDTH_PERCENT)
		snprintf(percent, sizeof(percent), ">9999%%");
	fprintf(t->out, "%*s ", WIDTH_GROWTH, format_bytes_short_signed(text, per_hour));
	if (t->details)
		fprintf(t->out, "%*s ", WIDTH_PERCENT, percent);
}

/*
 * Between the lowest and the highest value of the watch; a line that is level is one, whatever its
 * noise.
 */
static void put_spark(const struct table *t, const struct survey_row *row)
{
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char ascii[] = "_.-=+*%#";
	double min = INFINITY, max = -INFINITY, range;

	for (size_t i = 0; i < row->spark_count; i++) {
		min = fmin(min, row->spark[i]);
		max = fmax(max, row->spark[i]);
	}
	range = fmax(fmax(max - min, 0.05 * max), 1024.0 * 1024);
	for (size_t i = 0; i < SURVEY_SPARK; i++) {
		size_t level;

		if (i >= row->spark_count) {
			fputc(' ', t->out);
			continue;
		}
		level = (size_t)((row->spark[i] - min) / range * 7.99);
		if (t->options->utf8)
			fputs(blocks[level], t->out);
		else
			fputc(ascii[level], t->out);
	}
}

/* How long the memory lasts, and what the probes found allocated and kept in their last window. */
static void put_findings(const struct table *t, const struct survey_row *row)
{
	char limit[FORMAT_DURATION_MAX] = "-", live[FORMAT_BYTES_MAX] = "-";

	/* What is decades away is no limit. */
	if (row->limit_known && row->limit_s < 1e9)
		format_duration(limit, (uint64_t)(row->limit_s * NS_PER_S));
	if (row->drill && row->drill->snapshot)
		format_bytes_short(live, (double)row->drill->snapshot->live.bytes);
	fprintf(t->out, " %*s", WIDTH_LIMIT, limit);
	if (t->details)
		fprintf(t->out, " %*s", WIDTH_LIVE, live);
	fputc('\n', t->out);
}

static void survey_text_put_row(const struct table *t, size_t rank, const struct survey_row *row)
{
	bool growing = row->trend.kind == TREND_GROWING && !row->ended;
	char bytes[FORMAT_BYTES_MAX];

	fprintf(t->out, "%*zu %7d ", t->details ? 3 : 2, rank, (int)row->process.pid);
	if (growing)
		text_set_style(t->out, t->options, TEXT_BOLD);
	put_column(t, row->process.comm[0] ? row->process.comm : "?", t->command);
	text_set_style(t->out, t->options, TEXT_NONE);
	put_where(t, row);
	fprintf(t->out, "%*s ", WIDTH_BYTES,
		format_bytes_short(bytes, (double)(row->process.anon + row->process.swap)));
	if (t->rss)
		fprintf(t->out, "%*s ", WIDTH_BYTES,
			row->process.rss ? format_bytes_short(bytes, (double)row->process.rss)
					 : "?");
	put_growth(t, row);
	if (growing)
		text_set_style(t->out, t->options, row->trend.leaking ? TEXT_BAD : TEXT_WARN);
	fprintf(t->out, "%-*s ", WIDTH_TREND, trend_word(row));
	text_set_style(t->out, t->options, TEXT_NONE);
	put_spark(t, row);
	if (t->details)
		fprintf(t->out, " %*" PRIu64, WIDTH_SEEN, row->samples);
	put_findings(t, row);
}

/* ---- what is known of a suspect ------------------------------------------------------------ */

/* The beginning of a line below a row. The reason may come from a recording. */
static void put_below(const struct table *t, const char *before, const char *reason)
{
	fprintf(t->out, "            %s", before);
	text_put_name(t->out, reason);
}

static void put_reason_line(const struct table *t, const char *before, const char *reason)
{
	put_below(t, before, reason);
	fputc('\n', t->out);
}

/* "growing since 08:19 (3 min), 3.3M/s …"; of what is not known so well, the reason. */
static void put_reason(const struct table *t, const struct survey_row *row)
{
	char low[FORMAT_BYTES_MAX], high[FORMAT_BYTES_MAX];

	put_below(t, "", "");
	if (growth_text_put(t->out, row, t->report->time_ns)) {
		fputc('\n', t->out);
		return;
	}
	text_put_name(t->out, row->trend.reason ?: trend_name(row->trend.kind));
	if (!row->of_children)
		fprintf(t->out, ": lowest %s then, %s now", format_bytes(low, row->low_then),
			format_bytes(high, row->low_now));
	fputc('\n', t->out);
	if (row->trend.error_known) {
		format_bytes_signed(low, (int64_t)(row->trend.growth_low * 3600));
		format_bytes_signed(high, (int64_t)(row->trend.growth_high * 3600));
		if (strcmp(low, high) != 0)
			fprintf(t->out, "            growth between %s and %s an hour (95 %%)", low,
				high);
		else
			fprintf(t->out, "            growth %s an hour", low);
		fputc('\n', t->out);
	}
}

/* What grew lately is worth a line, too: of what only looks level the details do. */
static bool has_reason(const struct table *t, const struct survey_row *row)
{
	return row->trend.kind == TREND_GROWING || row->trend.kind == TREND_FILLING ||
	       (t->options->verbose && row->growth.state != GROWTH_NONE);
}

/* Also those that lived for less than an interval. */
static void put_children(const struct table *t, const struct survey_row *row)
{
	char peak[FORMAT_BYTES_MAX];

	if (!row->children_exited)
		return;
	fprintf(t->out, "            %" PRIu64 " of its children have exited meanwhile",
		row->children_exited);
	if (row->children_peak)
		fprintf(t->out, ", the largest of %s", format_bytes(peak, row->children_peak));
	fputc('\n', t->out);
}

/* The stack's site, and as many of its callers as the line has room for. */
static void put_callers(const struct table *t, const struct stack_notes *stack)
{
	static const char before[] = "            most in ";
	char label[TEXT_FIT_MAX];

	if (!stack->frames || stack->frame_count < 2)
		return;
	fprintf(t->out, "%s%s\n", before,
		site_label(label, t->options, stack, t->width - strlen(before), SIZE_MAX));
}

static void survey_text_put_losses(const struct table *t, const struct snapshot *s)
{
	char count[FORMAT_GROUPED_MAX];

	for (int i = 0; i < LOST_CAUSES; i++) {
		if (!s->lost[i])
			continue;
		text_set_style(t->out, t->options, TEXT_WARN);
		fprintf(t->out, "            lost %s %s", format_grouped(count, s->lost[i]),
			lost_cause_text((enum lost_cause)i));
		text_set_style(t->out, t->options, TEXT_NONE);
		fputc('\n', t->out);
	}
}

static void survey_text_put_drill(const struct table *t, const struct survey_row *row)
{
	const struct survey_drill *drill = row->drill;
	char bytes[FORMAT_BYTES_MAX], window[FORMAT_DURATION_MAX];

	if (drill->open)
		fputs("            probes are on it now\n", t->out);
	if (drill->snapshot && !(row->kept && row->kept->sampled)) {
		fprintf(t->out, "            in %s of probes %s",
			format_duration(window, drill->window_ns),
			format_bytes(bytes, drill->snapshot->live.bytes));
		fputs(" allocated and kept\n", t->out);
	}
	if (drill->snapshot) {
		if (drill->shown_count)
			put_callers(t, report_notes(drill->report, drill->shown[0]));
		survey_text_put_losses(t, drill->snapshot);
	}
	if (drill->note)
		put_reason_line(t, "", drill->note);
}

static void survey_text_put_guards(const struct table *t, const struct guard_figures *guards)
{
	const struct guard_state *g = &guards->state;
	const char *separator = ": ";
	char count[FORMAT_GROUPED_MAX];
	uint64_t seen = guard_figures_bad(guards);

	if (!g->on && !g->guarded) {
		put_reason_line(
			t, "no blocks are guarded: ", g->reason ? g->reason : "its turn comes");
		return;
	}
	fprintf(t->out, "            %s bad %s seen in", format_grouped(count, seen),
		text_plural(seen, "access", "accesses"));
	fprintf(t->out, " %s guarded %s", format_grouped(count, g->guarded),
		text_plural(g->guarded, "block", "blocks"));
	for (unsigned i = 0; i < MISUSE_GUARDED_KINDS; i++) {
		if (!guards->bad_accesses[i])
			continue;
		fprintf(t->out, "%s%s %s", separator, misuse_kind_text(i),
			format_grouped(count, guards->bad_accesses[i]));
		separator = ", ";
	}
	fputc('\n', t->out);
	if (!g->on && g->reason)
		put_reason_line(t, "not guarded any more: ", g->reason);
}

static void survey_text_put_kept(const struct table *t, const struct survey_row *row)
{
	char bytes[FORMAT_BYTES_MAX], since[FORMAT_DURATION_MAX];
	const struct survey_kept *kept = row->kept;

	if (is_replaced(row))
		put_reason_line(t, "", row->trend.reason);
	if (kept->sampled)
		fprintf(t->out, "            sampled for %s%s: %s allocated since then and kept\n",
			format_duration(since, kept->since_ns),
			row->ended ? ", until it ended" : "",
			format_bytes(bytes, kept->live_bytes));
	else
		put_reason_line(t, "not sampled all the time: ",
				kept->reason ? kept->reason : "its turn comes");
	if (kept->guards.state.asked)
		survey_text_put_guards(t, &kept->guards);
}

static void put_detail_title(const struct table *t, size_t rank, const struct survey_row *row)
{
	fputc('\n', t->out);
	text_set_style(t->out, t->options, TEXT_BOLD);
	fprintf(t->out, "--- %zu. PID %d (", rank, (int)row->process.pid);
	text_put_name(t->out, row->process.comm);
	fputc(')', t->out);
}

/* What is as it was at an earlier look stands there; at the end, with -v and on a screen it is shown again. */
static void put_stacks(const struct table *t, size_t rank, const struct survey_row *row)
{
	const struct survey_drill *drill = row->drill;
	bool again = t->report->final || t->options->verbose || t->options->redraw;
	char *text = NULL, when[TEXT_TIME_MAX];
	uint64_t since = 0;
	size_t len = 0;
	FILE *out;

	if (!drill || !drill->snapshot || !drill->shown_count)
		return;
	out = open_memstream(&text, &len);
	if (!out)
		return;
	survey_put_stacks(out, t->options, drill, t->options->verbose ? SIZE_MAX : MAX_STACKS);
	if (!fclose(out))
		since = survey_shown_note(t->shown, row->process.pid, text, t->report->time_ns);
	put_detail_title(t, rank, row);
	if (drill->snapshot->pid != row->process.pid)
		fprintf(t->out, ", its child %d", (int)drill->snapshot->pid);
	fprintf(t->out, ": what it allocated and kept while %s",
		row->kept && row->kept->sampled ? "it was sampled" : "probes were on");
	if (since && !again)
		fprintf(t->out, ", as at %s", text_time(when, since));
	fputs(" ---", t->out);
	text_set_style(t->out, t->options, TEXT_NONE);
	fputc('\n', t->out);
	if (text && (!since || again))
		fputs(text, t->out);
	free(text);
}

static void put_bad_accesses(const struct table *t, size_t rank, const struct survey_row *row)
{
	size_t max = t->options->verbose ? SIZE_MAX : MAX_STACKS, shown = 0, more;
	const struct survey_kept *kept = row->kept;
	uint64_t suppressed = kept ? survey_kept_suppressed(kept) : 0;

	if (!kept || (!kept->bad_access_count && !suppressed))
		return;
	more = kept->bad_accesses_left_out;
	put_detail_title(t, rank, row);
	fputs(": what its guarded blocks have shown ---", t->out);
	text_set_style(t->out, t->options, TEXT_NONE);
	fputc('\n', t->out);
	for (size_t i = 0; i < kept->bad_access_count; i++) {
		if (kept->bad_accesses[i].suppressed)
			continue;
		if (shown++ < max)
			text_put_misuse(t->out, t->options, &kept->bad_accesses[i]);
		else
			more++;
	}
	if (more)
		fprintf(t->out, "\nand %zu more%s\n", more, shown > max ? " (-v)" : "");
	text_put_suppressed_misuses(t->out, MISUSE_BY_GUARD, suppressed);
}

static void put_table(const struct table *t)
{
	const struct survey_report *r = t->report;

	survey_text_put_head(t);
	put_titles(t);
	for (size_t i = 0; i < r->row_count; i++) {
		const struct survey_row *row = &r->rows[i];

		survey_text_put_row(t, i + 1, row);
		if (t->options->brief) {
			if (row->drill && row->drill->snapshot && row->drill->shown_count)
				put_callers(t,
					    report_notes(row->drill->report, row->drill->shown[0]));
			continue;
		}
		if (has_reason(t, row))
			put_reason(t, row);
		if (row->trend.kind == TREND_GROWING || t->options->verbose)
			put_children(t, row);
		if (row->kept)
			survey_text_put_kept(t, row);
		if (row->drill)
			survey_text_put_drill(t, row);
	}
	survey_text_put_ends(t->out, t->options, r);
	for (size_t i = 0; !t->options->brief && i < r->row_count; i++)
		put_stacks(t, i + 1, &r->rows[i]);
	for (size_t i = 0; !t->options->brief && i < r->row_count; i++)
		put_bad_accesses(t, i + 1, &r->rows[i]);
}

int survey_write_text(struct exporter *e, const struct survey_report *report,
		      struct survey_shown *shown)
{
	struct table t = {.options = &e->options, .report = report, .shown = shown};
	char *text = NULL;
	size_t len = 0;
	int err;

	table_fit(&t);
	t.out = open_memstream(&text, &len);
	if (!t.out)
		return -ENOMEM;
	if (e->options.redraw)
		fputs("\033[H\033[2J", t.out);
	put_table(&t);
	fputc('\n', t.out);
	err = close_memstream(t.out) ?: text_page_write(e, text, len);
	free(text);
	return err;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/export/text_brief.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/parse.h"
#include "user/base/text.h"
#include "user/base/util.h"
#include "user/export/render.h"
#include "user/export/row_label.h"

#define BRIEF_MIN_SITE 16 /* a narrow terminal's lines are broken rather */

static size_t brief_room(const struct export_options *options, size_t taken)
{
	if (!options->width)
		return 0;
	return options->width > taken + BRIEF_MIN_SITE ? options->width - taken : BRIEF_MIN_SITE;
}

/* ---- stacks ------------------------------------------------------------------------------- */

#define BRIEF_STACK	  "%-4s%10s %8s %11s  "
#define BRIEF_STACK_WIDTH (4 + 10 + 1 + 8 + 1 + 11 + 2)
#define BRIEF_LOST	  "%10s  "
#define BRIEF_LOST_WIDTH  (10 + 2)

/* With what hangs on it. */
static const char *brief_lost(char buf[static FORMAT_BYTES_MAX], const struct stack *stack,
			      const struct stack_notes *notes)
{
	uint64_t bytes = notes->suppressed ? 0 : stack_lost_bytes(stack);

	return bytes ? format_bytes(buf, bytes) : "-";
}

static void brief_put_row(FILE *out, const struct export_options *options,
			  const struct report *listed, size_t number, const struct stack *row,
			  const char *label)
{
	const struct stack_notes *notes = report_notes(listed, row);
	char rank[24], live[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX], change[FORMAT_BYTES_MAX];
	char lost[FORMAT_BYTES_MAX];
	bool growing = notes->trend.kind == TREND_GROWING;

	snprintf(rank, sizeof(rank), "#%zu", number);
	snprintf(change, sizeof(change), "-");
	if (listed->snapshot->interval_ns && notes->delta_bytes)
		format_bytes_signed(change, notes->delta_bytes);
	if (growing)
		text_set_style(out, options, TEXT_WARN);
	fprintf(out, BRIEF_STACK, rank, format_bytes(live, row->live.bytes),
		format_grouped(count, row->live.count), change);
	if (listed->snapshot->verdict.state == VERDICT_TAKEN)
		fprintf(out, BRIEF_LOST, brief_lost(lost, row, notes));
	fprintf(out, "%s\n", label);
	if (growing)
		text_set_style(out, options, TEXT_NONE);
}

void text_put_brief(FILE *out, const struct export_options *options, const struct report *r,
		    const struct stack *const *shown, size_t shown_count)
{
	const bool judged = r->snapshot->verdict.state == VERDICT_TAKEN;
	const size_t taken = BRIEF_STACK_WIDTH + (judged ? BRIEF_LOST_WIDTH : 0);
	char **labels;

	if (!shown_count)
		return;
	labels = row_labels(options, r, shown, shown_count, brief_room(options, taken));
	fputc('\n', out);
	text_set_style(out, options, TEXT_DIM);
	fprintf(out, BRIEF_STACK, "#", "LIVE", "BLOCKS", "CHANGE");
	if (judged)
		fprintf(out, BRIEF_LOST, "LOST");
	fputs("ALLOCATED IN\n", out);
	text_set_style(out, options, TEXT_NONE);
	for (size_t i = 0; i < shown_count; i++)
		brief_put_row(out, options, text_listed(r), i + 1, shown[i],
			      labels ? labels[i] : "?");
	row_labels_free(labels, shown_count);
}

/* ---- processes ---------------------------------------------------------------------------- */

struct round_row {
	pid_t pid;
	size_t processes; /* of a program; 0: one process */
	char comm[17];
	struct amount live;
	int64_t delta_bytes;
	bool interval, idle;
	char *page, *site; /* NULL: no stack */
};

struct text_rounds {
	struct round_row *rows;
	size_t count, capacity;
};

struct text_rounds *text_rounds_new(void)
{
	return calloc(1, sizeof(struct text_rounds));
}

static void rounds_clear(struct text_rounds *rounds)
{
	for (size_t i = 0; i < rounds->count; i++) {
		free(rounds->rows[i].page);
		free(rounds->rows[i].site);
	}
	rounds->count = 0;
}

void text_rounds_free(struct text_rounds *rounds)
{
	if (!rounds)
		return;
	rounds_clear(rounds);
	free(rounds->rows);
	free(rounds);
}

#define BRIEF_PROCESS	    "%7s %-15s %10s %8s %11s  "
#define BRIEF_PROCESS_WIDTH (7 + 1 + 15 + 1 + 10 + 1 + 8 + 1 + 11 + 2)

int text_rounds_take(struct text_rounds *rounds, const struct export_options *options,
		     const struct report *r, const struct stack *const *shown, size_t shown_count,
		     char *page)
{
	const struct snapshot *s = r->snapshot;
	char label[TEXT_FIT_MAX];
	struct round_row *row;

	if (!RESERVE_ITEM(rounds->rows, rounds->count, rounds->capacity, 16)) {
		free(page);
		return -ENOMEM;
	}
	row = &rounds->rows[rounds->count++];
	*row = (struct round_row){
		.pid = s->pid,
		.processes = s->processes,
		.live = s->live,
		.delta_bytes = r->delta_bytes,
		.interval = s->interval_ns != 0,
		.idle = !s->final && !s->execed &&
			(s->interval_ns ? !r->delta_bytes && !r->delta_count : !s->live.count),
		.page = page,
	};
	snprintf(row->comm, sizeof(row->comm), "%.*s", (int)sizeof(s->comm), s->comm);
	if (shown_count)
		row->site =
			strdup(row_label(label, options, r, shown[0],
					 brief_room(options, BRIEF_PROCESS_WIDTH), LABEL_USUAL));
	return 0;
}

int text_rounds_append(struct text_rounds *rounds, const char *text)
{
	struct round_row *row;
	char *page;

	if (!rounds->count)
		return 0;
	row = &rounds->rows[rounds->count - 1];
	if (asprintf(&page, "%s%s", row->page, text) < 0)
		return -ENOMEM;
	free(row->page);
	row->page = page;
	return 0;
}

static int rounds_by_live(const void *a, const void *b)
{
	const struct round_row *x = *(struct round_row *const *)a;
	const struct round_row *y = *(struct round_row *const *)b;

	if (x->live.bytes != y->live.bytes)
		return x->live.bytes < y->live.bytes ? 1 : -1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static void rounds_put_row(FILE *out, const struct round_row *row)
{
	char pid[32], live[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX], change[FORMAT_BYTES_MAX];
	char comm[TEXT_FIT_MAX];

	snprintf(pid, sizeof(pid), "%d", (int)row->pid);
	if (row->processes)
		snprintf(pid, sizeof(pid), "%zu of", row->processes);
	text_shorten(comm, *row->comm ? row->comm : "?", 15);
	snprintf(change, sizeof(change), row->interval ? "no change" : "-");
	if (row->interval && row->delta_bytes)
		format_bytes_signed(change, row->delta_bytes);
	fprintf(out, BRIEF_PROCESS "%s\n", pid, comm, format_bytes(live, row->live.bytes),
		format_grouped(count, row->live.count), change, row->site ?: "-");
}

static int rounds_put_table(FILE *out, const struct export_options *options,
			    const struct text_rounds *rounds)
{
	_cleanup_free_ const struct round_row **rows = calloc(rounds->count, sizeof(*rows));
	size_t idle = 0;

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < rounds->count; i++) {
		rows[i] = &rounds->rows[i];
		idle += rounds->rows[i].idle;
	}
	qsort(rows, rounds->count, sizeof(*rows), rounds_by_live);
	text_set_style(out, options, TEXT_DIM);
	fprintf(out, BRIEF_PROCESS "%s\n", "PID", "COMMAND", "LIVE", "BLOCKS", "CHANGE", "MOST IN");
	text_set_style(out, options, TEXT_NONE);
	for (size_t i = 0; i < rounds->count; i++)
		rounds_put_row(out, rows[i]);
	if (idle && !options->verbose)
		fprintf(out, "%zu without change %s left out below (-v)\n", idle,
			text_plural(idle, "is", "are"));
	fputc('\n', out);
	return 0;
}

int text_rounds_write(struct text_rounds *rounds, struct exporter *e)
{
	const bool several = rounds->count > 1;
	char *text = NULL;
	size_t len = 0;
	FILE *out;
	int err = 0;

	if (!rounds->count)
		return 0;
	out = open_memstream(&text, &len);
	if (!out)
		return -ENOMEM;
	if (several)
		err = rounds_put_table(out, &e->options, rounds);
	for (size_t i = 0; i < rounds->count; i++) {
		if (!several || !rounds->rows[i].idle || e->options.verbose)
			fputs(rounds->rows[i].page, out);
	}
	rounds_clear(rounds);
	err = close_memstream(out) ?: err ?: text_page_write(e, text, len);
	free(text);
	return err;
}

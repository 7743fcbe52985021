// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The data of the page, as JSON in a script element that is no script. What it means is at the top
 * of html/model.js. Names of a target may hold anything, "</script>" for one: no '<' is written as
 * it is.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/lost_cause.h"
#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/export/html.h"
#include "user/model/function_name.h"
#include "user/export/json_parts.h"
#include "user/model/lost_causes.h"

/* ---- names -------------------------------------------------------------------------------- */

/*
 * Numbers of strings by which frames name them, 0 for none; build-ids are strings of the table,
 * too, and are left out.
 */
static int number_strings(const struct frame_table *table, uint32_t **numbers)
{
	uint32_t *used = calloc(frame_table_string_count(table) + 1, sizeof(*used)), next = 0;

	if (!used)
		return -ENOMEM;
	for (uint32_t i = 1; i <= frame_table_frame_count(table); i++) {
		const struct frame_strings *s = frame_table_strings_of(table, i);

		used[s->function] = used[s->module] = used[s->module_path] = used[s->file] = 1;
	}
	used[0] = 0;
	for (size_t i = 1; i <= frame_table_string_count(table); i++) {
		if (used[i])
			used[i] = ++next;
	}
	*numbers = used;
	return 0;
}

static void html_put_frame(struct json *to, const struct frame *f, const struct frame_strings *s,
			   const uint32_t *numbers)
{
	char offset[17], folded[FUNCTION_NAME_MAX] = "";

	json_line(to);
	json_array(to, NULL);
	json_number(to, NULL, numbers[s->function]);
	json_number(to, NULL, numbers[s->module]);
	json_number(to, NULL, numbers[s->module_path]);
	json_number(to, NULL, numbers[s->file]);
	json_number(to, NULL, f->line);
	json_number(to, NULL, f->inlined);
	/* Offsets as text: JavaScript's numbers have 53 bits. */
	snprintf(offset, sizeof(offset), "%" PRIx64, f->offset);
	json_text(to, NULL, offset);
	if (f->function && f->kind == FRAME_KIND_NATIVE)
		function_name_fold(folded, f->function);
	if (f->kind != FRAME_KIND_NATIVE)
		json_text(to, NULL, frame_kind_name(f->kind));
	else if (*folded && strcmp(folded, f->function) != 0) {
		json_text(to, NULL, "");
		json_text(to, NULL, folded);
	}
	json_end(to);
}

static void put_names(struct json *to, const struct frame_table *table, const uint32_t *numbers,
		      const struct site_rules *sites)
{
	json_array(to, "strings");
	json_text(to, NULL, "");
	for (uint32_t i = 1; i <= frame_table_string_count(table); i++) {
		if (!numbers[i])
			continue;
		json_line(to);
		json_text(to, NULL, frame_table_string_at(table, i, NULL));
	}
	json_end(to);
	json_line(to);
	json_array(to, "frames");
	json_number(to, NULL, 0);
	for (uint32_t i = 1; i <= frame_table_frame_count(table); i++)
		html_put_frame(to, frame_table_frame_at(table, i), frame_table_strings_of(table, i),
			       numbers);
	json_end(to);
	json_line(to);
	json_array(to, "stacks");
	json_number(to, NULL, 0);
	for (uint32_t i = 1; i <= frame_table_stack_count(table); i++) {
		size_t count;
		const uint32_t *ids = frame_table_stack_ids(table, i, &count);

		if (count)
			json_line(to);
		json_array(to, NULL);
		for (size_t k = 0; k < count; k++)
			json_number(to, NULL, ids[k]);
		json_end(to);
	}
	json_end(to);
	json_line(to);
	/* Which of its frames stands for each: 0: none but the allocation function is known. */
	json_array(to, "sites");
	json_number(to, NULL, 0);
	for (uint32_t i = 1; i <= frame_table_stack_count(table); i++) {
		size_t count;
		const struct frame *const *frames = frame_table_stack_at(table, i, &count);

		json_number(to, NULL, frames_site(frames, count, sites));
	}
	json_end(to);
	putc('\n', to->out);
}

/* ---- targets ------------------------------------------------------------------------------ */

/* One number of every point, which is at `offset` in it. With `unknown`, 0 is no number. */
static void put_series(struct json *to, const struct html_target *t, const char *key, size_t offset,
		       bool unknown)
{
	json_line(to);
	json_array(to, key);
	for (size_t i = 0; i < t->point_count; i++) {
		uint64_t value;

		memcpy(&value, (const char *)&t->points[i] + offset, sizeof(value));
		if (unknown && !value)
			json_null(to, NULL);
		else
			json_number(to, NULL, value);
	}
	json_end(to);
}

static void put_points(struct json *to, const struct html_target *t)
{
	static const struct {
		const char *key;
		size_t offset;
		bool unknown;
	} series[] = {
		{"live", offsetof(struct html_point, live.bytes), false},
		{"count", offsetof(struct html_point, live.count), false},
		{"alloc", offsetof(struct html_point, alloc.bytes), false},
		{"allocs", offsetof(struct html_point, alloc.count), false},
		{"rss", offsetof(struct html_point, memory.rss), true},
		{"anon", offsetof(struct html_point, memory.anon), true},
	};

	json_line(to);
	json_array(to, "time");
	for (size_t i = 0; i < t->point_count; i++)
		json_number(to, NULL, t->points[i].time_ns / NS_PER_MS);
	json_end(to);
	for (size_t i = 0; i < ARRAY_SIZE(series); i++)
		put_series(to, t, series[i].key, series[i].offset, series[i].unknown);
}

/* A row's values where they change: how many moments later, and by how much each. */
static void put_changes(struct json *to, const struct html_target *t, size_t row)
{
	struct html_values last = {0};
	size_t at = 0;

	json_array(to, NULL);
	for (size_t i = 0; i < t->moment_count; i++) {
		const struct html_moment *m = &t->moments[i];
		struct html_values now = {0};

		if (row < m->count)
			now = m->values[row];
		if (!memcmp(&now, &last, sizeof(now)))
			continue;
		json_number(to, NULL, i - at);
		json_signed(to, NULL, (int64_t)(now.live.bytes - last.live.bytes));
		json_signed(to, NULL, (int64_t)(now.live.count - last.live.count));
		json_signed(to, NULL, (int64_t)(now.alloc.bytes - last.alloc.bytes));
		json_signed(to, NULL, (int64_t)(now.alloc.count - last.alloc.count));
		last = now;
		at = i;
	}
	json_end(to);
}

/* What holds a block, a line each, names as people read them. */
static void html_put_holders(struct json *to, const char *path)
{
	_cleanup_free_ char *copy = strdup(path);
	char folded[FUNCTION_NAME_MAX], *rest = copy, *line;

	json_array(to, NULL);
	while (rest && (line = strsep(&rest, "\n")) != NULL)
		json_text(to, NULL, function_name_fold_within(folded, line));
	json_end(to);
}

static void html_put_classes(struct json *to, const struct html_row *row)
{
	json_array(to, NULL);
	for (int i = 0; i < VERDICT_CLASSES; i++) {
		json_number(to, NULL, row->verdict[i].bytes);
		json_number(to, NULL, row->verdict[i].count);
	}
	json_end(to);
}

static void html_put_row(struct json *to, const struct html_target *t, size_t row)
{
	const struct html_row *r = &t->rows[row];
	char id[17];

	json_line(to);
	json_array(to, NULL);
	snprintf(id, sizeof(id), "%016" PRIx64, r->id);
	json_text(to, NULL, id);
	json_number(to, NULL, r->frames);
	json_signed(to, NULL, r->frames ? (int)r->end : -1);
	json_number(to, NULL, r->oldest_ns / NS_PER_MS);
	put_changes(to, t, row);
	if (t->verdict.state == VERDICT_TAKEN)
		html_put_classes(to, r);
	if (t->verdict.state == VERDICT_TAKEN && r->held_by)
		html_put_holders(to, r->held_by);
	json_end(to);
}

static void put_rows(struct json *to, const struct html_target *t)
{
	json_line(to);
	json_array(to, "moments");
	for (size_t i = 0; i < t->moment_count; i++)
		json_number(to, NULL, t->moments[i].time_ns / NS_PER_MS);
	json_end(to);
	json_line(to);
	json_array(to, "rows");
	for (size_t i = 0; i < t->row_count; i++) {
		if (!t->rows[i].hidden)
			html_put_row(to, t, i);
	}
	json_end(to);
}

static void html_put_verdict(struct json *to, const struct verdict *v)
{
	if (v->state != VERDICT_REFUSED && v->state != VERDICT_TAKEN)
		return;
	json_object(to, "verdict");
	if (v->state == VERDICT_REFUSED) {
		json_text(to, "refused", v->reason);
	} else {
		json_number(to, "pause", v->pause_ns / NS_PER_MS);
		json_bool(to, "approximate", v->approximate);
		json_number(to, "unknown", v->unknown_bytes);
		json_number(to, "unread", v->unread_bytes);
	}
	json_end(to);
}

/* What is said of it: kind and sentence. */
static void html_put_findings(struct json *to, const struct findings *findings)
{
	if (!findings)
		return;
	json_array(to, "findings");
	for (size_t i = 0; i < findings->count; i++) {
		json_array(to, NULL);
		json_text(to, NULL, finding_kind_name(findings->items[i].kind));
		json_text(to, NULL, findings->items[i].text);
		json_end(to);
	}
	json_end(to);
}

static void put_left_out(struct json *to, const struct html_target *t)
{
	if (!t->left_out_stacks)
		return;
	json_array(to, "left_out");
	json_number(to, NULL, t->left_out.bytes);
	json_number(to, NULL, t->left_out.count);
	json_number(to, NULL, t->left_out_stacks);
	json_end(to);
}

static void html_put_target(struct json *to, const struct html_target *t)
{
	char end[PROCESS_END_TEXT_MAX];

	json_line(to);
	json_object(to, NULL);
	json_signed(to, "pid", t->pid);
	json_text(to, "comm", *t->comm ? t->comm : "?");
	if (t->cmdline) {
		json_array(to, "cmdline");
		for (char **arg = t->cmdline; *arg; arg++)
			json_text(to, NULL, *arg);
		json_end(to);
	}
	json_number(to, "start", t->start_ns / NS_PER_MS);
	json_bool(to, "exited", t->exited);
	if (t->exited)
		json_text(to, "end", process_end_text(&t->end, end));
	json_bool(to, "execed", t->execed);
	json_bool(to, "window", t->window);
	json_number(to, "sample_bytes", t->sample_bytes);
	json_number(to, "unknown_frees", t->unknown_frees);
	json_object(to, "lost");
	for (int i = 0; i < LOST_CAUSES; i++) {
		if (t->lost[i])
			json_number(to, lost_cause_text((enum lost_cause)i), t->lost[i]);
	}
	json_end(to);
	html_put_findings(to, t->findings);
	html_put_verdict(to, &t->verdict);
	put_left_out(to, t);
	for (int i = 0; i < MISUSE_FINDERS; i++)
		html_put_misuses(to, &t->misuses[i], (enum misuse_finder)i);
	html_put_scopes(to, t);
	html_put_figures(to, t);
	put_points(to, t);
	put_rows(to, t);
	json_end(to);
}

/* ---- the page ----------------------------------------------------------------------------- */

static int html_put_page(FILE *out, const struct html *h)
{
	_cleanup_free_ uint32_t *numbers = NULL;
	int err = number_strings(h->table, &numbers);
	struct json to;

	if (err)
		return err;
	fputs(html_page_before, out);
	json_begin(&to, out, JSON_IN_PAGE);
	json_object(&to, NULL);
	json_number(&to, "version", 1);
	json_text(&to, "tool", MEMLEAKBPF_VERSION);
	json_array(&to, "ends");
	for (int i = 0; i < STACK_ENDS; i++) {
		const char *label = stack_end_label((enum stack_end)i);

		json_text(&to, NULL, label ? label : "");
	}
	json_end(&to);
	json_text(&to, "unknown", STACK_UNKNOWN_LABEL);
	put_names(&to, h->table, numbers, &h->base.options.sites);
	json_array(&to, "targets");
	for (size_t i = 0; i < h->target_count; i++)
		html_put_target(&to, &h->targets[i]);
	json_end(&to);
	if (h->survey.reports)
		html_put_survey(&to, &h->survey);
	json_end(&to);
	putc('\n', out);
	fputs(html_page_after, out);
	return 0;
}

int html_write(struct html *h)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int err, closed;

	if (!out)
		return -ENOMEM;
	err = html_put_page(out, h);
	closed = close_memstream(out);
	err = err ?: closed;
	err = err ?: exporter_write_document(&h->base, text, len);
	free(text);
	return err;
}

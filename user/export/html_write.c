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

#include "user/base/clock.h"
#include "user/base/text.h"
#include "user/base/util.h"
#include "user/export/html.h"

#ifndef MEMLEAKBPF_VERSION
#define MEMLEAKBPF_VERSION "0.1.0"
#endif

void html_put_text(FILE *out, const char *text)
{
	static const struct text_rules rules = {.invalid = "\\ufffd"};

	fputc('"', out);
	while (*text) {
		struct text_piece piece = text_next(&text, &rules);
		uint32_t point = piece.point;

		if (point < 0x20 || point == 0x7f || point == '<' || point == '"' || point == '\\')
			fprintf(out, "\\u%04x", (unsigned)point);
		else
			fwrite(piece.bytes, 1, piece.len, out);
	}
	fputc('"', out);
}

static void put_key_text(FILE *out, const char *key, const char *text)
{
	if (!text)
		return;
	fprintf(out, ",\"%s\":", key);
	html_put_text(out, text);
}

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

static void put_names(FILE *out, const struct frame_table *table, const uint32_t *numbers)
{
	fputs(",\"strings\":[\"\"", out);
	for (uint32_t i = 1; i <= frame_table_string_count(table); i++) {
		if (!numbers[i])
			continue;
		fputs(",\n", out);
		html_put_text(out, frame_table_string_at(table, i, NULL));
	}
	fputs("],\n\"frames\":[0", out);
	for (uint32_t i = 1; i <= frame_table_frame_count(table); i++) {
		const struct frame *f = frame_table_frame_at(table, i);
		const struct frame_strings *s = frame_table_strings_of(table, i);

		/* Offsets as text: JavaScript's numbers have 53 bits. */
		fprintf(out, ",\n[%u,%u,%u,%u,%u,%d,\"%" PRIx64 "\"]", numbers[s->function],
			numbers[s->module], numbers[s->module_path], numbers[s->file], f->line,
			f->inlined, f->offset);
	}
	fputs("],\n\"stacks\":[0", out);
	for (uint32_t i = 1; i <= frame_table_stack_count(table); i++) {
		size_t count;
		const uint32_t *ids = frame_table_stack_ids(table, i, &count);

		for (size_t k = 0; k < count; k++)
			fprintf(out, "%s%u", k ? "," : ",\n[", ids[k]);
		fputs(count ? "]" : ",[]", out);
	}
	fputs("]\n", out);
}

/* ---- targets ------------------------------------------------------------------------------ */

/* One number of every point, which is at `offset` in it. With `unknown`, 0 is no number. */
static void put_series(FILE *out, const struct html_target *t, const char *key, size_t offset,
		       bool unknown)
{
	fprintf(out, ",\n\"%s\":[", key);
	for (size_t i = 0; i < t->point_count; i++) {
		uint64_t value;

		memcpy(&value, (const char *)&t->points[i] + offset, sizeof(value));
		if (unknown && !value)
			fputs(i ? ",null" : "null", out);
		else
			fprintf(out, "%s%" PRIu64, i ? "," : "", value);
	}
	fputc(']', out);
}

static void put_points(FILE *out, const struct html_target *t)
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

	fputs(",\n\"time\":[", out);
	for (size_t i = 0; i < t->point_count; i++)
		fprintf(out, "%s%" PRIu64, i ? "," : "", t->points[i].time_ns / NS_PER_MS);
	fputc(']', out);
	for (size_t i = 0; i < ARRAY_SIZE(series); i++)
		put_series(out, t, series[i].key, series[i].offset, series[i].unknown);
}

/* A row's values where they change: how many moments later, and by how much each. */
static void put_changes(FILE *out, const struct html_target *t, size_t row)
{
	struct html_values last = {0};
	size_t at = 0;
	bool first = true;

	for (size_t i = 0; i < t->moment_count; i++) {
		const struct html_moment *m = &t->moments[i];
		struct html_values now = {0};

		if (row < m->count)
			now = m->values[row];
		if (!memcmp(&now, &last, sizeof(now)))
			continue;
		fprintf(out, "%s%zu,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64, first ? "" : ",",
			i - at, (int64_t)(now.live.bytes - last.live.bytes),
			(int64_t)(now.live.count - last.live.count),
			(int64_t)(now.alloc.bytes - last.alloc.bytes),
			(int64_t)(now.alloc.count - last.alloc.count));
		last = now;
		at = i;
		first = false;
	}
}

static void put_classes(FILE *out, const struct html_row *row)
{
	for (int i = 0; i < VERDICT_CLASSES; i++)
		fprintf(out, "%s%" PRIu64 ",%" PRIu64, i ? "," : ",[", row->verdict[i].bytes,
			row->verdict[i].count);
	fputc(']', out);
}

/* What holds the youngest block, from the root on. */
static void put_holder(FILE *out, const char *path)
{
	_cleanup_free_ char *copy = strdup(path);
	const char *line, *separator = "";
	char *rest = copy;

	fputs(",[", out);
	while (rest && (line = strsep(&rest, "\n")) != NULL) {
		fputs(separator, out);
		html_put_text(out, line);
		separator = ",";
	}
	fputc(']', out);
}

static void put_rows(FILE *out, const struct html_target *t)
{
	const char *separator = "\n";

	fputs(",\n\"moments\":[", out);
	for (size_t i = 0; i < t->moment_count; i++)
		fprintf(out, "%s%" PRIu64, i ? "," : "", t->moments[i].time_ns / NS_PER_MS);
	fputs("],\n\"rows\":[", out);
	for (size_t i = 0; i < t->row_count; i++) {
		const struct html_row *r = &t->rows[i];

		if (r->hidden)
			continue;
		fprintf(out, "%s[\"%016" PRIx64 "\",%u,%d,%" PRIu64 ",[", separator, r->id,
			r->frames, r->frames ? (int)r->end : -1, r->oldest_ns / NS_PER_MS);
		put_changes(out, t, i);
		fputc(']', out);
		if (t->verdict.state == VERDICT_TAKEN)
			put_classes(out, r);
		if (t->verdict.state == VERDICT_TAKEN && r->held_by)
			put_holder(out, r->held_by);
		fputc(']', out);
		separator = ",\n";
	}
	fputc(']', out);
}

static void put_verdict(FILE *out, const struct verdict *v)
{
	if (v->state == VERDICT_REFUSED) {
		fputs(",\"verdict\":{\"refused\":", out);
		html_put_text(out, v->reason);
		fputc('}', out);
	}
	if (v->state == VERDICT_TAKEN)
		fprintf(out,
			",\"verdict\":{\"pause\":%" PRIu64
			",\"approximate\":%s,\"unknown\":%" PRIu64 ",\"unread\":%" PRIu64 "}",
			v->pause_ns / NS_PER_MS, v->approximate ? "true" : "false",
			v->unknown_bytes, v->unread_bytes);
}

static void put_target(FILE *out, const struct html_target *t)
{
	const char *separator = "";

	fprintf(out, "{\"pid\":%d", (int)t->pid);
	put_key_text(out, "comm", *t->comm ? t->comm : "?");
	if (t->cmdline) {
		fputs(",\"cmdline\":[", out);
		for (char **arg = t->cmdline; *arg; arg++) {
			fputs(arg == t->cmdline ? "" : ",", out);
			html_put_text(out, *arg);
		}
		fputc(']', out);
	}
	fprintf(out, ",\"start\":%" PRIu64 ",\"exited\":%s,\"execed\":%s,\"window\":%s",
		t->start_ns / NS_PER_MS, t->exited ? "true" : "false", t->execed ? "true" : "false",
		t->window ? "true" : "false");
	fprintf(out, ",\"sample_bytes\":%" PRIu64 ",\"unknown_frees\":%" PRIu64 ",\"lost\":{",
		t->sample_bytes, t->unknown_frees);
	for (int i = 0; i < LOST_CAUSES; i++) {
		if (!t->lost[i])
			continue;
		fputs(separator, out);
		html_put_text(out, lost_cause_text((enum lost_cause)i));
		fprintf(out, ":%" PRIu64, t->lost[i]);
		separator = ",";
	}
	fputc('}', out);
	put_verdict(out, &t->verdict);
	if (t->left_out_stacks)
		fprintf(out, ",\"left_out\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
			t->left_out.bytes, t->left_out.count, t->left_out_stacks);
	html_put_bad_frees(out, t);
	put_points(out, t);
	put_rows(out, t);
	fputs("}", out);
}

/* ---- the page ----------------------------------------------------------------------------- */

static int put_page(FILE *out, const struct html *h)
{
	_cleanup_free_ uint32_t *numbers = NULL;
	int err = number_strings(h->table, &numbers);

	if (err)
		return err;
	fputs(html_page_before, out);
	fputs("{\"version\":1", out);
	put_key_text(out, "tool", MEMLEAKBPF_VERSION);
	fputs(",\"ends\":[", out);
	for (int i = 0; i < STACK_ENDS; i++) {
		const char *label = stack_end_label((enum stack_end)i);

		fputs(i ? "," : "", out);
		html_put_text(out, label ? label : "");
	}
	fputs("],\"unknown\":", out);
	html_put_text(out, STACK_UNKNOWN_LABEL);
	put_names(out, h->table, numbers);
	fputs(",\"targets\":[", out);
	for (size_t i = 0; i < h->target_count; i++) {
		fputs(i ? ",\n" : "\n", out);
		put_target(out, &h->targets[i]);
	}
	fputc(']', out);
	if (h->survey.reports)
		html_put_survey(out, &h->survey);
	fputs("}\n", out);
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
	err = put_page(out, h);
	closed = close_memstream(out);
	err = err ?: closed;
	err = err ?: exporter_write_document(&h->base, text, len);
	free(text);
	return err;
}

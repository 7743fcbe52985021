// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/export/json_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/export/render.h"
#include "user/export/scopes_shown.h"

static void json_put_frame(struct json *to, const struct frame *frame, bool verbose)
{
	json_object(to, NULL);
	json_text(to, "function", frame->function);
	if (frame->kind != FRAME_KIND_NATIVE)
		json_text(to, "kind", frame_kind_name(frame->kind));
	json_text(to, "module", frame->module);
	if (frame_is_code(frame))
		json_number(to, "offset", frame->offset);
	json_text(to, "file", frame->file);
	if (frame->line)
		json_number(to, "line", frame->line);
	if (frame->line_begins)
		json_text(to, "line_of", "definition");
	json_bool(to, "inlined", frame->inlined);
	if (verbose) {
		json_text(to, "symbol", frame->symbol);
		json_text(to, "module_path", frame->module_path);
		if (frame_is_code(frame))
			json_number(to, "module_offset", frame->module_offset);
		if (frame->build_id && frame->build_id_len && frame->build_id_len <= 64)
			json_hex(to, "build_id", frame->build_id, frame->build_id_len);
	}
	json_end(to);
}

void json_put_frames(struct json *to, const char *key, const struct frame *const *frames,
		     size_t count, bool verbose)
{
	json_array(to, key);
	for (size_t i = 0; frames && i < count; i++)
		json_put_frame(to, frames[i], verbose);
	json_end(to);
}

void json_put_site(struct json *to, const struct export_options *options,
		   const struct frame *const *frames, size_t count)
{
	size_t at = frames_site(frames, count, &options->sites);
	const struct frame *site = at ? frames[at] : NULL;

	if (!site)
		return;
	json_object(to, "site");
	json_text(to, "function", site->function);
	json_text(to, "module", site->module);
	if (!site->function && frame_is_code(site))
		json_number(to, "offset", site->offset);
	json_text(to, "file", site->file);
	if (site->line)
		json_number(to, "line", site->line);
	json_bool(to, "own", frame_owner(site, &options->sites) == OWNER_PROGRAM);
	json_end(to);
}

void json_put_lines(struct json *to, const char *key, const char *text)
{
	json_array(to, key);
	for (;;) {
		size_t len = strcspn(text, "\n");

		json_text_part(to, NULL, text, len);
		if (!text[len])
			break;
		text += len + 1;
	}
	json_end(to);
}

/* "suppression": one that would take the stack out, as text. */
static void json_put_suppression(struct json *to, enum suppression_style style,
				 const struct report *r, const struct stack *stack)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out;

	if (style == SUPPRESSION_NONE)
		return;
	out = open_memstream(&text, &len);
	if (!out) {
		to->failed = true;
		return;
	}
	suppression_put(out, style, r, stack);
	if (close_memstream(out))
		to->failed = true;
	else
		json_text(to, "suppression", text);
	free(text);
}

static void json_put_stack_verdict(struct json *to, const struct stack *stack)
{
	json_object(to, "verdict");
	json_put_classes(to, stack->verdict);
	json_end(to);
	if (stack->kept.count)
		json_put_amount(to, "kept", &stack->kept);
	if (stack->hangs.count)
		json_put_amount(to, "hangs", &stack->hangs);
	json_put_unjoined(to, &stack->unjoined);
	if (stack->held_by)
		json_put_lines(to, "held_by", stack->held_by);
	if (stack->contents_len)
		json_hex(to, "contents", stack->contents, stack->contents_len);
}

void json_put_stack(struct json *to, const struct export_options *options, const struct report *r,
		    const struct stack *stack)
{
	const struct stack_notes *notes = report_notes(r, stack);
	const struct snapshot *s = r->snapshot;
	char id[17];

	json_object(to, NULL);
	snprintf(id, sizeof(id), "%016" PRIx64, stack->id);
	json_text(to, "id", id);
	json_put_amount(to, "live", &stack->live);
	json_put_amount(to, "alloc", &stack->alloc);
	json_put_amount(to, "free", &stack->free);
	if (options->show_older)
		json_put_amount(to, "older", &stack->older);
	/* Of live.bytes. */
	json_put_error(to, s->sample_bytes, stack->error_bytes);
	if (stack->oldest_ns)
		json_number(to, "oldest_ms", stack->oldest_ns / NS_PER_MS);
	json_put_growth(to, notes->delta_bytes, notes->delta_count, s->interval_ns, &notes->trend);
	json_put_figures(to, s, stack);
	if (s->verdict.state == VERDICT_TAKEN)
		json_put_stack_verdict(to, stack);
	json_bool(to, "truncated", stack->truncated);
	json_text(to, "end", stack_end_name(stack->end));
	json_put_scope_of(to, s, stack);
	json_put_frames(to, "frames", notes->frames, notes->frame_count, options->verbose);
	json_put_site(to, options, notes->frames, notes->frame_count);
	json_put_suppression(to, options->suppressions, r, stack);
	json_end(to);
}

void json_put_suppressed(struct json *to, const struct suppressed *suppressed)
{
	json_object(to, "suppressed");
	json_number(to, "bytes", suppressed->total.bytes);
	json_number(to, "count", suppressed->total.count);
	json_number(to, "hidden_stacks", suppressed->stacks);
	json_array(to, "rules");
	for (size_t i = 0; i < suppressed->count; i++) {
		const struct suppressed_by *by = &suppressed->by[i];

		json_object(to, NULL);
		json_text(to, "name", by->name);
		json_text(to, "file", by->file);
		if (by->file)
			json_number(to, "line", by->line);
		json_number(to, "bytes", by->amount.bytes);
		json_number(to, "count", by->amount.count);
		json_number(to, "stacks", by->stacks);
		json_end(to);
	}
	json_end(to);
	json_end(to);
}

void json_put_time_of(struct json *to, const char *key, uint64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / NS_PER_S);
	char date[32], text[48];
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || !strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm)) {
		to->failed = true;
		return;
	}
	snprintf(text, sizeof(text), "%s.%03uZ", date, (unsigned)(time_ns / NS_PER_MS % 1000));
	json_text(to, key, text);
}

void json_put_time(struct json *to, uint64_t time_ns)
{
	json_put_time_of(to, "time", time_ns);
}

int json_output_begin(struct json_output *output)
{
	FILE *out;

	*output = (struct json_output){0};
	out = open_memstream(&output->text, &output->len);
	if (!out)
		return -ENOMEM;
	json_begin(&output->json, out, JSON_ALONE);
	json_object(&output->json, NULL);
	return 0;
}

int json_output_end(struct json_output *output, FILE *out)
{
	int err;

	json_end(&output->json);
	putc('\n', output->json.out);
	err = close_memstream(output->json.out);
	if (output->json.failed)
		err = -ENOMEM;
	/*
	 * Line and newline in one write: a reader at the other end of a pipe sees all or nothing of
	 * a short one.
	 */
	err = err ?: stream_write(out, output->text, output->len);
	free(output->text);
	return err;
}

void json_put_missing(struct json *to, const struct missing_parts *missing)
{
	if (!missing->count)
		return;
	json_array(to, "missing");
	for (size_t i = 0; i < missing->count; i++) {
		json_object(to, NULL);
		json_text(to, "what", missing->parts[i].what);
		json_text(to, "why", missing->parts[i].why);
		json_text(to, "costs", missing->parts[i].costs);
		json_end(to);
	}
	json_end(to);
}

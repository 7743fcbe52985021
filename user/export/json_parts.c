// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/export/json_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "user/base/clock.h"
#include "user/base/text.h"
#include "user/base/util.h"
#include "user/export/render.h"

void json_put(struct json to, const char *key, struct json_object *value)
{
	/* json-c would print a missing value as null. */
	if (!value || !to.object || json_object_object_add(to.object, key, value)) {
		json_object_put(value);
		*to.failed = true;
	}
}

void json_put_number(struct json to, const char *key, uint64_t value)
{
	json_put(to, key, json_object_new_uint64(value));
}

void json_put_rate(struct json to, const char *key, double value)
{
	static char format[] = "%.1f";
	struct json_object *number = json_object_new_double(value);

	if (number)
		json_object_set_serializer(number, json_object_double_to_json_string, format, NULL);
	json_put(to, key, number);
}

void json_put_fine_ms(struct json to, const char *key, uint64_t ns)
{
	static char format[] = "%.3f";
	struct json_object *number = json_object_new_double((double)ns / (double)NS_PER_MS);

	if (number)
		json_object_set_serializer(number, json_object_double_to_json_string, format, NULL);
	json_put(to, key, number);
}

void json_put_bool(struct json to, const char *key, bool value)
{
	json_put(to, key, json_object_new_boolean(value));
}

/*
 * json-c escapes control characters but hands other bytes on as they are, and names of a target
 * need not be UTF-8: what is not becomes U+FFFD, as the Unicode standard advises (chapter 3.9).
 */
struct json_object *json_new_string(const char *text)
{
	static const struct text_rules rules = {.invalid = "\xef\xbf\xbd"};
	struct json_object *string;
	/* At worst each byte becomes a replacement. */
	size_t size = strlen(text) * 3 + 1, len;
	char *clean = malloc(size);

	if (!clean)
		return NULL;
	len = text_copy(clean, size, text, SIZE_MAX, &rules);
	string = len <= INT32_MAX ? json_object_new_string_len(clean, (int)len) : NULL;
	free(clean);
	return string;
}

void json_put_string(struct json to, const char *key, const char *text)
{
	if (text)
		json_put(to, key, json_new_string(text));
}

void json_put_amount(struct json to, const char *key, const struct amount *amount)
{
	struct json object = {json_object_new_object(), to.failed};

	json_put_number(object, "bytes", amount->bytes);
	json_put_number(object, "count", amount->count);
	json_put(to, key, object.object);
}

void json_put_lost(struct json to, const uint64_t lost[static LOST_CAUSES])
{
	struct json object = {json_object_new_object(), to.failed};

	/* Zeros too: they say that the cause was watched and did not occur. */
	for (int i = 0; i < LOST_CAUSES; i++)
		json_put_number(object, lost_cause_name((enum lost_cause)i), lost[i]);
	json_put(to, "lost", object.object);
}

void json_put_classes(struct json to, const struct amount classes[static VERDICT_CLASSES])
{
	for (int i = 0; i < VERDICT_CLASSES; i++)
		json_put_amount(to, verdict_class_name((enum verdict_class)i), &classes[i]);
}

static void put_delta(struct json to, const char *key, int64_t bytes, int64_t count)
{
	struct json object = {json_object_new_object(), to.failed};

	json_put(object, "bytes", json_object_new_int64(bytes));
	json_put(object, "count", json_object_new_int64(count));
	json_put(to, key, object.object);
}

void json_put_growth(struct json to, int64_t bytes, int64_t count, uint64_t interval_ns)
{
	if (!interval_ns)
		return;
	put_delta(to, "delta", bytes, count);
	json_put_rate(to, "growth_bytes_per_s", (double)bytes * NS_PER_S / (double)interval_ns);
}

void json_put_trend(struct json to, const struct trend *trend)
{
	if (trend->growth_known)
		json_put_rate(to, "growth_bytes_per_s", trend->growth);
	json_put_string(to, "trend", trend_name(trend->kind));
}

void json_append(struct json_object *array, struct json_object *value, bool *failed)
{
	if (!value || !array || json_object_array_add(array, value)) {
		json_object_put(value);
		*failed = true;
	}
}

static void put_build_id(struct json to, const struct frame *frame)
{
	char hex[2 * 64 + 1];

	if (!frame->build_id || !frame->build_id_len || frame->build_id_len > 64)
		return;
	for (size_t i = 0; i < frame->build_id_len; i++)
		snprintf(hex + 2 * i, 3, "%02x", frame->build_id[i]);
	json_put_string(to, "build_id", hex);
}

struct json_object *json_new_frame(const struct frame *frame, bool verbose, bool *failed)
{
	struct json to = {json_object_new_object(), failed};

	json_put_string(to, "function", frame->function);
	json_put_string(to, "module", frame->module);
	json_put_number(to, "offset", frame->offset);
	json_put_string(to, "file", frame->file);
	if (frame->line)
		json_put_number(to, "line", frame->line);
	json_put_bool(to, "inlined", frame->inlined);
	if (verbose) {
		json_put_string(to, "symbol", frame->symbol);
		json_put_string(to, "module_path", frame->module_path);
		json_put_number(to, "module_offset", frame->module_offset);
		put_build_id(to, frame);
	}
	return to.object;
}

/* From the root on. */
static void put_held_by(struct json to, const char *path)
{
	char *copy = path ? strdup(path) : NULL, *rest = copy;
	struct json_object *steps;

	if (!path)
		return;
	steps = json_object_new_array();
	while (rest)
		json_append(steps, json_new_string(strsep(&rest, "\n")), to.failed);
	*to.failed |= !copy;
	json_put(to, "held_by", steps);
	free(copy);
}

static void put_contents(struct json to, const struct stack *stack)
{
	char *hex = stack->contents_len ? malloc(2 * stack->contents_len + 1) : NULL;

	if (!stack->contents_len)
		return;
	for (size_t i = 0; hex && i < stack->contents_len; i++)
		snprintf(hex + 2 * i, 3, "%02x", (unsigned char)stack->contents[i]);
	*to.failed |= !hex;
	json_put_string(to, "contents", hex);
	free(hex);
}

struct json_object *json_new_stack(const struct export_options *options, const struct snapshot *s,
				   const struct stack *stack, bool *failed)
{
	struct json to = {json_object_new_object(), failed};
	struct json_object *frames = json_object_new_array();
	char id[17];

	snprintf(id, sizeof(id), "%016" PRIx64, stack->id);
	json_put_string(to, "id", id);
	json_put_amount(to, "live", &stack->live);
	json_put_amount(to, "alloc", &stack->alloc);
	json_put_amount(to, "free", &stack->free);
	if (options->show_older)
		json_put_amount(to, "older", &stack->older);
	/* One standard error of live.bytes, the estimate's. */
	if (s->sample_bytes)
		json_put_number(to, "error_bytes", saturate_u64(stack->error_bytes + 0.5));
	if (stack->oldest_ns)
		json_put_number(to, "oldest_ms", stack->oldest_ns / NS_PER_MS);
	json_put_growth(to, stack->delta_bytes, stack->delta_count, s->interval_ns);
	json_put_trend(to, &stack->trend);
	if (s->verdict.state == VERDICT_TAKEN) {
		struct json verdict = {json_object_new_object(), failed};

		json_put_classes(verdict, stack->verdict);
		json_put(to, "verdict", verdict.object);
		put_held_by(to, stack->held_by);
		put_contents(to, stack);
	}
	json_put_bool(to, "truncated", stack->truncated);
	json_put_string(to, "end", stack_end_name(stack->end));
	for (size_t i = 0; stack->frames && i < stack->frame_count; i++)
		json_append(frames, json_new_frame(stack->frames[i], options->verbose, failed),
			    failed);
	json_put(to, "frames", frames);
	json_put_suppression(to, options->suppressions, s, stack);
	return to.object;
}

void json_put_suppressed(struct json to, const struct snapshot *s)
{
	struct json all = {json_object_new_object(), to.failed};
	struct json_object *rules = json_object_new_array();

	json_put_number(all, "bytes", s->suppressed->total.bytes);
	json_put_number(all, "count", s->suppressed->total.count);
	json_put_number(all, "hidden_stacks", s->suppressed->stacks);
	for (size_t i = 0; i < s->suppressed->count; i++) {
		const struct suppressed_by *by = &s->suppressed->by[i];
		struct json rule = {json_object_new_object(), to.failed};

		json_put_string(rule, "name", by->name);
		json_put_string(rule, "file", by->file);
		if (by->file)
			json_put_number(rule, "line", by->line);
		json_put_number(rule, "bytes", by->amount.bytes);
		json_put_number(rule, "count", by->amount.count);
		json_put_number(rule, "stacks", by->stacks);
		json_append(rules, rule.object, to.failed);
	}
	json_put(all, "rules", rules);
	json_put(to, "suppressed", all.object);
}

void json_put_suppression(struct json to, enum suppression_style style, const struct snapshot *s,
			  const struct stack *stack)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out;

	if (style == SUPPRESSION_NONE)
		return;
	out = open_memstream(&text, &len);
	if (!out) {
		*to.failed = true;
		return;
	}
	suppression_put(out, style, s, stack);
	if (close_memstream(out))
		*to.failed = true;
	else
		json_put_string(to, "suppression", text);
	free(text);
}
void json_put_time(struct json to, uint64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / NS_PER_S);
	char date[32], text[48];
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || !strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm)) {
		*to.failed = true;
		return;
	}
	snprintf(text, sizeof(text), "%s.%03uZ", date, (unsigned)(time_ns / NS_PER_MS % 1000));
	json_put_string(to, "time", text);
}

int json_write_line(FILE *out, struct json_object *object)
{
	const char *text = NULL;
	char *line = NULL;
	size_t len = 0;
	int err = -ENOMEM;

	if (object)
		text = json_object_to_json_string_length(
			object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &len);
	if (text)
		line = malloc(len + 1);
	if (line) {
		/* Line and newline in one write: a reader at the other end of a pipe sees all or
		 * nothing of a short one. */
		memcpy(line, text, len);
		line[len] = '\n';
		err = stream_write(out, line, len + 1);
	}
	free(line);
	return err;
}

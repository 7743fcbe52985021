// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * -f json: one object a line per snapshot. The keys are a contract (docs/memleakbpf.1, JSON); a value that is not known has no key.
 */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "user/export/render.h"

#define NS_PER_MS 1000000ULL
#define NS_PER_S  1000000000ULL

/* An object whose keys could not all be added is never printed. */
struct json {
	struct json_object *object;
	bool *failed;
};

static void put(struct json to, const char *key, struct json_object *value)
{
	/* json-c would print a missing value as null. */
	if (!value || !to.object || json_object_object_add(to.object, key, value)) {
		json_object_put(value);
		*to.failed = true;
	}
}

static void put_number(struct json to, const char *key, uint64_t value)
{
	put(to, key, json_object_new_uint64(value));
}

static void put_bool(struct json to, const char *key, bool value)
{
	put(to, key, json_object_new_boolean(value));
}

/*
 * json-c escapes control characters but hands other bytes on as they are, and names of a target need not be UTF-8: what is not
 * becomes U+FFFD, as the Unicode standard advises (chapter 3.9).
 */
static struct json_object *new_string(const char *text)
{
	static const char replacement[] = "\xef\xbf\xbd";
	struct json_object *string;
	size_t len = 0;
	/* At worst each byte becomes a replacement. */
	char *clean = calloc(strlen(text) + 1, sizeof(replacement) - 1);

	if (!clean)
		return NULL;
	while (*text) {
		const char *start = text;

		if (utf8_next(&text) == UTF8_INVALID) {
			memcpy(clean + len, replacement, sizeof(replacement) - 1);
			len += sizeof(replacement) - 1;
		} else {
			memcpy(clean + len, start, (size_t)(text - start));
			len += (size_t)(text - start);
		}
	}
	string = len <= INT32_MAX ? json_object_new_string_len(clean, (int)len) : NULL;
	free(clean);
	return string;
}

static void put_string(struct json to, const char *key, const char *text)
{
	if (text)
		put(to, key, new_string(text));
}

static void put_amount(struct json to, const char *key, const struct amount *amount)
{
	struct json object = {json_object_new_object(), to.failed};

	put_number(object, "bytes", amount->bytes);
	put_number(object, "count", amount->count);
	put(to, key, object.object);
}

static void put_delta(struct json to, const char *key, int64_t bytes, int64_t count)
{
	struct json object = {json_object_new_object(), to.failed};

	put(object, "bytes", json_object_new_int64(bytes));
	put(object, "count", json_object_new_int64(count));
	put(to, key, object.object);
}

/* Change and rate since the last snapshot; of the first one nothing is known. */
static void put_growth(struct json to, int64_t bytes, int64_t count, uint64_t interval_ns)
{
	static char format[] = "%.1f";
	struct json_object *rate;

	if (!interval_ns)
		return;
	put_delta(to, "delta", bytes, count);
	rate = json_object_new_double((double)bytes * NS_PER_S / (double)interval_ns);
	if (rate)
		json_object_set_serializer(rate, json_object_double_to_json_string, format, NULL);
	put(to, "growth_bytes_per_s", rate);
}

/* Of a stack that is followed: the growth over the watch instead of the last interval's, and the judgement once there is one. */
static void put_trend(struct json to, const struct trend *trend)
{
	static char format[] = "%.1f";
	struct json_object *rate;

	if (trend->growth_known) {
		rate = json_object_new_double(trend->growth);
		if (rate)
			json_object_set_serializer(rate, json_object_double_to_json_string, format,
						   NULL);
		put(to, "growth_bytes_per_s", rate);
	}
	put_string(to, "trend", trend_name(trend->kind));
}

static void append(struct json_object *array, struct json_object *value, bool *failed)
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
	put_string(to, "build_id", hex);
}

static struct json_object *new_frame(const struct frame *frame, bool verbose, bool *failed)
{
	struct json to = {json_object_new_object(), failed};

	put_string(to, "function", frame->function);
	put_string(to, "module", frame->module);
	put_number(to, "offset", frame->offset);
	put_string(to, "file", frame->file);
	if (frame->line)
		put_number(to, "line", frame->line);
	put_bool(to, "inlined", frame->inlined);
	if (verbose) {
		put_string(to, "module_path", frame->module_path);
		put_number(to, "module_offset", frame->module_offset);
		put_build_id(to, frame);
	}
	return to.object;
}

static struct json_object *new_stack(const struct exporter *e, const struct snapshot *s,
				     const struct stack *stack, bool *failed)
{
	struct json to = {json_object_new_object(), failed};
	struct json_object *frames = json_object_new_array();
	char id[17];

	snprintf(id, sizeof(id), "%016" PRIx64, stack->id);
	put_string(to, "id", id);
	put_amount(to, "live", &stack->live);
	put_amount(to, "alloc", &stack->alloc);
	put_amount(to, "free", &stack->free);
	if (e->options.show_older)
		put_amount(to, "older", &stack->older);
	if (stack->oldest_ns)
		put_number(to, "oldest_ms", stack->oldest_ns / NS_PER_MS);
	put_growth(to, stack->delta_bytes, stack->delta_count, s->interval_ns);
	put_trend(to, &stack->trend);
	put_bool(to, "truncated", stack->truncated);
	put_string(to, "end", stack_end_name(stack->end));
	for (size_t i = 0; stack->frames && i < stack->frame_count; i++)
		append(frames, new_frame(stack->frames[i], e->options.verbose, failed), failed);
	put(to, "frames", frames);
	return to.object;
}

static void put_time(struct json to, uint64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / NS_PER_S);
	char date[32], text[48];
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || !strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm)) {
		*to.failed = true;
		return;
	}
	snprintf(text, sizeof(text), "%s.%03uZ", date, (unsigned)(time_ns / NS_PER_MS % 1000));
	put_string(to, "time", text);
}

static void put_target(struct json to, const struct snapshot *s)
{
	char comm[sizeof(s->comm) + 1];
	struct json_object *cmdline;

	put(to, "pid", json_object_new_int64(s->pid));
	snprintf(comm, sizeof(comm), "%.*s", (int)sizeof(s->comm), s->comm);
	if (*comm)
		put_string(to, "comm", comm);
	if (!s->cmdline)
		return;
	cmdline = json_object_new_array();
	for (char *const *arg = s->cmdline; *arg; arg++)
		append(cmdline, new_string(*arg), to.failed);
	put(to, "cmdline", cmdline);
}

static void put_lost(struct json to, const struct snapshot *s)
{
	struct json lost = {json_object_new_object(), to.failed};

	/* Zeros too: they say that the cause was watched and did not occur. */
	for (int i = 0; i < LOST_CAUSES; i++)
		put_number(lost, lost_cause_name((enum lost_cause)i), s->lost[i]);
	put(to, "lost", lost.object);
}

static struct json_object *new_snapshot(const struct exporter *e, const struct snapshot *s,
					const struct stack *const *shown, size_t shown_count,
					bool *failed)
{
	struct json to = {json_object_new_object(), failed};
	struct json_object *stacks = json_object_new_array();

	put_number(to, "version", 1);
	put_time(to, s->time_ns);
	put_number(to, "elapsed_ms", s->elapsed_ns / NS_PER_MS);
	if (s->interval_ns)
		put_number(to, "interval_ms", s->interval_ns / NS_PER_MS);
	put_target(to, s);
	put_bool(to, "final", s->final);
	put_bool(to, "exited", s->exited);
	if (s->execed)
		put_bool(to, "execed", true);
	if (s->children_late)
		put_bool(to, "attached_late", true);
	put_number(to, "sample_bytes", s->sample_bytes);
	put_amount(to, "live", &s->live);
	put_amount(to, "alloc", &s->alloc);
	put_amount(to, "free", &s->free);
	put_growth(to, s->delta_bytes, s->delta_count, s->interval_ns);
	put_number(to, "unknown_frees", s->unknown_frees);
	put_lost(to, s);
	if (e->options.show_older)
		put_number(to, "older_ms", e->options.older_ns / NS_PER_MS);
	put_number(to, "stack_count", s->stack_count);
	for (size_t i = 0; i < shown_count; i++)
		append(stacks, new_stack(e, s, shown[i], failed), failed);
	put(to, "stacks", stacks);
	return to.object;
}

static int json_snapshot(struct exporter *e, const struct snapshot *s,
			 const struct stack *const *shown, size_t shown_count)
{
	bool failed = false;
	struct json_object *object = new_snapshot(e, s, shown, shown_count, &failed);
	const char *text = NULL;
	char *line = NULL;
	size_t len = 0;
	int err = -ENOMEM;

	if (object && !failed)
		text = json_object_to_json_string_length(
			object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &len);
	if (text)
		line = malloc(len + 1);
	if (line) {
		/* Line and newline in one write: a reader at the other end of a pipe sees all or
		 * nothing of a short one. */
		memcpy(line, text, len);
		line[len] = '\n';
		err = exporter_write(e, line, len + 1);
	}
	free(line);
	json_object_put(object);
	return err;
}

const struct exporter_format format_json = {
	.name = "json",
	.help = "one JSON object a line per snapshot",
	.history = true,
	.open = exporter_new,
	.snapshot = json_snapshot,
	.close = exporter_close,
};

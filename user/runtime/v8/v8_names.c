// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/v8/v8_names.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/unwind.h"
#include "user/base/util.h"
#include "user/runtime/runtime_text.h"
#include "user/runtime/target_memory.h"
#include "user/runtime/v8/target_v8.h"

/* Of a target. A name takes some 200 bytes, once; a script four bytes a line. */
#define FUNCTIONS_MAX 500000
#define SCRIPTS_MAX   20000
#define SOURCE_MAX    (256u << 20)
#define SOURCE_CHUNK  65536
#define STRING_STEPS  4

void v8_optimised_free(struct v8_optimised *code)
{
	if (!code)
		return;
	free(code->sites);
	free(code->calls);
	free(code);
}

void target_v8_free(struct target_v8 *v8)
{
	struct v8_function *function, *next;
	struct v8_script *script, *next_script;
	struct v8_optimised *code, *next_code;

	HASH_ITER (hh, v8->functions, function, next) {
		HASH_DEL(v8->functions, function);
		v8_places_free(&function->lines);
		free(function);
	}
	HASH_ITER (hh, v8->scripts, script, next_script) {
		HASH_DEL(v8->scripts, script);
		v8_lines_free(&script->lines);
		free(script);
	}
	HASH_ITER (hh, v8->codes, code, next_code) {
		HASH_DEL(v8->codes, code);
		v8_optimised_free(code);
	}
	object_unref(v8->object);
	free(v8);
}

/* ---- a script's lines ---------------------------------------------------------------------- */

/* The words of an object: its map, and what is behind it. */
static bool v8_read_words(struct target_memory *memory, uint64_t object, uint64_t *words,
			  size_t count)
{
	return V8_IS_OBJECT(object) &&
	       target_memory_read(memory, object - 1, words, count * sizeof(*words));
}

static bool v8_read_type(struct target_memory *memory, const struct v8_row *row, uint64_t map,
			 uint16_t *type)
{
	return V8_IS_OBJECT(map) &&
	       target_memory_read(memory, map - 1 + row->map_type, type, sizeof(*type));
}

/* Where a string's characters are. */
struct v8_characters {
	uint64_t address;
	unsigned width;
};

static bool v8_find_characters(struct target_memory *memory, const struct v8_row *row,
			       uint64_t string, uint32_t length, struct v8_characters *out)
{
	uint64_t words[4], rest[2], skip = 0;
	uint16_t type;

	for (int i = 0; i < STRING_STEPS; i++) {
		if (!v8_read_words(memory, string, words, 4) ||
		    !v8_read_type(memory, row, words[0], &type) || type >= row->strings ||
		    (!i && words[1] >> 32 != length))
			return false;
		out->width = type & V8_STRING_ONE_BYTE ? 1 : 2;
		switch (type & V8_STRING_FORM) {
		case V8_FORM_SEQUENTIAL:
			out->address = string - 1 + V8_STRING_BYTES + skip * out->width;
			return true;
		case V8_FORM_EXTERNAL:
			out->address = words[3] + skip * out->width;
			return true;
		case V8_FORM_SLICED:
			skip += words[3] >> 32;
			break;
		case V8_FORM_THIN:
			break;
		case V8_FORM_CONS:
			/* One that is read from in one piece has nothing for its second part. */
			if (!v8_read_words(memory, words[3], rest, 2) || rest[1] >> 32)
				return false;
			break;
		default:
			return false;
		}
		string = words[2];
	}
	return false;
}

/* The script's text, if it is one and that is so long; 0: it is not. V8's collector may have moved either. */
static uint64_t v8_source_of(struct target_memory *memory, const struct v8_row *row,
			     uint64_t script, uint32_t length)
{
	uint64_t map, source, words[2];
	uint16_t type;

	if (!v8_read_words(memory, script, &map, 1) || !v8_read_type(memory, row, map, &type) ||
	    type != row->types[V8_SCRIPT].first ||
	    !target_memory_read(memory, script - 1 + row->script_source, &source, sizeof(source)) ||
	    !v8_read_words(memory, source, words, 2) ||
	    !v8_read_type(memory, row, words[0], &type) || type >= row->strings ||
	    words[1] >> 32 != length)
		return 0;
	return source;
}

/* Node has its own scripts in its file, of which what was not wanted so far is in no memory. */
static bool v8_read_text(struct target_memory *memory, const struct target_v8 *v8, uint64_t address,
			 void *to, size_t size)
{
	uint64_t offset;

	if (target_memory_read(memory, address, to, size))
		return true;
	return !object_vaddr_to_offset(v8->object, address - v8->bias, &offset) &&
	       pread(object_fd(v8->object), to, size, (off_t)offset) == (ssize_t)size;
}

static bool v8_read_lines(struct target_memory *memory, const struct target_v8 *v8,
			  const struct v8_characters *characters, uint32_t length,
			  struct v8_lines *lines)
{
	_cleanup_free_ uint8_t *chunk = malloc(SOURCE_CHUNK);
	size_t most = SOURCE_CHUNK / characters->width;

	for (uint32_t done = 0; done < length;) {
		size_t count = length - done < most ? length - done : most;

		if (!chunk ||
		    !v8_read_text(memory, v8,
				  characters->address + (uint64_t)done * characters->width, chunk,
				  count * characters->width) ||
		    !v8_lines_add(lines, chunk, count, characters->width))
			return false;
		done += (uint32_t)count;
	}
	return true;
}

static bool v8_script_fill(const struct runtime_target *target, struct v8_script *script)
{
	const struct target_v8 *v8 = target->states[RUNTIME_V8];
	const struct v8_row *row = &v8->row;
	uint64_t object = script->key.script, source;
	uint32_t length = (uint32_t)script->key.length;
	struct v8_characters characters;
	struct target_memory memory;
	bool filled;

	if (!length || length > SOURCE_MAX || target_memory_open(&memory, target->pid))
		return false;
	source = v8_source_of(&memory, row, object, length);
	filled = source && v8_find_characters(&memory, row, source, length, &characters) &&
		 v8_read_lines(&memory, v8, &characters, length, &script->lines);
	/* What was there meanwhile. */
	memory.page = 1;
	filled = filled && v8_source_of(&memory, row, object, length) == source;
	target_memory_close(&memory);
	return filled;
}

static uint64_t v8_hash_name(const char *name)
{
	uint64_t hash = 0;

	for (; name && *name; name++)
		hash = unwind_mix(hash, (uint8_t)*name);
	return hash;
}

/* NULL: its text cannot be read. */
static const struct v8_script *v8_script_get(const struct runtime_target *target,
					     const struct v8_function_event *event,
					     const char *name)
{
	struct target_v8 *v8 = target->states[RUNTIME_V8];
	struct v8_script *script, like = {.key = {.script = event->script,
						  .source = event->source,
						  .length = event->source_length,
						  .name = v8_hash_name(name)}};

	HASH_FIND(hh, v8->scripts, &like.key, sizeof(like.key), script);
	if (script)
		return script;
	if (HASH_COUNT(v8->scripts) >= SCRIPTS_MAX)
		return NULL;
	script = calloc(1, sizeof(*script));
	if (!script)
		return NULL;
	script->key = like.key;
	if (v8_script_fill(target, script)) {
		HASH_ADD(hh, v8->scripts, key, sizeof(script->key), script);
		if (script->hh.tbl)
			return script;
	}
	v8_lines_free(&script->lines);
	free(script);
	return NULL;
}

/* Of the text that has come with the function, up to its end; `lines` is empty. False: none has. */
static bool v8_lines_in_text(const struct v8_function_event *event, struct v8_lines *lines)
{
	return event->text_size && event->text_size <= V8_TEXT_BYTES &&
	       (event->text_width == 1 || event->text_width == 2) &&
	       v8_lines_add(lines, event->bytes, event->text_size / event->text_width,
			    event->text_width);
}

/* 0: it is not known. */
static uint32_t v8_line_at(const struct v8_function_event *event, const struct v8_lines *lines,
			   int32_t character)
{
	int64_t line = character < 0 ? 0 : v8_lines_find(lines, (uint32_t)character);

	line += line ? event->first_line : 0;
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

static const uint8_t *v8_table(const struct v8_function_event *event, enum v8_table table,
			       size_t *size)
{
	size_t at = event->text_size;

	for (unsigned i = 0; i < table; i++)
		at += event->sizes[i];
	*size = event->sizes[table];
	return event->bytes + at;
}

/* Which characters its calls are at. */
static bool v8_read_calls(const struct target_v8 *v8, const struct v8_function_event *event,
			  struct v8_places *out)
{
	struct v8_places positions = {0};
	struct v8_baseline baseline;
	size_t size;
	const uint8_t *table = v8_table(event, V8_POSITIONS, &size);
	bool read;

	if (!size || !v8->version ||
	    !v8_places_read(&positions, table, size, v8->version->flags,
			    size == event->lengths[V8_POSITIONS]))
		return false;
	if (!event->baseline) {
		*out = positions;
		return true;
	}
	baseline.offsets = v8_table(event, V8_OFFSETS, &baseline.offsets_size);
	baseline.bytecodes = v8_table(event, V8_OPCODES, &baseline.bytecodes_size);
	read = v8_places_of_code(out, &positions, &baseline, &v8->opcodes);
	v8_places_free(&positions);
	return read;
}

static void v8_read_call_lines(const struct target_v8 *v8, const struct v8_function_event *event,
			       const struct v8_lines *lines, struct v8_function *function)
{
	struct v8_places *places = &function->lines;
	size_t kept = 0;

	function->baseline = event->baseline;
	if (!v8_read_calls(v8, event, places))
		return;
	for (size_t i = 0; i < places->count; i++) {
		struct v8_place *place = &places->items[i];
		int32_t line = (int32_t)v8_line_at(event, lines, place->value);

		if (!kept || places->items[kept - 1].value != line)
			places->items[kept++] = (struct v8_place){place->at, line};
	}
	places->count = kept;
}

/* The line that the function begins with; 0: it is not known. Those of its calls go into it. */
static uint32_t v8_read_function_lines(const struct runtime_target *target,
				       const struct v8_function_event *event, const char *name,
				       struct v8_function *function)
{
	struct target_v8 *v8 = target->states[RUNTIME_V8];
	const struct v8_script *script = NULL;
	const struct v8_lines *lines = NULL;
	struct v8_lines own = {0};
	uint32_t line = 0;

	if (!event->script || event->start < 0)
		return 0;
	if (v8_lines_in_text(event, &own))
		lines = &own;
	else
		script = v8_script_get(target, event, name);
	if (script)
		lines = &script->lines;
	if (lines) {
		line = v8_line_at(event, lines, event->start);
		v8_read_call_lines(v8, event, lines, function);
	}
	v8_lines_free(&own);
	v8->unnamed += !line;
	return line;
}

/* ---- functions ----------------------------------------------------------------------------- */

const struct v8_function *v8_names_find(const struct target_v8 *v8, uint64_t code, uint32_t cookie)
{
	struct v8_function *function, like = {.key = {.code = code, .cookie = cookie}};

	HASH_FIND(hh, v8->functions, &like.key, sizeof(like.key), function);
	return function;
}

static const struct frame *v8_name(const struct runtimes *runtimes,
				   const struct runtime_target *target,
				   const struct v8_function_event *event,
				   struct v8_function *function)
{
	_cleanup_free_ char *name = runtime_text_name(event->name.parts, V8_TEXT_PARTS);
	_cleanup_free_ char *inferred =
		name ? NULL : runtime_text_name(event->inferred.parts, V8_TEXT_PARTS);
	_cleanup_free_ char *file = runtime_text_name(event->file.parts, V8_TEXT_PARTS);
	const char *shown = name ? name : inferred;
	struct frame frame;

	/* What is of no script and has no name is V8's own. */
	if (!shown && !event->script)
		return NULL;
	frame = frame_managed(FRAME_KIND_JAVASCRIPT, shown ? shown : "(anonymous)", file,
			      v8_read_function_lines(target, event, file, function));
	frame.line_begins = true;
	return runtimes_keep(runtimes, target, &frame);
}

void v8_names_add(struct runtimes *runtimes, struct runtime_target *target,
		  const struct v8_function_event *event)
{
	struct target_v8 *v8 = target->states[RUNTIME_V8];
	struct v8_function *function;
	size_t size = event->text_size;

	for (size_t i = 0; i < V8_TABLES; i++)
		size += event->sizes[i];
	if (size > event->bytes_size || !v8 || v8_names_find(v8, event->code, event->cookie) ||
	    HASH_COUNT(v8->functions) >= FUNCTIONS_MAX)
		return;
	function = calloc(1, sizeof(*function));
	if (!function)
		return;
	function->key.code = event->code;
	function->key.cookie = event->cookie;
	function->frame = v8_name(runtimes, target, event, function);
	HASH_ADD(hh, v8->functions, key, sizeof(function->key), function);
	if (function->hh.tbl)
		return;
	v8_places_free(&function->lines);
	free(function);
}

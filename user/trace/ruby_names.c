// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/ruby_names.h"

#include <stdlib.h>
#include <string.h>

#include "user/base/hash.h"
#include "user/trace/interpreter_stack.h"
#include "user/trace/target_ruby.h"

/* Of a target. A name takes some 100 bytes more, once. */
#define NAMES_MAX 1000000

#define TEXT_MAX (RUBY_TEXT_BYTES + sizeof("…"))

/* The interpreter's code for an instruction has no more bytes. */
#define INSTRUCTION_CODE_MAX 0x4000

void target_ruby_free(struct target_ruby *ruby)
{
	struct ruby_code *code, *next;

	if (!ruby)
		return;
	HASH_ITER (hh, ruby->codes, code, next) {
		HASH_DEL(ruby->codes, code);
		free(code);
	}
	object_unref(ruby->mapped.object);
	free(ruby);
}

static struct ruby_code *ruby_names_find(const struct target_ruby *ruby,
					 const struct runtime_call *call)
{
	const struct runtime_call key = {
		.code = call->code, .cookie = call->cookie, .place = call->place & ~RUBY_ENTRY};
	struct ruby_code *code = NULL;

	if (ruby)
		HASH_FIND(hh, ruby->codes, &key, sizeof(key), code);
	return code;
}

/* As it is, with a mark where it was cut; NULL: there is none. A file that is none has no name either. */
static const char *ruby_text(const uint8_t bytes[static RUBY_TEXT_BYTES], uint32_t length,
			     char to[static TEXT_MAX])
{
	size_t size = length < RUBY_TEXT_BYTES ? length : RUBY_TEXT_BYTES;

	memcpy(to, bytes, size);
	for (size_t i = 0; i < size; i++)
		to[i] = to[i] ? to[i] : '?';
	snprintf(to + size, TEXT_MAX - size, "%s", length > size ? "…" : "");
	return length ? to : NULL;
}

static const struct frame *ruby_keep(struct trace *trace, const struct target *target,
				     const struct ruby_code_event *event, uint32_t line)
{
	char function[TEXT_MAX], file[TEXT_MAX];
	struct frame frame = frame_managed(
		FRAME_KIND_RUBY, ruby_text(event->function, event->function_length, function),
		ruby_text(event->file, event->file_length, file), line);

	return stack_table_keep_frame(trace->stacks, target->id, &frame);
}

/* It comes again where something of it could not be read (ruby_tell_code() in bpf/runtime/ruby.bpf.c). */
static bool ruby_is_whole(const struct ruby_code *code)
{
	return code->frame->function &&
	       (code->call.place & RUBY_OF_C || (code->frame->file && code->frame->line));
}

void ruby_names_add(struct trace *trace, struct target *target, const struct ruby_code_event *event)
{
	struct target_ruby *ruby = target->ruby;
	struct ruby_code *known = ruby_names_find(ruby, &event->call), *code;

	if (!ruby || (known ? ruby_is_whole(known) : HASH_COUNT(ruby->codes) >= NAMES_MAX))
		return;
	code = calloc(1, sizeof(*code));
	if (!code)
		return;
	code->call = event->call;
	code->frame = ruby_keep(trace, target, event, event->line);
	if (event->line_at != event->line)
		code->frame_at = ruby_keep(trace, target, event, event->line_at);
	code->code_at = event->code_at;
	code->code_before = event->code_before;
	if (code->frame && known) {
		HASH_DEL(ruby->codes, known);
		free(known);
	}
	if (code->frame)
		HASH_ADD(hh, ruby->codes, call, sizeof(code->call), code);
	if (!code->frame || !code->hh.tbl)
		free(code);
}

/*
 * Where an instruction calls nothing that Ruby knows of, as one that makes an array or a string, the frame's pc still stands at it,
 * else behind it. Which one runs is told by where the interpreter's own code was left: behind the beginning of what it has for
 * that one.
 */
static bool ruby_runs_at(const struct target_ruby *ruby, const struct ruby_code *code,
			 const struct location *inner)
{
	uint64_t pc = ruby->mapped.start + (inner->offset - ruby->mapped.offset);
	uint64_t at = pc - code->code_at, before = pc - code->code_before;

	return code->code_at && at < INSTRUCTION_CODE_MAX && at < before;
}

/* A method that is written in C is where it was called, as backtraces have it. */
static const struct frame *ruby_frame_of_c(struct trace *trace, const struct target *target,
					   const struct ruby_code *code,
					   const struct interpreter_place *place)
{
	const struct ruby_code *caller = NULL;
	struct frame frame;
	size_t i = 0;

	while (i < place->outer_count &&
	       (!place->outer[i].code || place->outer[i].place & RUBY_OF_C))
		i++;
	if (i < place->outer_count)
		caller = ruby_names_find(target->ruby, &place->outer[i]);
	frame = frame_managed(FRAME_KIND_RUBY, code ? code->frame->function : NULL,
			      caller ? caller->frame->file : NULL,
			      caller ? caller->frame->line : 0);
	return stack_table_keep_frame(trace->stacks, target->id, &frame);
}

static const struct frame *ruby_stack_frame(struct trace *trace, const struct target *target,
					    const struct runtime_call *call,
					    const struct interpreter_place *place)
{
	const struct ruby_code *code = ruby_names_find(target->ruby, call);
	struct frame none = frame_managed(FRAME_KIND_RUBY, NULL, NULL, 0);

	if (call->place & RUBY_OF_C)
		return ruby_frame_of_c(trace, target, code, place);
	if (!code)
		return stack_table_keep_frame(trace->stacks, target->id, &none);
	return place->inner && code->frame_at && ruby_runs_at(target->ruby, code, place->inner)
		       ? code->frame_at
		       : code->frame;
}

bool ruby_names_weave(struct trace *trace, const struct target *target, uint64_t runtime,
		      struct stack_draft *draft)
{
	struct interpreter interpreter = {.frame = ruby_stack_frame, .entry = RUBY_ENTRY};

	if (!target->ruby)
		return false;
	interpreter.object_id = object_id(target->ruby->mapped.object);
	interpreter.eval.start = target->ruby->runtime.exec;
	interpreter.eval.end = target->ruby->runtime.exec_end;
	return interpreter_stack_weave(trace, target, &interpreter, runtime, draft);
}

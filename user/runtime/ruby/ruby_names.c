// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/ruby/ruby_names.h"

#include <stdlib.h>

#include "user/runtime/ruby/target_ruby.h"
#include "user/runtime/runtime_text.h"

_Static_assert(RUBY_TEXT_BYTES == RUNTIME_TEXT_BYTES, "runtime_text_copy()");

/* The interpreter's code for an instruction has no more bytes. */
#define INSTRUCTION_CODE_MAX 0x4000

/* Without a name where there is none. A file that is none has no name either. */
static const struct frame *ruby_keep(const struct runtimes *runtimes,
				     const struct runtime_target *target,
				     const struct ruby_code_event *event, uint32_t line)
{
	char function[RUNTIME_COPY_MAX], file[RUNTIME_COPY_MAX];
	struct frame frame = frame_managed(
		FRAME_KIND_RUBY,
		runtime_text_copy(event->function, event->function_length, RUBY_TEXT_BYTES,
				  function),
		runtime_text_copy(event->file, event->file_length, RUBY_TEXT_BYTES, file), line);

	return runtimes_keep(runtimes, target, &frame);
}

/* It comes again where something of it could not be read (ruby_tell_code() in bpf/runtime/ruby.bpf.c). */
static bool ruby_is_whole(const struct runtime_code *code)
{
	return code->frame->function &&
	       (code->call.place & RUBY_OF_C || (code->frame->file && code->frame->line));
}

void ruby_names_add(struct runtimes *runtimes, struct runtime_target *target,
		    const struct ruby_code_event *event)
{
	struct interpreter_state *ruby = target->states[RUNTIME_RUBY];
	struct runtime_code *known = ruby ? runtime_codes_find(&ruby->codes, &event->call) : NULL;
	struct ruby_code *code;

	if (!ruby || (known ? ruby_is_whole(known) : runtime_codes_are_full(&ruby->codes)))
		return;
	code = calloc(1, sizeof(*code));
	if (!code)
		return;
	code->code.call = event->call;
	code->code.frame = ruby_keep(runtimes, target, event, event->line);
	if (event->line_at != event->line)
		code->frame_at = ruby_keep(runtimes, target, event, event->line_at);
	code->code_at = event->code_at;
	code->code_before = event->code_before;
	runtime_codes_put(&ruby->codes, &code->code);
}

/*
 * Does the frame's pc still stand at the instruction that runs? It does where the instruction calls
 * nothing that Ruby knows of, as one that makes an array or a string. Else the pc stands behind it.
 * Where the interpreter's own code was left tells which instruction runs: behind the beginning of
 * the code for that one.
 */
static bool ruby_runs_at(const struct interpreter_state *ruby, const struct ruby_code *code,
			 const struct location *inner)
{
	uint64_t pc = ruby->start + (inner->offset - ruby->offset);
	uint64_t at = pc - code->code_at, before = pc - code->code_before;

	return code->code_at && at < INSTRUCTION_CODE_MAX && at < before;
}

/* A method that is written in C is where it was called, as backtraces have it. */
static const struct frame *ruby_frame_of_c(struct runtimes *runtimes, struct runtime_target *target,
					   const struct runtime_code *code,
					   const struct interpreter_place *place)
{
	const struct interpreter_state *ruby = target->states[RUNTIME_RUBY];
	const struct runtime_code *caller = NULL;
	struct frame frame;
	size_t i = 0;

	while (i < place->outer_count &&
	       (!place->outer[i].code || place->outer[i].place & RUBY_OF_C))
		i++;
	if (i < place->outer_count)
		caller = runtime_codes_find(&ruby->codes, &place->outer[i]);
	frame = frame_managed(FRAME_KIND_RUBY, code ? code->frame->function : NULL,
			      caller ? caller->frame->file : NULL,
			      caller ? caller->frame->line : 0);
	return runtimes_keep(runtimes, target, &frame);
}

const struct frame *ruby_names_frame(struct runtimes *runtimes, struct runtime_target *target,
				     const struct runtime_call *call,
				     const struct interpreter_place *place)
{
	const struct interpreter_state *ruby = target->states[RUNTIME_RUBY];
	const struct runtime_code *found = runtime_codes_find(&ruby->codes, call);
	const struct ruby_code *code = (const struct ruby_code *)found;
	struct frame none = frame_managed(FRAME_KIND_RUBY, NULL, NULL, 0);

	if (call->place & RUBY_OF_C)
		return ruby_frame_of_c(runtimes, target, found, place);
	if (!code)
		return runtimes_keep(runtimes, target, &none);
	return place->inner && code->frame_at && ruby_runs_at(ruby, code, place->inner)
		       ? code->frame_at
		       : found->frame;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/perl_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/hash.h"
#include "user/trace/interpreter_stack.h"
#include "user/trace/target_perl.h"

/* Of a target. A name takes some 100 bytes more, once. */
#define NAMES_MAX 1000000

#define TEXT_MAX (PERL_TEXT_BYTES + sizeof("…"))

void target_perl_free(struct target_perl *perl)
{
	struct perl_code *code, *next;

	if (!perl)
		return;
	HASH_ITER (hh, perl->codes, code, next) {
		HASH_DEL(perl->codes, code);
		free(code);
	}
	object_unref(perl->mapped.object);
	free(perl);
}

static struct perl_code *perl_names_find(const struct target_perl *perl,
					 const struct runtime_call *call)
{
	const struct runtime_call key = {
		.code = call->code, .cookie = call->cookie, .place = call->place & ~PERL_ENTRY};
	struct perl_code *code = NULL;

	if (perl)
		HASH_FIND(hh, perl->codes, &key, sizeof(key), code);
	return code;
}

/* As it is, with a mark where it is longer than that: `most` bytes of it are whole. NULL: there is none. */
static const char *perl_text(const uint8_t bytes[static PERL_TEXT_BYTES], uint32_t length,
			     uint32_t most, char to[static TEXT_MAX])
{
	size_t size = length < most ? length : most;

	memcpy(to, bytes, size);
	for (size_t i = 0; i < size; i++)
		to[i] = to[i] ? to[i] : '?';
	snprintf(to + size, TEXT_MAX - size, "%s", length > most ? "…" : "");
	return length ? to : NULL;
}

/* It comes with its end, which stands in the last byte of one that was cut: nor is one known to be whole that ends just there. */
static const char *perl_file(const struct perl_code_event *event, char to[static TEXT_MAX])
{
	uint32_t length = event->file_length;

	return perl_text(event->file, length >= PERL_TEXT_BYTES - 1 ? PERL_TEXT_BYTES : length,
			 PERL_TEXT_BYTES - 1, to);
}

/* What caller() calls it. NULL: that could not be read. */
static const char *perl_name(const struct perl_code_event *event, char to[static 2 * TEXT_MAX + 2])
{
	char function[TEXT_MAX], package[TEXT_MAX];

	if (event->unread)
		return NULL;
	if (event->call.code < PERL_LEFT)
		return event->call.code == PERL_EVAL ? "(eval)" : "(main)";
	/* Its package or its glob is gone, or itself. */
	if (!perl_text(event->function, event->function_length, PERL_TEXT_BYTES, function))
		snprintf(function, sizeof(function), "(unknown)");
	if (perl_text(event->package, event->package_length, PERL_TEXT_BYTES, package))
		snprintf(to, 2 * TEXT_MAX + 2, "%s::%s", package, function);
	else
		snprintf(to, 2 * TEXT_MAX + 2, "%s", function);
	return to;
}

void perl_names_add(struct trace *trace, struct target *target, const struct perl_code_event *event)
{
	char function[2 * TEXT_MAX + 2], file[TEXT_MAX];
	struct target_perl *perl = target->perl;
	struct perl_code *known = perl_names_find(perl, &event->call), *code;
	struct frame frame;

	/* It comes again where something of it could not be read, and has no name then. */
	if (!perl ||
	    (known ? known->frame->function != NULL : HASH_COUNT(perl->codes) >= NAMES_MAX))
		return;
	code = calloc(1, sizeof(*code));
	if (!code)
		return;
	frame = frame_managed(FRAME_KIND_PERL, perl_name(event, function), perl_file(event, file),
			      event->call.place);
	code->call = event->call;
	code->frame = stack_table_keep_frame(trace->stacks, target->id, &frame);
	if (code->frame && known) {
		HASH_DEL(perl->codes, known);
		free(known);
	}
	if (code->frame)
		HASH_ADD(hh, perl->codes, call, sizeof(code->call), code);
	if (!code->frame || !code->hh.tbl)
		free(code);
}

static const struct frame *perl_stack_frame(struct trace *trace, const struct target *target,
					    const struct runtime_call *call,
					    const struct interpreter_place *place)
{
	const struct perl_code *code = perl_names_find(target->perl, call);
	struct frame none = frame_managed(FRAME_KIND_PERL, NULL, NULL, 0);

	(void)place;
	return code ? code->frame : stack_table_keep_frame(trace->stacks, target->id, &none);
}

bool perl_names_weave(struct trace *trace, const struct target *target, uint64_t runtime,
		      struct stack_draft *draft)
{
	struct interpreter interpreter = {.frame = perl_stack_frame, .entry = PERL_ENTRY};

	if (!target->perl)
		return false;
	interpreter.object_id = object_id(target->perl->mapped.object);
	interpreter.eval.start = target->perl->runtime.exec;
	interpreter.eval.end = target->perl->runtime.exec_end;
	return interpreter_stack_weave(trace, target, &interpreter, runtime, draft);
}

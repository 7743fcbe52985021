// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/perl/perl_names.h"

#include <stdio.h>
#include <stdlib.h>

#include "user/runtime/perl/target_perl.h"
#include "user/runtime/runtime_text.h"

_Static_assert(PERL_TEXT_BYTES == RUNTIME_TEXT_BYTES, "runtime_text_copy()");

/*
 * The program sends the end of the name. A name that was cut has its end in the last byte, and so
 * may a whole one of that length: it counts as cut.
 */
static const char *perl_file(const struct perl_code_event *event, char to[static RUNTIME_COPY_MAX])
{
	uint32_t length = event->file_length;

	return runtime_text_copy(event->file,
				 length >= PERL_TEXT_BYTES - 1 ? PERL_TEXT_BYTES : length,
				 PERL_TEXT_BYTES - 1, to);
}

/* What caller() calls it. NULL: that could not be read. */
static const char *perl_name(const struct perl_code_event *event,
			     char to[static 2 * RUNTIME_COPY_MAX + 2])
{
	char function[RUNTIME_COPY_MAX], package[RUNTIME_COPY_MAX];

	if (event->unread)
		return NULL;
	if (event->call.code < PERL_LEFT)
		return event->call.code == PERL_EVAL ? "(eval)" : "(main)";
	/* Its package or its glob is gone, or itself. */
	if (!runtime_text_copy(event->function, event->function_length, PERL_TEXT_BYTES, function))
		snprintf(function, sizeof(function), "(unknown)");
	if (runtime_text_copy(event->package, event->package_length, PERL_TEXT_BYTES, package))
		snprintf(to, 2 * RUNTIME_COPY_MAX + 2, "%s::%s", package, function);
	else
		snprintf(to, 2 * RUNTIME_COPY_MAX + 2, "%s", function);
	return to;
}

void perl_names_add(struct runtimes *runtimes, struct runtime_target *target,
		    const struct perl_code_event *event)
{
	char function[2 * RUNTIME_COPY_MAX + 2], file[RUNTIME_COPY_MAX];
	struct interpreter_state *perl = target->states[RUNTIME_PERL];
	struct runtime_code *known = perl ? runtime_codes_find(&perl->codes, &event->call) : NULL;
	struct runtime_code *code;
	struct frame frame;

	/* It comes again where something of it could not be read, and has no name then. */
	if (!perl ||
	    (known ? known->frame->function != NULL : runtime_codes_are_full(&perl->codes)))
		return;
	code = calloc(1, sizeof(*code));
	if (!code)
		return;
	frame = frame_managed(FRAME_KIND_PERL, perl_name(event, function), perl_file(event, file),
			      event->call.place);
	code->call = event->call;
	code->frame = runtimes_keep(runtimes, target, &frame);
	runtime_codes_put(&perl->codes, code);
}

const struct frame *perl_names_frame(struct runtimes *runtimes, struct runtime_target *target,
				     const struct runtime_call *call,
				     const struct interpreter_place *place)
{
	const struct interpreter_state *perl = target->states[RUNTIME_PERL];
	const struct runtime_code *code = runtime_codes_find(&perl->codes, call);
	struct frame none = frame_managed(FRAME_KIND_PERL, NULL, NULL, 0);

	(void)place;
	return code ? code->frame : runtimes_keep(runtimes, target, &none);
}

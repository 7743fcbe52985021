// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/interpreter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/log.h"
#include "user/runtime/runtime_libc.h"
#include "user/runtime/runtime_rows.h"

static struct interpreter_state *interpreter_new(const struct interpreter_kind *kind,
						 const struct image_range *range, uint64_t bias)
{
	struct interpreter_state *state = calloc(1, kind->size);

	if (!state)
		return NULL;
	object_ref(range->object);
	state->object = range->object;
	state->bias = bias;
	state->start = range->start;
	state->end = range->end;
	state->offset = range->offset;
	state->codes.free_code = kind->free_code;
	return state;
}

void interpreter_free(struct interpreter_state *state)
{
	runtime_codes_clear(&state->codes);
	object_unref(state->object);
	free(state);
}

static void interpreter_begin(struct runtimes *runtimes, struct runtime_target *target,
			      const struct interpreter_kind *kind, const struct image_range *range,
			      uint64_t bias)
{
	const struct runtime_ops *language = kind->language;
	const char *refusal = runtime_rows_refusal(runtimes, NULL);
	char reason[REASON_MAX] = "";
	enum runtime_libc libc =
		kind->by_libc ? runtime_libc_of(target->image) : RUNTIME_LIBC_GLIBC;
	/* The program is mapped before its C library is. */
	struct interpreter_state *state =
		libc == RUNTIME_LIBC_NONE ? NULL : interpreter_new(kind, range, bias);
	int err;

	if (!state)
		return;
	target->states[language->runtime] = state;
	if (!refusal && libc == RUNTIME_LIBC_OTHER)
		refusal = RUNTIME_OTHER_LIBC;
	if (!refusal) {
		err = kind->enter(runtimes, target, state, reason);
		state->entered = !err;
		refusal = *reason ? reason : strerror(-err);
	}
	if (state->entered)
		log_debug("process %d (%s): frames of %s %s (%s)", target->pid, target->comm,
			  language->name, state->version, object_name(state->object));
	else
		log_info("process %d (%s): no frames of %s%s%s (%s): %s", target->pid, target->comm,
			 language->name, state->version && *state->version ? " " : "",
			 state->version ?: "", object_name(range->object), refusal);
}

void interpreter_look(struct runtimes *runtimes, struct runtime_target *target,
		      const struct interpreter_kind *kind)
{
	enum runtime runtime = kind->language->runtime;
	struct interpreter_state *state = target->states[runtime];
	uint64_t bias = 0;
	const struct image_range *range = runtime_rows_find(runtimes, target, runtime, &bias);

	if (state && (!range || range->object != state->object || bias != state->bias)) {
		kind->language->free(runtimes, state);
		target->states[runtime] = state = NULL;
		runtime_rows_end(runtimes, target, runtime);
	}
	if (range && !state)
		interpreter_begin(runtimes, target, kind, range, bias);
}

bool interpreter_weave(struct runtimes *runtimes, struct runtime_target *target,
		       enum runtime runtime, interpreter_frame_fn *frame, uint64_t hash,
		       struct stack_draft *draft)
{
	const struct interpreter_state *state = target->states[runtime];
	struct interpreter interpreter = {.frame = frame};

	if (!state)
		return false;
	interpreter.object_id = object_id(state->object);
	interpreter.eval.start = state->exec;
	interpreter.eval.end = state->exec_end;
	return interpreter_stack_weave(runtimes, target, &interpreter, hash, draft);
}

void interpreter_doctor(char text[static RUNTIME_DOCTOR_TEXT], const char *language,
			const char *version, const char *functions, int err, const char *reason)
{
	const char *space = *version ? " " : "";

	if (err)
		snprintf(text, RUNTIME_DOCTOR_TEXT,
			 "%s%s%s: no frames of it, stacks have C functions only: %s", language,
			 space, version, *reason ? reason : strerror(-err));
	else
		snprintf(text, RUNTIME_DOCTOR_TEXT,
			 "%s%s%s: stacks have its %s, with file and line (x86-64, Linux 5.15 and "
			 "later)%s",
			 language, space, version, functions, reason);
}

int interpreter_check_libc(const struct image *image, char reason[static REASON_MAX])
{
	return runtime_libc_of(image) == RUNTIME_LIBC_GLIBC
		       ? 0
		       : refuse(reason, -ENOTSUP, RUNTIME_OTHER_LIBC);
}

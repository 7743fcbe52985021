// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/ruby/ruby_rows.h"

#include <errno.h>

#include "user/base/util.h"
#include "user/freeze/tls.h"
#include "user/runtime/ruby/ruby_names.h"
#include "user/runtime/ruby/target_ruby.h"
#include "user/runtime/runtime_rows.h"

/* The number of the object's thread-local variables. */
static int ruby_find_module(const struct interpreter_state *ruby, struct ruby_row *row,
			    char reason[static REASON_MAX])
{
	struct tls_layout tls;

	if (tls_layout_read(ruby->object, &tls))
		return refuse(reason, -ENOTSUP, "it has no thread-local variables");
	if (tls.module.known)
		row->module_slot = ruby->bias + tls.module.vaddr;
	else if (!tls.distance.known)
		row->module = 1; /* a program's own */
	else
		return refuse(reason, -ENOTSUP,
			      "where it has its thread-local variables is not known");
	return 0;
}

static int ruby_rows_enter(struct runtimes *runtimes, struct runtime_target *target,
			   struct interpreter_state *state, char reason[static REASON_MAX])
{
	struct target_ruby *ruby = (struct target_ruby *)state;
	struct ruby_row row;
	int err = ruby_find(state->object, &ruby->runtime, reason);

	state->version = ruby->runtime.version;
	state->exec = ruby->runtime.exec;
	state->exec_end = ruby->runtime.exec_end;
	row = ruby->runtime.row;
	row.code = state->start;
	row.code_end = state->end;
	row.symbols += row.symbols ? state->bias : 0;
	err = err ?: ruby_find_module(state, &row, reason);
	return err ?: runtime_rows_enter(runtimes, target, RUNTIME_RUBY, &row, reason);
}

static void ruby_look(struct runtimes *runtimes, struct runtime_target *target)
{
	static const struct interpreter_kind kind = {
		.language = &ruby_ops,
		.size = sizeof(struct target_ruby),
		.by_libc = true,
		.enter = ruby_rows_enter,
	};

	interpreter_look(runtimes, target, &kind);
}

static void ruby_event(struct runtimes *runtimes, struct runtime_target *target,
		       enum runtime_event_kind kind, const struct event_header *header)
{
	(void)kind;
	ruby_names_add(runtimes, target, (const void *)header);
}

static bool ruby_weave(struct runtimes *runtimes, struct runtime_target *target, uint64_t hash,
		       const uint64_t *frames, struct stack_draft *draft)
{
	(void)frames;
	return interpreter_weave(runtimes, target, RUNTIME_RUBY, ruby_names_frame, hash, draft);
}

static bool ruby_doctor(const struct image *image, struct object *object, enum runtime runtime,
			char text[static RUNTIME_DOCTOR_TEXT])
{
	char reason[REASON_MAX] = "";
	struct ruby_runtime ruby;
	int err;

	if (runtime != RUNTIME_RUBY)
		return false;
	err = ruby_find(object, &ruby, reason);
	err = err ?: interpreter_check_libc(image, reason);
	interpreter_doctor(text, ruby_ops.name, ruby.version, "methods", err, reason);
	return true;
}

static void ruby_free(struct runtimes *runtimes, void *state)
{
	(void)runtimes;
	interpreter_free(state);
}

static const char *const ruby_reasons[] = {
	[RUBY_UNREADABLE] = "what a frame leads to is in no memory",
	[RUBY_NO_CODE] = "what a frame runs is neither code nor a method",
	[RUBY_ELSEWHERE] = "a frame's instruction is not in its code",
	[RUBY_NO_STACK] = "the thread's frames are not on its stack",
};

const struct runtime_ops ruby_ops = {
	.runtime = RUNTIME_RUBY,
	.name = "Ruby",
	.mark = "ruby_api_version",
	.failures = {ruby_reasons, ARRAY_SIZE(ruby_reasons), .apart = true},
	.look = ruby_look,
	.event = ruby_event,
	.weave = ruby_weave,
	.doctor = ruby_doctor,
	.free = ruby_free,
};

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/php/php_rows.h"

#include "user/base/util.h"
#include "user/runtime/php/php_names.h"
#include "user/runtime/php/target_php.h"
#include "user/runtime/runtime_rows.h"

static int php_rows_enter(struct runtimes *runtimes, struct runtime_target *target,
			  struct interpreter_state *state, char reason[static REASON_MAX])
{
	struct target_php *php = (struct target_php *)state;
	struct php_row row;
	int err = php_find(state->object, &php->runtime, reason);

	state->version = php->runtime.version;
	if (err)
		return err;
	state->exec = php->runtime.exec;
	state->exec_end = php->runtime.exec_end;
	row = php->runtime.row;
	row.current += state->bias;
	row.code = state->start;
	row.code_end = state->end;
	return runtime_rows_enter(runtimes, target, RUNTIME_PHP, &row, reason);
}

static void php_look(struct runtimes *runtimes, struct runtime_target *target)
{
	static const struct interpreter_kind kind = {
		.language = &php_ops,
		.size = sizeof(struct target_php),
		.enter = php_rows_enter,
		.free_code = php_code_free,
	};

	interpreter_look(runtimes, target, &kind);
}

static void php_event(struct runtimes *runtimes, struct runtime_target *target,
		      enum runtime_event_kind kind, const struct event_header *header)
{
	(void)kind;
	php_names_add(runtimes, target, (const void *)header);
}

static bool php_weave(struct runtimes *runtimes, struct runtime_target *target, uint64_t hash,
		      const uint64_t *frames, struct stack_draft *draft)
{
	(void)frames;
	return interpreter_weave(runtimes, target, RUNTIME_PHP, php_names_frame, hash, draft);
}

static bool php_doctor(const struct image *image, struct object *object, enum runtime runtime,
		       char text[static RUNTIME_DOCTOR_TEXT])
{
	char reason[REASON_MAX] = "";
	struct php_runtime php;
	int err;

	(void)image;
	if (runtime != RUNTIME_PHP)
		return false;
	err = php_find(object, &php, reason);
	interpreter_doctor(text, php_ops.name, php.version ?: "", "functions", err, reason);
	php_runtime_free(&php);
	return true;
}

static void php_free(struct runtimes *runtimes, void *state)
{
	struct target_php *php = state;

	(void)runtimes;
	php_runtime_free(&php->runtime);
	php_handlers_free(&php->handlers);
	interpreter_free(&php->interpreter);
}

static const char *const php_reasons[] = {
	[PHP_UNREADABLE] = "what a frame leads to is in no memory",
	[PHP_NO_CODE] = "what a frame runs is no function of PHP's",
	[PHP_NO_NAME] = "a function's name is no string",
};

const struct runtime_ops php_ops = {
	.runtime = RUNTIME_PHP,
	.name = "PHP",
	.mark = "zend_mm_gc",
	.failures = {php_reasons, ARRAY_SIZE(php_reasons), .apart = true},
	.look = php_look,
	.event = php_event,
	.weave = php_weave,
	.doctor = php_doctor,
	.free = php_free,
};

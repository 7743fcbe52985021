// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/php/php_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/runtime/php/target_php.h"
#include "user/runtime/runtime_text.h"

_Static_assert(PHP_TEXT_BYTES == RUNTIME_TEXT_BYTES, "runtime_text_copy()");

/*
 * Instructions that write down where they are before they do anything else (Zend/zend_vm_def.h): ASSIGN_DIM, ASSIGN_OBJ,
 * DO_FCALL, NEW, INCLUDE_OR_EVAL, FETCH_DIM_W, FETCH_OBJ_W, CLONE, DO_ICALL, DO_UCALL, DO_FCALL_BY_NAME.
 */
static const uint8_t php_noting[] = {23, 24, 60, 68, 73, 84, 85, 110, 129, 130, 131};

void php_code_free(struct runtime_code *code)
{
	free(((struct php_code *)code)->ops);
	free(code);
}

/* NULL: there is none. A class without a name has one that goes on behind a NUL with where it was made, which PHP does not show either. */
static const char *php_text(const uint8_t bytes[static PHP_TEXT_BYTES], uint32_t length,
			    char to[static RUNTIME_COPY_MAX])
{
	const uint8_t *end = memchr(bytes, 0, length < PHP_TEXT_BYTES ? length : PHP_TEXT_BYTES);

	runtime_text_copy(bytes, end ? (uint32_t)(end - bytes) : length, PHP_TEXT_BYTES, to);
	return length ? to : NULL;
}

/* What it is called in a backtrace; a file's own code has no name there but in the last line. NULL: that could not be read. */
static const char *php_name(const struct php_code_event *event,
			    char to[static 2 * RUNTIME_COPY_MAX + 2])
{
	char function[RUNTIME_COPY_MAX], class[RUNTIME_COPY_MAX];

	if (event->unread)
		return NULL;
	if (!php_text(event->function, event->function_length, function))
		snprintf(function, sizeof(function), "{main}");
	if (php_text(event->class, event->class_length, class))
		snprintf(to, 2 * RUNTIME_COPY_MAX + 2, "%s::%s", class, function);
	else
		snprintf(to, 2 * RUNTIME_COPY_MAX + 2, "%s", function);
	return to;
}

static int php_order(const void *a, const void *b)
{
	uint32_t x = ((const struct php_op *)a)->handler, y = ((const struct php_op *)b)->handler;

	return x < y ? -1 : x > y;
}

/* One for each handler. */
static void php_keep_ops(struct php_code *code, const struct php_code_event *event)
{
	struct php_op ops[PHP_MAX_OPS];
	size_t count = event->op_count < PHP_MAX_OPS ? event->op_count : PHP_MAX_OPS, kept = 0;

	memcpy(ops, event->ops, count * sizeof(ops[0]));
	qsort(ops, count, sizeof(ops[0]), php_order);
	for (size_t i = 0; i < count; i++) {
		if (!kept || ops[kept - 1].handler != ops[i].handler)
			ops[kept++] = ops[i];
		else if (ops[kept - 1].line != ops[i].line)
			ops[kept - 1].line = 0;
	}
	if (!kept)
		return;
	code->ops = malloc(kept * sizeof(ops[0]));
	if (!code->ops)
		return;
	memcpy(code->ops, ops, kept * sizeof(ops[0]));
	code->op_count = kept;
}

void php_names_add(struct runtimes *runtimes, struct runtime_target *target,
		   const struct php_code_event *event)
{
	char function[2 * RUNTIME_COPY_MAX + 2], file[RUNTIME_COPY_MAX];
	struct interpreter_state *php = target->states[RUNTIME_PHP];
	struct runtime_code *known = php ? runtime_codes_find(&php->codes, &event->call) : NULL;
	struct php_code *code;
	struct frame frame;

	/* It comes again where something of it could not be read, and has no name then. */
	if (!php || (known ? known->frame->function != NULL : runtime_codes_are_full(&php->codes)))
		return;
	code = calloc(1, sizeof(*code));
	if (!code)
		return;
	frame = frame_managed(FRAME_KIND_PHP, php_name(event, function),
			      php_text(event->file, event->file_length, file), event->line);
	code->code.call = event->call;
	code->code.frame = runtimes_keep(runtimes, target, &frame);
	code->handler = event->handler;
	code->opcode = event->opcode;
	code->internal = event->kind == PHP_IS_INTERNAL;
	php_keep_ops(code, event);
	runtime_codes_put(&php->codes, &code->code);
}

/* What the evaluating function was running as it called something: where that begins, as struct php_op has it. 0: unknown. */
static uint32_t php_running(struct target_php *php, const struct location *eval)
{
	uint64_t handler;

	/* That takes some milliseconds, once, where it is wanted. */
	if (!php->handlers_read)
		php_handlers_read(php->interpreter.object, &php->runtime, &php->handlers);
	php->handlers_read = true;
	handler = php_handlers_find(&php->handlers, eval->offset);
	return handler ? (uint32_t)(handler - php->interpreter.offset) : 0;
}

/*
 * The line of the innermost function, where that is written in PHP; 0: unknown. A frame says where
 * it stands. But not all instructions write that down before they ask for memory. Where the
 * interpreter's own code was left tells which kind of instruction runs. PHP's note is right in two
 * cases: that kind always writes it, or no other line of the function has such an instruction.
 */
static uint32_t php_line(struct target_php *php, const struct php_code *code,
			 const struct location *eval)
{
	uint32_t running = eval ? php_running(php, eval) : 0;

	if (!running)
		return 0;
	if (running == code->handler && memchr(php_noting, (int)code->opcode, sizeof(php_noting)))
		return code->code.frame->line;
	for (size_t i = 0; i < code->op_count; i++) {
		if (code->ops[i].handler == running)
			return code->ops[i].line;
	}
	return 0;
}

const struct frame *php_names_frame(struct runtimes *runtimes, struct runtime_target *target,
				    const struct runtime_call *call,
				    const struct interpreter_place *place)
{
	struct target_php *php = target->states[RUNTIME_PHP];
	const struct php_code *code =
		(const struct php_code *)runtime_codes_find(&php->interpreter.codes, call);
	struct frame frame = frame_managed(FRAME_KIND_PHP, NULL, NULL, 0);

	if (code && (code->internal || !place->innermost))
		return code->code.frame;
	if (code) {
		frame = *code->code.frame;
		frame.line = php_line(php, code, place->eval);
	}
	return runtimes_keep(runtimes, target, &frame);
}

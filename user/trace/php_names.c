// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/php_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/hash.h"
#include "user/base/util.h"
#include "user/trace/interpreter_stack.h"
#include "user/trace/target_php.h"

/* Of a target. A name takes some 200 bytes more, once. */
#define NAMES_MAX 1000000

#define TEXT_MAX (PHP_TEXT_BYTES + sizeof("…"))

/*
 * Instructions that write down where they are before they do anything else (Zend/zend_vm_def.h): ASSIGN_DIM, ASSIGN_OBJ,
 * DO_FCALL, NEW, INCLUDE_OR_EVAL, FETCH_DIM_W, FETCH_OBJ_W, CLONE, DO_ICALL, DO_UCALL, DO_FCALL_BY_NAME.
 */
static const uint8_t php_noting[] = {23, 24, 60, 68, 73, 84, 85, 110, 129, 130, 131};

static void php_code_free(struct php_code *code)
{
	free(code->ops);
	free(code);
}

void target_php_free(struct target_php *php)
{
	struct php_code *code, *next;

	if (!php)
		return;
	HASH_ITER (hh, php->codes, code, next) {
		HASH_DEL(php->codes, code);
		php_code_free(code);
	}
	object_unref(php->mapped.object);
	php_runtime_free(&php->runtime);
	php_handlers_free(&php->handlers);
	free(php);
}

static struct php_code *php_names_find(const struct target_php *php,
				       const struct runtime_call *call)
{
	const struct runtime_call key = {
		.code = call->code, .cookie = call->cookie, .place = call->place & ~PHP_ENTRY};
	struct php_code *code = NULL;

	if (php)
		HASH_FIND(hh, php->codes, &key, sizeof(key), code);
	return code;
}

/*
 * As it is, with a mark where it was cut; NULL: there is none. A class without a name has one that goes on behind a NUL with where
 * it was made, which PHP does not show either.
 */
static const char *php_text(const uint8_t bytes[static PHP_TEXT_BYTES], uint32_t length,
			    char to[static TEXT_MAX])
{
	size_t size = length < PHP_TEXT_BYTES ? length : PHP_TEXT_BYTES;
	const uint8_t *end = memchr(bytes, 0, size);
	size_t shown = end ? (size_t)(end - bytes) : size;

	memcpy(to, bytes, shown);
	snprintf(to + shown, TEXT_MAX - shown, "%s", length > size && !end ? "…" : "");
	return length ? to : NULL;
}

/* What it is called in a backtrace; a file's own code has no name there but in the last line. NULL: that could not be read. */
static const char *php_name(const struct php_code_event *event, char to[static 2 * TEXT_MAX + 2])
{
	char function[TEXT_MAX], class[TEXT_MAX];

	if (event->unread)
		return NULL;
	if (!php_text(event->function, event->function_length, function))
		snprintf(function, sizeof(function), "{main}");
	if (php_text(event->class, event->class_length, class))
		snprintf(to, 2 * TEXT_MAX + 2, "%s::%s", class, function);
	else
		snprintf(to, 2 * TEXT_MAX + 2, "%s", function);
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

void php_names_add(struct trace *trace, struct target *target, const struct php_code_event *event)
{
	char function[2 * TEXT_MAX + 2], file[TEXT_MAX];
	struct target_php *php = target->php;
	struct php_code *known = php_names_find(php, &event->call), *code;
	struct frame frame;

	/* It comes again where something of it could not be read, and has no name then. */
	if (!php || (known ? known->frame->function != NULL : HASH_COUNT(php->codes) >= NAMES_MAX))
		return;
	code = calloc(1, sizeof(*code));
	if (!code)
		return;
	frame = frame_managed(FRAME_KIND_PHP, php_name(event, function),
			      php_text(event->file, event->file_length, file), event->line);
	code->call = event->call;
	code->frame = stack_table_keep_frame(trace->stacks, target->id, &frame);
	code->handler = event->handler;
	code->opcode = event->opcode;
	code->internal = event->kind == PHP_IS_INTERNAL;
	php_keep_ops(code, event);
	if (code->frame && known) {
		HASH_DEL(php->codes, known);
		php_code_free(known);
	}
	if (code->frame)
		HASH_ADD(hh, php->codes, call, sizeof(code->call), code);
	if (!code->frame || !code->hh.tbl)
		php_code_free(code);
}

/* What the evaluating function was running as it called something: where that begins, as struct php_op has it. 0: unknown. */
static uint32_t php_running(struct target_php *php, const struct location *eval)
{
	uint64_t handler;

	/* That takes some milliseconds, once, where it is wanted. */
	if (!php->handlers_read)
		php_handlers_read(php->mapped.object, &php->runtime, &php->handlers);
	php->handlers_read = true;
	handler = php_handlers_find(&php->handlers, eval->offset);
	return handler ? (uint32_t)(handler - php->mapped.offset) : 0;
}

/*
 * Of the innermost function, where that is written in PHP. A frame says where it stands, but not all instructions write that down
 * before they ask for memory. Which kind runs is told by where the interpreter's own code was left: what PHP has noted is so where
 * that kind always does, or where no other line of the function has such a one. 0: unknown.
 */
static uint32_t php_line(struct target_php *php, const struct php_code *code,
			 const struct location *eval)
{
	uint32_t running = eval ? php_running(php, eval) : 0;

	if (!running)
		return 0;
	if (running == code->handler && memchr(php_noting, (int)code->opcode, sizeof(php_noting)))
		return code->frame->line;
	for (size_t i = 0; i < code->op_count; i++) {
		if (code->ops[i].handler == running)
			return code->ops[i].line;
	}
	return 0;
}

static const struct frame *php_stack_frame(struct trace *trace, const struct target *target,
					   const struct runtime_call *call,
					   const struct interpreter_place *place)
{
	const struct php_code *code = php_names_find(target->php, call);
	struct frame frame = frame_managed(FRAME_KIND_PHP, NULL, NULL, 0);

	if (code && (code->internal || !place->innermost))
		return code->frame;
	if (code) {
		frame = *code->frame;
		frame.line = php_line(target->php, code, place->eval);
	}
	return stack_table_keep_frame(trace->stacks, target->id, &frame);
}

bool php_names_weave(struct trace *trace, const struct target *target, uint64_t runtime,
		     struct stack_draft *draft)
{
	struct interpreter interpreter = {.frame = php_stack_frame, .entry = PHP_ENTRY};

	if (!target->php)
		return false;
	interpreter.object_id = object_id(target->php->mapped.object);
	interpreter.eval.start = target->php->runtime.exec;
	interpreter.eval.end = target->php->runtime.exec_end;
	return interpreter_stack_weave(trace, target, &interpreter, runtime, draft);
}

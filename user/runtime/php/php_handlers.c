// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * execute_ex() is a row of handlers, one for each kind of PHP's instructions, each of which ends by jumping to the next
 * instruction's. The compiler may put a handler's rarer parts elsewhere, behind another's: what lies behind a handler's beginning
 * need not be its own.
 */
#include "user/runtime/php/php_handlers.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/gate/decode.h"

#define CODE_MAX (1 << 20)

enum {
	PHP_LEADS_HERE = 1, /* a jump does */
	PHP_HANDLER = 2,    /* one begins here */
	PHP_GOES_ON = 4,    /* from the instruction in front */
};

static bool php_ends(const struct decoder *d)
{
	return d->insn->id == X86_INS_JMP || d->insn->id == X86_INS_UD2 || decode_is(d, CS_GRP_RET);
}

/* Marks where jumps lead, and where the code goes on. False: an instruction is unknown. */
static bool php_mark_jumps(struct decoder *d, uint8_t *marks, size_t size)
{
	while (decode(d)) {
		uint64_t next = d->insn->address + d->insn->size;

		if (decode_branches(d) && d->insn->id != X86_INS_CALL && decode_target(d) < size)
			marks[decode_target(d)] |= PHP_LEADS_HERE;
		if (!php_ends(d) && next < size)
			marks[next] |= PHP_GOES_ON;
	}
	return !d->left;
}

static void php_collect(struct decoder *d, const uint8_t *marks, uint64_t start,
			struct php_handlers *out)
{
	uint64_t handler = 0;

	while (decode(d)) {
		uint8_t mark = marks[d->insn->address];

		if (mark & PHP_HANDLER)
			handler = mark == PHP_HANDLER ? start + d->insn->address : 0;
		else if (mark & PHP_LEADS_HERE)
			handler = 0;
		if (handler && d->insn->id == X86_INS_CALL)
			out->calls[out->count++] = (struct php_handled){
				start + d->insn->address + d->insn->size, handler};
		if (php_ends(d))
			handler = 0;
	}
}

/* Twice over the code, as jumps lead forwards and back. */
static int php_sweep(const uint8_t *code, size_t size, uint8_t *marks, uint64_t start,
		     struct php_handlers *out)
{
	struct decoder d;
	bool known;
	int err = decoder_open(&d, code, size, 0);

	if (err)
		return err;
	known = php_mark_jumps(&d, marks, size);
	decoder_close(&d);
	if (!known)
		return -ENOTSUP;
	/* A call has five bytes, but for those by a register. */
	out->calls = calloc(size / 2 + 1, sizeof(out->calls[0]));
	err = out->calls ? decoder_open(&d, code, size, 0) : -ENOMEM;
	if (err)
		return err;
	php_collect(&d, marks, start, out);
	decoder_close(&d);
	return 0;
}

int php_handlers_read(const struct object *object, const struct php_runtime *runtime,
		      struct php_handlers *out)
{
	size_t size = runtime->exec_end - runtime->exec;
	_cleanup_free_ uint8_t *code = NULL, *marks = NULL;
	struct php_handled *fitting;
	int err;

	*out = (struct php_handlers){0};
	if (!runtime->handler_count || !size || size > CODE_MAX)
		return -ENOTSUP;
	code = malloc(size);
	marks = calloc(size, 1);
	if (!code || !marks)
		return -ENOMEM;
	if (pread(object_fd(object), code, size, (off_t)runtime->exec) != (ssize_t)size)
		return -EIO;
	for (size_t i = 0; i < runtime->handler_count; i++)
		marks[runtime->handlers[i] - runtime->exec] |= PHP_HANDLER;
	err = php_sweep(code, size, marks, runtime->exec, out);
	if (err) {
		php_handlers_free(out);
		return err;
	}
	fitting = reallocarray(out->calls, out->count + 1, sizeof(out->calls[0]));
	out->calls = fitting ?: out->calls;
	return 0;
}

void php_handlers_free(struct php_handlers *handlers)
{
	free(handlers->calls);
	*handlers = (struct php_handlers){0};
}

uint64_t php_handlers_find(const struct php_handlers *handlers, uint64_t returns)
{
	size_t low = 0, high = handlers->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (handlers->calls[middle].returns == returns)
			return handlers->calls[middle].handler;
		if (handlers->calls[middle].returns < returns)
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}

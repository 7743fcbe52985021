// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/toy/toy_ops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/runtime/toy_abi.h"
#include "user/base/util.h"
#include "user/process/elf_open.h"
#include "user/process/elf_symbols.h"
#include "user/runtime/interpreter.h"
#include "user/runtime/runtime_rows.h"

/* ---- how an interpreter is recognised ---------------------------------------------------------- */

struct toy_symbols {
	GElf_Sym top, run;
};

static int toy_look_at(void *ctx, const char *name, const GElf_Sym *sym)
{
	struct toy_symbols *symbols = ctx;

	if (!strcmp(name, "toy_top"))
		symbols->top = *sym;
	else if (!strcmp(name, "toy_run"))
		symbols->run = *sym;
	return 0;
}

static int toy_find(struct object *object, struct toy_symbols *out, char reason[static REASON_MAX])
{
	_cleanup_elf_ Elf *elf = object_elf(object, ELF_FOR_SYMBOLS);

	*out = (struct toy_symbols){0};
	if (!elf)
		return -EIO;
	elf_symbols(elf, SHT_DYNSYM, toy_look_at, out);
	return out->top.st_value && out->run.st_value
		       ? 0
		       : refuse(reason, -ENOTSUP, "it has no symbol toy_top or toy_run");
}

/* ---- what the programs are told ---------------------------------------------------------------- */

static int toy_enter(struct runtimes *runtimes, struct runtime_target *target,
		     struct interpreter_state *state, char reason[static REASON_MAX])
{
	struct toy_symbols symbols;
	struct toy_row row;
	int err = toy_find(state->object, &symbols, reason);

	state->version = "";
	err = err ?: object_vaddr_to_offset(state->object, symbols.run.st_value, &state->exec);
	if (err)
		return err;
	state->exec_end = state->exec + symbols.run.st_size;
	row.top = symbols.top.st_value + state->bias;
	return runtime_rows_enter(runtimes, target, RUNTIME_TOY, &row, reason);
}

static void toy_look(struct runtimes *runtimes, struct runtime_target *target)
{
	static const struct interpreter_kind kind = {
		.language = &toy_ops,
		.size = sizeof(struct interpreter_state),
		.enter = toy_enter,
	};

	interpreter_look(runtimes, target, &kind);
}

/* ---- names ------------------------------------------------------------------------------------- */

static void toy_event(struct runtimes *runtimes, struct runtime_target *target,
		      enum runtime_event_kind kind, const struct event_header *header)
{
	const struct toy_code_event *event = (const void *)header;
	struct interpreter_state *toy = target->states[RUNTIME_TOY];
	char name[TOY_NAME_BYTES + 1] = "";
	struct runtime_code *code;
	struct frame frame;

	(void)kind;
	if (!toy || runtime_codes_find(&toy->codes, &event->call) ||
	    runtime_codes_are_full(&toy->codes))
		return;
	code = calloc(1, sizeof(*code));
	if (!code)
		return;
	memcpy(name, event->name, TOY_NAME_BYTES);
	frame = frame_managed(FRAME_KIND_TOY, name, "/srv/toy.toy", event->call.place);
	code->call = event->call;
	code->frame = runtimes_keep(runtimes, target, &frame);
	runtime_codes_put(&toy->codes, code);
}

static const struct frame *toy_frame(struct runtimes *runtimes, struct runtime_target *target,
				     const struct runtime_call *call,
				     const struct interpreter_place *place)
{
	const struct interpreter_state *toy = target->states[RUNTIME_TOY];
	const struct runtime_code *code = runtime_codes_find(&toy->codes, call);
	struct frame none = frame_managed(FRAME_KIND_TOY, NULL, NULL, 0);

	(void)place;
	return code ? code->frame : runtimes_keep(runtimes, target, &none);
}

static bool toy_weave(struct runtimes *runtimes, struct runtime_target *target, uint64_t hash,
		      const uint64_t *frames, struct stack_draft *draft)
{
	(void)frames;
	return interpreter_weave(runtimes, target, RUNTIME_TOY, toy_frame, hash, draft);
}

/* ---- the language ------------------------------------------------------------------------------ */

static bool toy_doctor(const struct image *image, struct object *object, enum runtime runtime,
		       char text[static RUNTIME_DOCTOR_TEXT])
{
	struct toy_symbols symbols;
	char reason[REASON_MAX] = "";

	(void)image;
	if (runtime != RUNTIME_TOY)
		return false;
	interpreter_doctor(text, toy_ops.name, "", "functions", toy_find(object, &symbols, reason),
			   reason);
	return true;
}

static void toy_free(struct runtimes *runtimes, void *state)
{
	(void)runtimes;
	interpreter_free(state);
}

static const char *const toy_reasons[] = {
	[TOY_UNREADABLE] = "a frame is in no memory",
};

const struct runtime_ops toy_ops = {
	.runtime = RUNTIME_TOY,
	.name = "Toy",
	.mark = "toy_top",
	.failures = {toy_reasons, ARRAY_SIZE(toy_reasons), .apart = true},
	.look = toy_look,
	.event = toy_event,
	.weave = toy_weave,
	.doctor = toy_doctor,
	.free = toy_free,
};

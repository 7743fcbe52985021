// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/python/python_stack.h"

#include "user/runtime/interpreter_stack.h"
#include "user/runtime/python/target_python.h"

static const struct frame *python_stack_frame(struct runtimes *runtimes,
					      struct runtime_target *target,
					      const struct runtime_call *call,
					      const struct interpreter_place *place)
{
	const struct target_python *python = target->states[RUNTIME_PYTHON];
	const struct python_code *code = python_names_code(&python->names, call);
	struct frame frame = frame_managed(
		FRAME_KIND_PYTHON, code ? code->function : NULL, code ? code->file : NULL,
		code ? python_code_line(code, python->known->runtime.version, call) : 0);

	(void)place;
	return runtimes_keep(runtimes, target, &frame);
}

bool python_stack_weave(struct runtimes *runtimes, struct runtime_target *target, uint64_t hash,
			const uint64_t *frames, struct stack_draft *draft)
{
	const struct target_python *python = target->states[RUNTIME_PYTHON];
	struct interpreter interpreter = {.frame = python_stack_frame, .has_trampolines = true};

	(void)frames;
	if (!python || !python->known)
		return false;
	interpreter.object_id = python->known->object_id;
	interpreter.eval = python->known->runtime.eval;
	interpreter.eval_cold = python->known->runtime.eval_cold;
	return interpreter_stack_weave(runtimes, target, &interpreter, hash, draft);
}

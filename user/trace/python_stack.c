// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/python_stack.h"

#include "user/runtime/python/cpython.h"
#include "user/trace/interpreter_stack.h"
#include "user/trace/known_objects.h"
#include "user/trace/python_names.h"

static const struct frame *python_stack_frame(struct trace *trace, const struct target *target,
					      const struct runtime_call *call,
					      const struct interpreter_place *place)
{
	const struct python_code *code = python_names_code(trace->python, target->id, call);
	struct frame frame = frame_managed(
		FRAME_KIND_PYTHON, code ? code->function : NULL, code ? code->file : NULL,
		code ? python_code_line(code, target->python->runtime.version, call) : 0);

	(void)place;
	return stack_table_keep_frame(trace->stacks, target->id, &frame);
}

bool python_stack_weave(struct trace *trace, const struct target *target, uint64_t python,
			struct stack_draft *draft)
{
	const struct known_python *known = target->python;
	struct interpreter interpreter = {
		.frame = python_stack_frame, .entry = PYTHON_ENTRY, .has_trampolines = true};

	if (!known)
		return false;
	interpreter.object_id = known->object_id;
	interpreter.eval = known->runtime.eval;
	interpreter.eval_cold = known->runtime.eval_cold;
	return interpreter_stack_weave(trace, target, &interpreter, python, draft);
}

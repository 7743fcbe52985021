// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/stack_weave.h"

#include "user/trace/java_names.h"
#include "user/trace/perl_names.h"
#include "user/trace/php_names.h"
#include "user/trace/python_stack.h"
#include "user/trace/ruby_names.h"
#include "user/trace/runtime_chains.h"
#include "user/trace/v8_stack.h"

bool stack_weave(struct trace *trace, const struct target *target,
		 const struct runtime_hashes *runtime, const uint64_t *frames,
		 struct stack_draft *draft)
{
	bool woven = v8_stack_weave(trace, target, frames, runtime->v8, draft);

	woven |= java_names_weave(trace, target, runtime->java, draft);
	woven |= python_stack_weave(trace, target, runtime->python, draft);
	woven |= ruby_names_weave(trace, target, runtime->ruby, draft);
	woven |= php_names_weave(trace, target, runtime->php, draft);
	woven |= perl_names_weave(trace, target, runtime->perl, draft);
	runtime_chains_drop(trace->chains, target->id, runtime->v8);
	runtime_chains_drop(trace->chains, target->id, runtime->java);
	runtime_chains_drop(trace->chains, target->id, runtime->python);
	runtime_chains_drop(trace->chains, target->id, runtime->ruby);
	runtime_chains_drop(trace->chains, target->id, runtime->php);
	runtime_chains_drop(trace->chains, target->id, runtime->perl);
	stack_draft_limit(draft, trace->options.max_frames);
	return woven;
}

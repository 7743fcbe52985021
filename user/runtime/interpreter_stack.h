/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions of an interpreter's language among the C functions of a stack. Private to user/runtime. */
#ifndef MEMLEAKBPF_RUNTIME_INTERPRETER_STACK_H
#define MEMLEAKBPF_RUNTIME_INTERPRETER_STACK_H

#include "bpf/runtime/runtime_abi.h"
#include "user/runtime/runtime_range.h"
#include "user/runtime/runtime_ops.h"

/* What is known of where a call of the language's stands among those of C. */
struct interpreter_place {
	bool innermost;
	/* What has called it, and so on outwards. */
	const struct runtime_call *outer;
	size_t outer_count;
	/* Of the innermost one: where the evaluating function has called something, and the return address to the interpreter's file
	 * that lies in front of that. NULL: not known, or there is none. */
	const struct location *eval, *inner;
};

/*
 * What the call is called: of runtime_host.keep(). NULL: without memory it is as if it were not
 * there.
 */
typedef const struct frame *interpreter_frame_fn(struct runtimes *runtimes,
						 struct runtime_target *target,
						 const struct runtime_call *call,
						 const struct interpreter_place *place);

/* One that runs its language's functions in one of its own, which C calls again and again. */
struct interpreter {
	uint64_t object_id;
	struct runtime_range eval, eval_cold; /* that function */
	bool has_trampolines; /* code without a file calls it, once for each of the language's functions: -X perf */
	interpreter_frame_fn *frame;
};

/*
 * Puts the functions of the chain with the hash in the draft. draft->end is set where the stack does not go on. False:
 * there is no such chain.
 *
 * A call of the evaluating function stands for the functions that it runs, up to the one that C has called. Unless
 * native_frames is set, it and the other functions of the interpreter that lie between the language's and
 * behind them are left out.
 */
bool interpreter_stack_weave(struct runtimes *runtimes, struct runtime_target *target,
			     const struct interpreter *interpreter, uint64_t hash,
			     struct stack_draft *draft);

#endif

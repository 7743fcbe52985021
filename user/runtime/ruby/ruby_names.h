/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What frames of Ruby's are called, as the programs have copied it. Private to user/runtime/ruby. */
#ifndef MEMLEAKBPF_RUNTIME_RUBY_NAMES_H
#define MEMLEAKBPF_RUNTIME_RUBY_NAMES_H

#include "bpf/runtime/ruby_abi.h"
#include "user/runtime/interpreter.h"

void ruby_names_add(struct runtimes *runtimes, struct runtime_target *target,
		    const struct ruby_code_event *event);

interpreter_frame_fn ruby_names_frame;

#endif

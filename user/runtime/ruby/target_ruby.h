/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A target's CRuby: what is known of it, and of its code. Private to user/runtime/ruby. */
#ifndef MEMLEAKBPF_RUNTIME_TARGET_RUBY_H
#define MEMLEAKBPF_RUNTIME_TARGET_RUBY_H

#include "user/runtime/interpreter.h"
#include "user/runtime/ruby/cruby.h"

/* What has been named. */
struct ruby_code {
	struct runtime_code code; /* where it has called something */
	/* Of runtime_host.keep(): where its pc stands if that is another line. */
	const struct frame *frame_at;
	uint64_t code_at, code_before; /* struct ruby_code_event */
};

struct target_ruby {
	struct interpreter_state interpreter;
	struct ruby_runtime runtime;
};

#endif

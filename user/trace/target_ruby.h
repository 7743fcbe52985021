/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A target's CRuby: what is known of it, and of its code. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_TARGET_RUBY_H
#define MEMLEAKBPF_TRACE_TARGET_RUBY_H

#include "user/base/hash.h"
#include "user/model/frame.h"
#include "user/runtime/ruby/cruby.h"
#include "user/trace/runtime_rows.h"

/* What has been named. */
struct ruby_code {
	struct runtime_call call; /* the key, without RUBY_ENTRY */
	UT_hash_handle hh;
	/* Of stack_table_keep_frame(): where it has called something, and where its pc stands if that is another line. */
	const struct frame *frame, *frame_at;
	uint64_t code_at, code_before; /* struct ruby_code_event */
};

struct target_ruby {
	struct runtime_mapped mapped;
	struct ruby_runtime runtime;
	struct ruby_code *codes; /* uthash by call: ruby_names.h */
};

void target_ruby_free(struct target_ruby *ruby); /* NULL is fine */

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A target's Perl: what is known of it, and of its subroutines. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_TARGET_PERL_H
#define MEMLEAKBPF_TRACE_TARGET_PERL_H

#include "user/base/hash.h"
#include "user/model/frame.h"
#include "user/runtime/perl/perl_engine.h"
#include "user/trace/runtime_rows.h"

/* What has been named. */
struct perl_code {
	struct runtime_call call; /* the key, without PERL_ENTRY */
	UT_hash_handle hh;
	const struct frame *frame; /* of stack_table_keep_frame() */
};

struct target_perl {
	struct runtime_mapped mapped;
	struct perl_runtime runtime;
	struct perl_code *codes; /* uthash by call: perl_names.h */
};

void target_perl_free(struct target_perl *perl); /* NULL is fine */

#endif

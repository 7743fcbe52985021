/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A target's V8: what is known of it, and of its functions. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_TARGET_V8_H
#define MEMLEAKBPF_TRACE_TARGET_V8_H

#include "bpf/v8_abi.h"
#include "user/base/hash.h"
#include "user/model/frame.h"
#include "user/process/object.h"
#include "user/target/v8_calls.h"
#include "user/symbol/v8_line.h"
#include "user/trace/target.h"

/* What has been named. */
struct v8_function {
	struct {
		uint64_t code, cookie;
	} key;
	UT_hash_handle hh;
	const struct frame *frame; /* of stack_table_keep_frame() */
	struct v8_places lines;	   /* of its calls */
	bool baseline;		   /* they are places in baseline code */
};

/* A script whose lines are known. */
struct v8_script {
	struct {
		uint64_t script, source, length, name; /* objects; a hash over its name */
	} key;
	UT_hash_handle hh;
	struct v8_lines lines;
};

struct target_v8 {
	struct object *object;
	uint64_t bias; /* over link-time addresses */
	struct v8_row row;
	struct v8_opcodes opcodes;
	bool entered;		       /* the row is in the programs' map */
	bool refused;		       /* which has been said */
	struct v8_function *functions; /* uthash by key: v8_names.h */
	struct v8_script *scripts;
	uint64_t unnamed; /* functions without their line, which they have */
};

void target_v8_free(struct target_v8 *v8); /* NULL is fine */

#endif

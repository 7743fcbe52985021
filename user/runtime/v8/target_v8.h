/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A target's V8: what is known of it, and of its functions. Private to user/runtime. */
#ifndef MEMLEAKBPF_RUNTIME_TARGET_V8_H
#define MEMLEAKBPF_RUNTIME_TARGET_V8_H

#include "bpf/runtime/v8_abi.h"
#include "user/base/hash.h"
#include "user/model/frame.h"
#include "user/process/object.h"
#include "user/runtime/v8/v8_calls.h"
#include "user/runtime/v8/v8_versions.h"
#include "user/runtime/v8/v8_line.h"
#include "user/runtime/runtime_target.h"

/* What has been named. */
struct v8_function {
	struct {
		uint64_t code, cookie;
	} key;
	UT_hash_handle hh;
	const struct frame *frame; /* of runtime_host.keep() */
	struct v8_places lines;	   /* of its calls */
	bool baseline;		   /* they are places in baseline code */
};

/* A call in optimised code: it is in so many functions, the outermost one first. */
struct v8_site {
	uint32_t at; /* as struct runtime_call has it */
	uint32_t first, count;
};

/* One of these. */
struct v8_site_call {
	uint64_t code; /* with the cookie its v8_function; 0: it is not known */
	uint32_t cookie;
	int32_t offset; /* in its bytecodes; -1: that is not known, or it is being entered */
};

struct v8_optimised {
	struct {
		uint64_t code, cookie;
	} key;
	UT_hash_handle hh;
	uint32_t function_cookie; /* of the function that it is the code of */
	uint32_t exits;		  /* where those of its sites begin */
	size_t exit_count;	  /* so many of its sites, the first ones, have one */
	size_t site_count;
	struct v8_site *sites;
	struct v8_site_call *calls;
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
	const struct v8_version *version; /* NULL: it is not known */
	bool entered;			  /* the row is in the programs' map */
	struct v8_function *functions;	  /* uthash by key: v8_names.h */
	struct v8_script *scripts;
	struct v8_optimised *codes; /* by key: v8_stack.h */
	uint64_t unnamed;	    /* functions without their line, which they have */
};

void v8_optimised_free(struct v8_optimised *code); /* NULL is fine */
void target_v8_free(struct target_v8 *v8);

#endif

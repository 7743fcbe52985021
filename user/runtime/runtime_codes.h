/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the functions of a target's interpreter are called, by what stands for them in chains. Private to user/runtime. */
#ifndef MEMLEAKBPF_RUNTIME_RUNTIME_CODES_H
#define MEMLEAKBPF_RUNTIME_RUNTIME_CODES_H

#include <stdbool.h>

#include "bpf/runtime/runtime_abi.h"
#include "user/base/hash.h"
#include "user/model/frame.h"

/* The beginning of what a language knows of a function. malloc'ed. */
struct runtime_code {
	struct runtime_call call; /* the key, without RUNTIME_ENTRY */
	UT_hash_handle hh;
	const struct frame *frame; /* of runtime_host.keep() */
};

/* Zeroed at first, but for the function. */
struct runtime_codes {
	struct runtime_code *table;		  /* uthash by call */
	void (*free_code)(struct runtime_code *); /* NULL: free() */
};

void runtime_codes_clear(struct runtime_codes *codes);

/* NULL: it has not come. */
struct runtime_code *runtime_codes_find(const struct runtime_codes *codes,
					const struct runtime_call *call);

/* A target that sends functions without end takes no memory without end. */
bool runtime_codes_are_full(const struct runtime_codes *codes);

/* Takes the code, in the place of one that is there. One without a frame, or without memory, is freed. */
void runtime_codes_put(struct runtime_codes *codes, struct runtime_code *code);

#endif

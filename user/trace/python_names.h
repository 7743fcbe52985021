/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel has sent of targets' Python functions: which a stack is in, and what they are
 * called. Private to user/trace.
 */
#ifndef MEMLEAKBPF_TRACE_PYTHON_NAMES_H
#define MEMLEAKBPF_TRACE_PYTHON_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/python_abi.h"

struct python_names;

struct python_chain {
	uint32_t count;
	bool cut;
	struct python_call calls[];
};

struct python_code {
	char *function, *file; /* UTF-8, of any characters; NULL: unknown */
	int32_t first_line;
	size_t table_size;
	uint8_t table[];
};

struct python_names *python_names_new(void); /* NULL when out of memory */
void python_names_free(struct python_names *names);

/* Out of memory they stay unknown. */
void python_names_add_code(struct python_names *names, const struct python_code_event *event);
void python_names_add_chain(struct python_names *names, const struct python_chain_event *event);

/*
 * NULL: it has not come. A chain comes once for each stack that has it, and is there until
 * python_names_drop_chain() has been called as often; a code object until its target is removed.
 */
const struct python_chain *python_names_chain(const struct python_names *names, uint32_t target_id,
					      uint64_t hash);
void python_names_drop_chain(struct python_names *names, uint32_t target_id, uint64_t hash);
const struct python_code *python_names_code(const struct python_names *names, uint32_t target_id,
					    const struct python_call *call);
/* Where in the code the call is; 0: that is not known. */
uint32_t python_code_line(const struct python_code *code, const struct python_call *call);

void python_names_remove_target(struct python_names *names, uint32_t target_id);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the kernel has sent of targets' Python functions: what they are called. Private to user/runtime. */
#ifndef MEMLEAKBPF_RUNTIME_PYTHON_NAMES_H
#define MEMLEAKBPF_RUNTIME_PYTHON_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/runtime/python_abi.h"
#include "user/runtime/runtime_ops.h"

struct python_code {
	char *function, *file; /* UTF-8, of any characters; NULL: unknown */
	int32_t first_line;
	bool table_read, table_whole; /* the table of lines */
	size_t table_size;
	uint8_t table[];
};

/* Those of one target; zeroed at first. */
struct python_names {
	struct python_code_node *codes; /* uthash */
};

/* Out of memory it stays unknown. */
void python_names_add_code(struct runtimes *runtimes, struct python_names *names,
			   const struct python_code_event *event);

/* NULL: it has not come. It is there until python_names_clear(). */
const struct python_code *python_names_code(const struct python_names *names,
					    const struct runtime_call *call);
/* Where in the code the call is, by CPython of that version; 0: that is not known. */
uint32_t python_code_line(const struct python_code *code, uint32_t version,
			  const struct runtime_call *call);

void python_names_clear(struct runtimes *runtimes, struct python_names *names);

#endif

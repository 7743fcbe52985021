/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What V8 exports no constants of, written down for each version: how its code leads to the
 * bytecodes that it was made of. In a version that is not known a function has only the line where
 * it begins.
 */
#ifndef MEMLEAKBPF_RUNTIME_V8_VERSIONS_H
#define MEMLEAKBPF_RUNTIME_V8_VERSIONS_H

#include "bpf/runtime/v8_abi.h"
#include "user/runtime/v8/v8_deopt.h"

struct v8_version {
	int32_t major, minor;
	struct v8_row row;	     /* its members about code, but the types */
	const char *types[V8_KINDS]; /* constants; NULL: another one says so */
	struct v8_translations_form form;
	/* How many bytes each bytecode has, from '0' on, with operands of 1, 2 and 4 bytes; NULL: its file says so. */
	const char *opcodes[3];
	bool flags;  /* in its tables of positions */
	bool maglev; /* it has Maglev, whose tables are as v8_safepoints.h has them */
};

/* NULL: it is not known. */
const struct v8_version *v8_version_find(int32_t major, int32_t minor);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Is an object CRuby's interpreter, and how does that keep its frames? */
#ifndef MEMLEAKBPF_RUNTIME_CRUBY_H
#define MEMLEAKBPF_RUNTIME_CRUBY_H

#include <stdint.h>

#include "bpf/runtime/ruby_abi.h"
#include "user/base/reason.h"
#include "user/process/object.h"

struct ruby_runtime {
	char version[16]; /* "3.1.2"; "": unknown */
	/* Without the number of its thread-local variables, and where its code is. */
	struct ruby_row row;
	uint64_t exec, exec_end; /* the function that runs Ruby's: offsets in the file */
};

/*
 * 0 and *out; -ENOENT: it is not CRuby; -ENOTSUP, with the reason: it is one whose frames are not known; *out has the version
 * then. -EIO. Not logged.
 */
int ruby_find(struct object *object, struct ruby_runtime *out, char reason[static REASON_MAX]);

#endif

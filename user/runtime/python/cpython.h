/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Is an object CPython's interpreter, and how does that keep its frames? */
#ifndef MEMLEAKBPF_RUNTIME_CPYTHON_H
#define MEMLEAKBPF_RUNTIME_CPYTHON_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/runtime/python_abi.h"
#include "user/base/reason.h"
#include "user/process/object.h"
#include "user/runtime/runtime_libc.h"
#include "user/runtime/runtime_range.h"

struct python_runtime {
	/* sys.hexversion, before 3.11 of the first two numbers only; 0: unknown */
	uint32_t version;
	/* Of which the addresses are link-time ones, to be moved to where the object is mapped. */
	struct python_row row;
	/* The function that runs Python functions, and the part of it that the compiler put elsewhere. */
	struct runtime_range eval, eval_cold;
};

/*
 * Not logged.
 *
 * - 0 and *out
 * - -ENOENT: it is not CPython
 * - -ENOTSUP, with the reason: the frames of this CPython are not known; *out has its version, if
 *   that is known
 * - -EIO
 */
int python_find(struct object *object, struct python_runtime *out, char reason[static REASON_MAX]);

/* " 3.11.2", " 3.9"; "": unknown. */
#define PYTHON_VERSION_TEXT 16
void python_version_text(uint32_t version, char text[static PYTHON_VERSION_TEXT]);

/* Why frames are not known of an interpreter that is. */
#define PYTHON_OLD_KERNEL "that takes Linux 5.15"

/* The row for a process in which the object is `bias` bytes above its link-time addresses. */
struct python_row python_row_at(const struct python_runtime *runtime, uint64_t bias);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where V8 keeps the names of its JavaScript functions, by the constants that it exports for
 * debuggers (v8dbg_...). No offset of an object's member is written down here if such a constant
 * tells it. So a V8 without a needed constant is refused, and none is misread.
 */
#ifndef MEMLEAKBPF_RUNTIME_V8_ENGINE_H
#define MEMLEAKBPF_RUNTIME_V8_ENGINE_H

#include <stdint.h>

#include "bpf/runtime/v8_abi.h"
#include "user/base/reason.h"
#include "user/process/object.h"
#include "user/runtime/v8/v8_calls.h"
#include "user/runtime/v8/v8_versions.h"

/* A constant, as the file has it; `name` without "v8dbg_". */
struct v8_constant {
	const char *name;
	int32_t value;
};

/* 0, or -ENOTSUP with the reason. */
int v8_row_from(const struct v8_constant *constants, size_t count, struct v8_row *out,
		char reason[static REASON_MAX]);

/* The same of the constants that the object exports; -ENOMEM, -EBADMSG too. *version: NULL, it is not known. */
int v8_row_of(struct object *object, struct v8_row *out, const struct v8_version **version,
	      char reason[static REASON_MAX]);

/* How large its bytecodes are, as its file says, or else its version (NULL: not known); out->count is 0: neither does. */
void v8_opcodes_of(struct object *object, const struct v8_version *version, struct v8_opcodes *out);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where CPython frees its code objects. As long as no call comes there, what is at a code object's address is that code object: nobody has to
 * look at it again.
 */
#ifndef MEMLEAKBPF_RUNTIME_CPYTHON_CODE_END_H
#define MEMLEAKBPF_RUNTIME_CPYTHON_CODE_END_H

#include "user/runtime/python/cpython.h"
#include "user/target/provider.h"

/*
 * Finds the function that PyCode_Type has for the end of a code object. python_find() has found
 * `runtime` in the object. 0 and *out, to be freed with provider_free(); its row has OP_CODE_END.
 * -ENOENT: where the function begins is not known for certain. Or -errno, not logged.
 */
int code_end_find(struct object *object, const struct python_runtime *runtime,
		  struct provider **out);

#endif

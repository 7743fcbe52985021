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
 * The function that PyCode_Type of the object, whose `runtime` python_find() has found, has for that: 0 and *out (to be freed with
 * provider_free; its row has OP_CODE_END), -ENOENT: where it begins is not known for certain, or -errno, not logged.
 */
int code_end_find(struct object *object, const struct python_runtime *runtime,
		  struct provider **out);

#endif

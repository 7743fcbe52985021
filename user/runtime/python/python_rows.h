/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Targets that run CPython: the programs are told where it has its frames. */
#ifndef MEMLEAKBPF_RUNTIME_PYTHON_ROWS_H
#define MEMLEAKBPF_RUNTIME_PYTHON_ROWS_H

#include "user/runtime/runtime_ops.h"
#include "user/target/provider.h"

extern const struct runtime_ops python_ops;

/*
 * Where a Python whose frames are followed frees its code objects, for a probe. 0 and *out, for
 * provider_free(); or -errno: the object is none, or that is not found.
 */
int python_find_code_end(const struct runtime_object *known, struct object *object,
			 struct provider **out);

/* The object is the target's followed interpreter, which does not tell yet which code objects end. */
bool python_wants_code_ends(const struct runtime_target *target,
			    const struct runtime_object *object);

/*
 * A probe tells of each code object of the target's Python that is freed. Says whether that probe
 * is in the target. False comes before it is taken out, or when it may have no effect. Only while
 * it is there, a code object is believed for longer than one walk.
 */
void python_tell_code_ends(struct runtimes *runtimes, struct runtime_target *target, bool told);

#endif

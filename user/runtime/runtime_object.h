/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What languages know of an object: it is the same in each process that maps it. */
#ifndef MEMLEAKBPF_RUNTIME_RUNTIME_OBJECT_H
#define MEMLEAKBPF_RUNTIME_RUNTIME_OBJECT_H

#include <stdbool.h>

#include "user/runtime/runtime.h"

struct runtime_object {
	enum runtime runtime;
	void *known[RUNTIMES_FOLLOWED]; /* each language's own, for free(); NULL: nothing */
};

struct runtime_object *runtime_object_new(struct object *object); /* NULL when out of memory */
void runtime_object_free(struct runtime_object *object);	  /* NULL is fine */

/* It is a runtime whose frames are followed. */
bool runtime_object_has_frames(const struct runtime_object *object);

#endif

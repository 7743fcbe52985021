/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What hangs on what, what holds the largest groups of blocks, and the largest mappings. Internal to user/inspect. */
#ifndef MEMLEAKBPF_INSPECT_HOLDERS_H
#define MEMLEAKBPF_INSPECT_HOLDERS_H

#include "user/base/packed.h"
#include "user/heap/reach.h"
#include "user/inspect/class_memory.h"
#include "user/inspect/hanging.h"
#include "user/inspect/inspect.h"
#include "user/inspect/thread_locals.h"
#include "user/model/inspection.h"

/* Where names of places come from. */
struct holders_names {
	const struct class_files *files;
	struct thread_locals *locals;
	/* as held_names.frame; NULL: none is known */
	int (*frame)(void *ctx, const struct memory_thread *thread, uint64_t address,
		     const struct frame **out);
	void *frame_ctx;
};

/*
 * Fills in the ways, holders of the groups that have most bytes, and held_by of the largest mappings.
 * `traced`: NULL, nobody has watched it. 0 or -ENOMEM.
 */
int holders_find(const struct heap_image *image, struct reach *reach, struct hanging_kinds *kinds,
		 const struct holders_names *names, const struct inspect_traced *traced,
		 struct inspection *out);

#endif

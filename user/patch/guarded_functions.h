/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which functions of a process's allocator get a guard: all that take a block, or none. */
#ifndef MEMLEAKBPF_PATCH_GUARDED_FUNCTIONS_H
#define MEMLEAKBPF_PATCH_GUARDED_FUNCTIONS_H

#include "user/base/reason.h"
#include "user/guard/guard.h"
#include "user/target/image.h"
#include "user/patch/object_text.h"

struct guarded_functions {
	struct gate_wanted *items;
	uint64_t *
		pcs; /* of each: its address, by which it is named; items' may be where a jump leads */
	size_t count;
	const struct object *object; /* that they are in: the image's */
	const char *allocator;	     /* "glibc": static */
	bool with_new;		     /* as asked for */
	struct object_text text;
	/* The last ones of the list may give a thread a seccomp filter: where they are. `keeps`: why there are none, static. */
	struct object_text leave_text;
	const char *keeps;
};

/*
 * Finds the functions to guard in the process of this image, which is up to date.
 *
 * `with_new`: with the operators new. The gate watches their returns. Without a gate probes would
 * watch them at their own instructions, and no guarded block comes by those: the books would lack
 * them.
 *
 * 0; or -errno with the reason why the process gets no guards, a clause about it.
 * guarded_functions_free() in any case.
 */
int guarded_functions_find(const struct image *image, bool with_new, struct guarded_functions *out,
			   char reason[static REASON_MAX]);
void guarded_functions_free(struct guarded_functions *functions);

/*
 * Fills in request->in, but for its `pid` and `nop`. It borrows from `functions`, which guard_open()
 * needs and nobody after it.
 */
void guarded_functions_request(const struct guarded_functions *functions,
			       struct guard_request *request);

/*
 * May the process still have blocks guarded that come from its allocator, `object`? To be asked
 * whenever image_generation() has changed, before the process can have run much of the new code. 0;
 * or -errno with the reason: a library with functions of an allocator has come. Then guard_pause()
 * turns the guards off at once.
 */
int guarded_functions_check(const struct image *image, const struct object *object,
			    char reason[static REASON_MAX]);

#endif

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
 * Of the process whose image this is, up to date; with the operators new, or without: where they return is watched at
 * their own instructions, by none of which a guarded block comes, so without a gate the books would lack it. 0; or
 * -errno with the reason, a clause about the process: it is to have no guards. guarded_functions_free() in any case.
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
 * To be asked whenever image_generation() has changed, before the process can have run much of what it
 * has mapped now: may its blocks still be guarded, which are of `object`, that of its functions? 0;
 * or -errno with the reason: a library has come that has functions of an allocator, and the guards are
 * to be turned off at once: guard_pause().
 */
int guarded_functions_check(const struct image *image, const struct object *object,
			    char reason[static REASON_MAX]);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which of the objects that a process maps has the allocator that may be guarded. */
#ifndef MEMLEAKBPF_PATCH_GUARDED_OBJECTS_H
#define MEMLEAKBPF_PATCH_GUARDED_OBJECTS_H

#include "user/base/reason.h"
#include "user/guard/guard_names.h"
#include "user/target/image.h"

/*
 * Looks at the symbols of each mapped object for the allocator's. 0 and *out, which is the image's.
 * Or -errno with the reason, a clause about the process: it has several allocators, copies of some
 * of its functions, or none that is known. *libc: its C library, likewise; NULL: none that is
 * known.
 */
int guarded_object_find(const struct image *image, const struct object **out,
			const struct object **libc, const struct guard_allocator **allocator,
			char reason[static REASON_MAX]);

/*
 * Does another object of the process call that function of this one, which takes a block and has no
 * guard? -EOPNOTSUPP, with the reason; 0: none does.
 */
int guarded_object_uses(const struct image *image, const struct object *object, const char *name,
			char reason[static REASON_MAX]);

#endif

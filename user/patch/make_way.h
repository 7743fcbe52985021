/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * No probe may come to where a gate's jump stands. The kernel goes on behind the instruction that
 * the file has there. Within a jump that ends the process.
 */
#ifndef MEMLEAKBPF_PATCH_MAKE_WAY_H
#define MEMLEAKBPF_PATCH_MAKE_WAY_H

#include "user/base/reason.h"
#include "user/probe/probe.h"
#include "user/target/image.h"

/*
 * To be called before the set's probes are put into the process of this image. Removes jumps that a
 * gate has left and nobody uses. 0, or -errno with the reason, not logged:
 *
 * - -EBUSY: another tool's gate is there
 * - -EEXIST: guards are there. A probe behind a function's first byte would not see their blocks
 *   (probe_set_use_entries())
 * - -EACCES: nobody can tell whether a gate is there
 * - -ESRCH: the process is gone
 */
int make_way_in(const struct image *image, const struct probe_set *set,
		char reason[static REASON_MAX]);

/*
 * The same of every process, before probes that come to all; the reason names the process. One that
 * gets its gate at this very moment is not seen: the look and the probes are some milliseconds apart.
 */
int make_way_everywhere(struct object_cache *objects, const struct probe_set *set,
			char reason[static REASON_MAX]);

#endif

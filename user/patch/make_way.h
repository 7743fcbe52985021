/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * No probe comes to where a gate's jump stands: the kernel goes on behind the instruction that the
 * file has there, which within a jump is the process's end.
 */
#ifndef MEMLEAKBPF_PATCH_MAKE_WAY_H
#define MEMLEAKBPF_PATCH_MAKE_WAY_H

#include "user/base/reason.h"
#include "user/probe/probe.h"
#include "user/target/image.h"

/*
 * Before the set's probes are put into the process whose image this is: jumps that a gate has left
 * which nobody uses go. 0, or -errno with the reason, not logged: -EBUSY, another tool's gate is
 * there; -EEXIST, guards are, whose blocks a probe behind a function's first byte would not see
 * (probe_set_use_entries()); -EACCES, whether there is one cannot be told; -ESRCH.
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

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Gates and guards of targets (user/patch). Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_TARGET_PATCHES_H
#define MEMLEAKBPF_TRACE_TARGET_PATCHES_H

#include "user/trace/target.h"

/* Before the programs are loaded: can there be what options ask for? 0 or -errno, logged. */
int target_patches_prepare(struct trace *trace);
/* They are loaded, and the kernel's arrays are mapped. */
void target_patches_start(struct trace *trace);

/* guarded_look() of all targets. */
void target_patches_look(struct trace *trace);

/* Of targets that have ended: nothing of them is left in the programs' maps. */
void target_patches_release_swept(const struct trace *trace);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --check-frees: the kernel's table of bad frees. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_BAD_FREES_READ_H
#define MEMLEAKBPF_TRACE_BAD_FREES_READ_H

#include "user/trace/state.h"

/* Fills in those of the snapshot's target. 0 or -ENOMEM. */
int bad_frees_read(const struct trace *trace, struct snapshot *snapshot);
/* Forgets those of targets that slots_target_swept(). */
void bad_frees_release_swept(const struct trace *trace);

#endif

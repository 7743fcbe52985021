/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where the walks lie that threads remember. */
#ifndef MEMLEAKBPF_BPF_UNWIND_TRAILS_MAP_H
#define MEMLEAKBPF_BPF_UNWIND_TRAILS_MAP_H

#include "bpf/unwind.h"

#include <bpf/bpf_helpers.h>

/* Of each thread that has walked its stack several times: the walks that it remembers (bpf/unwind_trail.h). */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct unwind_trails);
} thread_trails __weak SEC(".maps");

#endif

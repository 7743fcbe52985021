/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What user space sets before loading (read-only then) and the few words both sides write. */
#ifndef MEMLEAKBPF_BPF_CONFIG_H
#define MEMLEAKBPF_BPF_CONFIG_H

#include "bpf/abi.h"

struct config {
	uint64_t
		start_ns; /* bpf_ktime_get_ns() when the trace began; live_value.time counts from it */
	uint64_t min_size; /* -z, -Z: bytes, both included */
	uint64_t max_size;
	uint64_t older_ns; /* --older: what slot_age.older_* counts */
	uint32_t max_slots;
	uint32_t max_frames; /* --depth, at most ABI_MAX_FRAMES */
};

struct shared {
	uint32_t last_target_id;    /* ids are given out by adding one, from both sides */
	uint32_t next_slot;	    /* slots below it have been used */
	uint64_t lost[LOST_CAUSES]; /* what cannot be told apart by target */
};

#ifdef __bpf__
/* Weak, so that every .bpf.c file can include this and the linker keeps one. */
const volatile struct config config __attribute__((weak)) = {};
struct shared shared __attribute__((weak)) = {};
#endif

#endif

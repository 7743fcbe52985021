/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rows of the map live_filter (bpf/bpf_maps.h), in which both sides count. */
#ifndef MEMLEAKBPF_BPF_LIVE_FILTER_H
#define MEMLEAKBPF_BPF_LIVE_FILTER_H

#include "bpf/types.h"

#define LIVE_FILTER_BITS 16

static inline uint32_t live_filter_row(uint64_t address, uint32_t target_id)
{
	return ((address ^ target_id) * 0x9e3779b97f4a7c15ull) >> (64 - LIVE_FILTER_BITS);
}

#endif

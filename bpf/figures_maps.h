/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The maps of figures beside the counters: of one row each unless they are wanted. */
#ifndef MEMLEAKBPF_BPF_FIGURES_MAPS_H
#define MEMLEAKBPF_BPF_FIGURES_MAPS_H

#include "bpf/figures_abi.h"
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, uint32_t);
	__type(value, struct slot_lifetimes);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
} slot_lifetimes __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, uint32_t);
	__type(value, struct slot_outlived);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
} slots_outlived __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, uint32_t);
	__type(value, struct slot_temporary);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
} slot_temporaries __weak SEC(".maps");

/* The most live bytes that a stack has had. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, uint32_t);
	__type(value, uint64_t);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
} slot_peaks __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, uint32_t);
	__type(value, struct target_peak);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
} target_peaks __weak SEC(".maps");

#endif

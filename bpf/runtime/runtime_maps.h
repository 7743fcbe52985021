/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The maps of a language. NAME_rows: struct NAME_row of each target that has it, by id; these get
 * TARGET_RUNTIME(). NAME_threads: what is remembered of a thread, struct NAME_thread, which is the
 * scratch of its programs as well.
 */
#ifndef MEMLEAKBPF_BPF_RUNTIME_MAPS_H
#define MEMLEAKBPF_BPF_RUNTIME_MAPS_H

#include "bpf/bpf_maps.h"
#include "bpf/loss.h"

#define RUNTIME_MAPS(name)                                               \
	struct {                                                         \
		__uint(type, BPF_MAP_TYPE_HASH);                         \
		__type(key, uint32_t);                                   \
		__type(value, struct name##_row);                        \
		__uint(max_entries, ABI_TARGET_SLOTS);                   \
		__uint(map_flags, BPF_F_NO_PREALLOC);                    \
	} name##_rows __weak SEC(".maps");                               \
                                                                         \
	struct {                                                         \
		__uint(type, BPF_MAP_TYPE_TASK_STORAGE);                 \
		__uint(map_flags, BPF_F_NO_PREALLOC);                    \
		__type(key, int);                                        \
		__type(value, struct name##_thread);                     \
	} name##_threads __weak SEC(".maps");                            \
                                                                         \
	static __always_inline void name##_forgotten(uint32_t target_id) \
	{                                                                \
		bpf_map_delete_elem(&name##_rows, &target_id);           \
	}

/* A forked child has its parent's. Without memory for that it has none, which is counted, until user space has looked at it. */
#define RUNTIME_FORKS(name, lost)                                                             \
	static __always_inline void name##_forked(uint32_t parent_id, uint32_t child_id)      \
	{                                                                                     \
		const struct name##_row *row = bpf_map_lookup_elem(&name##_rows, &parent_id); \
                                                                                              \
		if (row && bpf_map_update_elem(&name##_rows, &child_id, row, BPF_ANY))        \
			count_lost(child_id, lost);                                           \
	}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From the kernel's counters to snapshots. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_READER_H
#define MEMLEAKBPF_TRACE_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "bpf/config.h"
#include "user/trace/target.h"

/* Where a snapshot has the blocks' ages from. */
enum reader_ages {
	READER_NO_AGES,
	READER_LAST_AGES, /* the last walk over the live map, which is that of all targets */
	READER_NEW_AGES,
};
/* As trace_snapshot(), which decides by itself where the ages come from. */
int reader_snapshot(struct trace *trace, struct target *target, enum reader_ages ages,
		    struct snapshot **out);
/* A stack of an allocator that another one is built on: its blocks are that one's. */
bool reader_is_nested(const struct trace *trace, uint32_t target_id, uint64_t stack_id);
/*
 * For each of *slots slots the index of its stack in the target's snapshot, or UINT32_MAX; free() it. NULL
 * when out of memory.
 */
uint32_t *reader_stacks_by_slot(const struct trace *trace, const struct target *target,
				const struct snapshot *snapshot, uint32_t *slots);

#endif

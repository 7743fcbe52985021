/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The frames of each stack, as they came from the kernel: addresses, which are named on demand, and
 * frames that a runtime has named itself. They do not depend on the process's mappings any more.
 */
#ifndef MEMLEAKBPF_STACKS_STACKS_H
#define MEMLEAKBPF_STACKS_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "user/model/frame.h"
#include "user/stacks/stack_draft.h"
#include "user/symbol/symbol.h"

struct stack_table;

struct stack_entry {
	struct stack_key key; /* padding zeroed: the key of a hash table */
	pid_t pid;	      /* for JIT maps */
	uint16_t count;
	struct stack_place *places; /* [0] is the probe's place; points behind the entry */
	const char *allocator; /* name for frame 0, NULL: by symbol; lives as long as the trace */
	const struct frame **frames; /* NULL until named */
	size_t frame_count;
	struct frame first; /* frame 0 under the allocator's name */
	uint64_t same_as;   /* a provisional id: the stack is that one; else 0 */
	uint8_t same_end;   /* enum stack_end of that one */
	bool nested;	    /* of a call that another allocator has made, which counts for itself */
};

struct stack_table *stack_table_new(void);
void stack_table_free(struct stack_table *table);

/*
 * Enters a stack of `count` places to be filled by the caller. A stack that is there already is
 * returned as it is with *fresh false. NULL when out of memory.
 */
struct stack_entry *stack_table_add(struct stack_table *table, uint32_t target_id,
				    uint64_t stack_id, size_t count, bool *fresh);
struct stack_entry *stack_table_find(const struct stack_table *table, uint32_t target_id,
				     uint64_t stack_id);

/*
 * Notes that a provisional id stands for that stack. False when out of memory: it then stays a
 * stack without frames.
 */
bool stack_table_finish(struct stack_table *table, uint32_t target_id, uint64_t provisional_id,
			uint64_t stack_id, uint8_t end);

/*
 * Keeps a copy of a frame that a runtime gives by name (frame_managed()), for stack_place.frame.
 * Equal frames share one copy. Its strings are cut and cleaned as symbols are. It lives until the
 * target is removed. NULL when out of memory.
 */
const struct frame *stack_table_keep_frame(struct stack_table *table, uint32_t target_id,
					   const struct frame *frame);

/* Names the frames, once. 0 or -ENOMEM. */
int stack_entry_name(struct stack_entry *entry, struct symbolizer *symbolizer);

/* Forgets the stacks of a target and the frames that were kept for it. */
void stack_table_remove_target(struct stack_table *table, uint32_t target_id);

#endif

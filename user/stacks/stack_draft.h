/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A stack as it is being made: what the walk has found, and where languages put their functions. */
#ifndef MEMLEAKBPF_STACKS_STACK_DRAFT_H
#define MEMLEAKBPF_STACKS_STACK_DRAFT_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "user/model/frame.h"
#include "user/target/image.h"

/* One frame before it is named. */
struct stack_place {
	struct location location;
	/*
	 * of runtime_host.keep(): what a runtime calls this frame. The address is still looked up
	 * where it is in code without a file that a perf map names. NULL: the frame is named by its
	 * location
	 */
	const struct frame *frame;
};

/* A method of Java's that was compiled has others in it, and functions of interpreters come to those of C. */
#define STACK_DRAFT_MAX (4 * ABI_MAX_FRAMES)

/* A stack in which runtimes put their functions. */
struct stack_draft {
	size_t count;
	uint8_t end; /* enum stack_end */
	struct stack_place places[STACK_DRAFT_MAX];
};

/*
 * The id of a stack with frames that runtimes have named. It is made from the frames that are
 * shown, since frames that are left out do not tell two stacks apart. Never 0.
 */
uint64_t stack_places_id(const struct stack_place *places, size_t count, uint8_t end);

/* More frames than that are cut off, as the kernel's side does. */
void stack_draft_limit(struct stack_draft *draft, size_t most);

#endif

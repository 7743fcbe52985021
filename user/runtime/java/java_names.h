/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What frames of Java's are called, read from the target as soon as the kernel tells of them. Private to user/runtime. */
#ifndef MEMLEAKBPF_RUNTIME_JAVA_NAMES_H
#define MEMLEAKBPF_RUNTIME_JAVA_NAMES_H

#include "user/runtime/runtime_ops.h"

#define JAVA_STACK_MAX (2 * ABI_MAX_FRAMES)

/* Names the chain's code, as far as it is not known. What cannot be read is counted, and has no name. */
void java_names_read(struct runtimes *runtimes, struct runtime_target *target,
		     const struct runtime_chain_event *chain);

/*
 * Puts the frames of the chain with the hash in the place of the code that they are of. False: there is no such chain.
 */
bool java_names_weave(struct runtimes *runtimes, struct runtime_target *target, uint64_t hash,
		      const uint64_t *frames, struct stack_draft *draft);

/* Counts the frames of Java's in a stack that was walked before the programs knew the JVM: these have no names. */
void java_names_count(struct runtimes *runtimes, struct runtime_target *target,
		      const struct stack_draft *draft);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All runtimes whose functions are followed: the interface of bpf/runtime/runtimes.bpf.c to the
 * probe programs. The functions are global, so the verifier goes through each of them once. In the
 * programs it then goes on as if there were one runtime, or none. If each runtime had its branches
 * in the programs, the verifier would go through every combination of them, and through all that
 * comes behind.
 */
#ifndef MEMLEAKBPF_BPF_RUNTIMES_H
#define MEMLEAKBPF_BPF_RUNTIMES_H

#include "bpf/abi.h"

/* Those that the target has, of TARGET_PYTHON and the like. With config.task_storage, as all here. */
int runtimes_of(uint32_t target_id);

/*
 * What the current thread is in of RUNTIME_INTERPRETERS, of those that `flags` (TARGET_*) says the target has; 0: in nothing, or it has
 * another interpreter. `epoch`: since when that is known. 0, or there is no memory to follow it, and it is not known.
 */
int runtimes_follow(struct runtime_hashes *found, uint32_t target_id, uint32_t flags,
		    uint32_t epoch);

/*
 * Before a walk, of Java's frames and V8's: what the walk is to look for as well, UNWIND_HOTSPOT and UNWIND_V8. Without memory for
 * that, which is counted, their frames are what any code without rows is.
 */
int runtimes_begin(uint32_t target_id, uint32_t flags, uint32_t epoch);

/* 0, or what user space has to know of what a new stack is in could not be sent. Of all but V8: v8_tell(). */
int runtimes_tell(struct runtime_hashes *found);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to user/misuse. */
#ifndef MEMLEAKBPF_MISUSE_MISUSES_INTERNAL_H
#define MEMLEAKBPF_MISUSE_MISUSES_INTERNAL_H

#include "user/misuse/misuses.h"

/* uthash: whether the first touch of a guarded block was a read or a write. */
struct touched;

struct misuses {
	struct misuses_maps maps;
	const struct slots *slots;
	struct stack_table *stacks;
	const struct patches *patches;
	struct touched *touched;
};

/* What is known of the touches with this key. */
enum access_mode touched_mode(const struct misuses *misuses, const struct bad_access_key *key);

/* Forgets the touches of swept targets; or all touches. */
void touched_release_swept(struct misuses *misuses);
void touched_free(struct misuses *misuses);

#endif

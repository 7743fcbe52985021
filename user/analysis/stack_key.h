/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A stack's key, made of its names: stacks of different runs are one if their keys are. Code
 * without a name counts by module and offset; lines, addresses and build-ids do not count.
 */
#ifndef MEMLEAKBPF_ANALYSIS_STACK_KEY_H
#define MEMLEAKBPF_ANALYSIS_STACK_KEY_H

#include <stddef.h>
#include <stdio.h>

#include "bpf/stack_end.h"
#include "user/model/frame.h"

/* Writes the key as text, of several lines. All stacks without frames (NULL) have the same. */
void stack_key_put(FILE *out, const struct frame *const *frames, size_t count, enum stack_end end);

#endif

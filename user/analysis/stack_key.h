/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A stack by its names: what makes two stacks of different runs one. Code without a name counts by
 * module and offset; lines, addresses and build-ids do not.
 */
#ifndef MEMLEAKBPF_ANALYSIS_STACK_KEY_H
#define MEMLEAKBPF_ANALYSIS_STACK_KEY_H

#include <stddef.h>
#include <stdio.h>

#include "bpf/stack_end.h"
#include "user/model/frame.h"

/* Writes it as text, of several lines. Without frames (NULL) all are the same. */
void stack_key_put(FILE *out, const struct frame *const *frames, size_t count, enum stack_end end);

#endif

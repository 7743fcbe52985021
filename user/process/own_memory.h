/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How much memory may we still take? What the machine and our control groups leave. The kernel
 * kills who takes more.
 */
#ifndef MEMLEAKBPF_PROCESS_OWN_MEMORY_H
#define MEMLEAKBPF_PROCESS_OWN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 0 and *bytes; -errno when it cannot be told. */
int own_memory_left(uint64_t *bytes);

/*
 * Is it a control group that leaves us so little? Writes its limit in words: "memory.max of …/a/b".
 */
bool own_memory_limit(char *text, size_t size);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which of its places the code of V8's Maglev is at, where a call returns (src/codegen/maglev-safepoint-table.cc): a table behind its instructions. It is
 * the target's, and may say anything.
 */
#ifndef MEMLEAKBPF_RUNTIME_V8_SAFEPOINTS_H
#define MEMLEAKBPF_RUNTIME_V8_SAFEPOINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct v8_safepoint {
	uint32_t at;   /* bytes from where the code begins to the return address */
	int32_t place; /* of those that lead back from it, the number; -1: none */
};

/* The table's entry number i; false: it has no such entry, or not whole. `size`: of what is known of it, bytes. */
bool v8_safepoint_get(const uint8_t *table, size_t size, size_t i, struct v8_safepoint *out);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef MEMLEAKBPF_MODEL_AMOUNT_H
#define MEMLEAKBPF_MODEL_AMOUNT_H

#include <stdint.h>

/* Blocks and the bytes that were asked for them. */
struct amount {
	uint64_t bytes;
	uint64_t count;
};

static inline void amount_add(struct amount *to, const struct amount *from)
{
	to->bytes += from->bytes;
	to->count += from->count;
}

#endif

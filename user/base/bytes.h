/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads and writes values that lie one behind the other in bytes. The reader never leaves the
 * bytes, whatever they say; the writer makes room. Numbers are little-endian, as on every machine
 * that we run on.
 */
#ifndef MEMLEAKBPF_BASE_BYTES_H
#define MEMLEAKBPF_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The bytes stay the caller's. A read past the end gives zeros, sets `bad` and moves to the end.
 * Callers may set `bad` as well: nothing more is read then.
 */
struct bytes_reader {
	const uint8_t *p, *end;
	bool bad;
};

static inline size_t bytes_left(const struct bytes_reader *r)
{
	return (size_t)(r->end - r->p);
}

/* Passes over `len` bytes and returns where they begin; NULL and `bad` if fewer are left. */
const uint8_t *bytes_take(struct bytes_reader *r, size_t len);

void bytes_get(struct bytes_reader *r, void *out, size_t len);
uint64_t bytes_get_number(struct bytes_reader *r, size_t size); /* 1 to 8 bytes, else `bad` */

static inline uint32_t bytes_get_32(struct bytes_reader *r)
{
	return (uint32_t)bytes_get_number(r, sizeof(uint32_t));
}

static inline uint64_t bytes_get_64(struct bytes_reader *r)
{
	return bytes_get_number(r, sizeof(uint64_t));
}

/*
 * An empty writer is all zero. After a failed allocation nothing more is added and `failed` stays
 * true. The caller frees the bytes with free().
 */
struct bytes_writer {
	uint8_t *bytes;
	size_t len, room;
	bool failed;
};

void bytes_put(struct bytes_writer *w, const void *bytes, size_t len);
void bytes_put_32(struct bytes_writer *w, uint32_t value);
void bytes_put_64(struct bytes_writer *w, uint64_t value);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The protocol buffers wire format (protobuf.dev/programming-guides/encoding), as far as the
 * recording, Perfetto and pprof need it: varints, 64-bit values and length-delimited fields. Field
 * numbers are the caller's.
 */
#ifndef MEMLEAKBPF_RECORDING_WIRE_H
#define MEMLEAKBPF_RECORDING_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A message under construction; all zero is an empty one. After a failed allocation nothing more is
 * added and `failed` stays true.
 */
struct wire {
	uint8_t *data;
	size_t len, room;
	bool failed;
};

void wire_free(struct wire *w);	 /* frees the memory; *w is empty then */
void wire_reset(struct wire *w); /* empty, keeping the memory; clears `failed` */

void wire_varint(struct wire *w, uint64_t value); /* without a field: for packed ones */
void wire_zigzag(struct wire *w, int64_t value);
void wire_raw(struct wire *w, const void *data, size_t len);

void wire_uint(struct wire *w, unsigned field, uint64_t value); /* uint64, int64 >= 0, enum, bool */
void wire_sint(struct wire *w, unsigned field, int64_t value);	/* sint64 */
void wire_fixed64(struct wire *w, unsigned field, uint64_t value);
void wire_double(struct wire *w, unsigned field, double value);
void wire_bytes(struct wire *w, unsigned field, const void *data, size_t len);
void wire_string(struct wire *w, unsigned field, const char *text);

/*
 * A nested message or a packed field: what is added between the two calls is its content. `mark` is
 * what wire_open() returned.
 */
size_t wire_open(struct wire *w, unsigned field);
void wire_close(struct wire *w, size_t mark);

enum wire_type {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_BYTES = 2,
	WIRE_FIXED32 = 5,
};

/* A message being read, which stays the caller's. */
struct wire_reader {
	const uint8_t *at, *end;
};

struct wire_field {
	unsigned field;
	enum wire_type type;
	uint64_t number;	 /* of the three numeric types */
	struct wire_reader body; /* WIRE_BYTES */
};

/* 1 and *out: a field; 0: the end; -EBADMSG: not of this format, reader->at shows where. */
int wire_next(struct wire_reader *reader, struct wire_field *out);

/* One varint of a packed field. 0 or -EBADMSG, also at the end. */
int wire_read_varint(struct wire_reader *reader, uint64_t *value);
int wire_read_zigzag(struct wire_reader *reader, int64_t *value);

/* What wire_zigzag() has made a number of. */
static inline int64_t wire_unzigzag(uint64_t number)
{
	return (int64_t)(number >> 1 ^ (0 - (number & 1)));
}

static inline size_t wire_left(const struct wire_reader *reader)
{
	return (size_t)(reader->end - reader->at);
}

#endif

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VARINT 10 /* bytes of a 64-bit value */

void wire_free(struct wire *w)
{
	free(w->data);
	*w = (struct wire){0};
}

void wire_reset(struct wire *w)
{
	w->len = 0;
	w->failed = false;
}

static bool wire_reserve(struct wire *w, size_t more)
{
	size_t room = w->room ? w->room : 256;
	uint8_t *grown;

	if (w->failed)
		return false;
	if (w->room - w->len >= more)
		return true;
	while (room - w->len < more) {
		if (room > SIZE_MAX / 2) {
			w->failed = true;
			return false;
		}
		room *= 2;
	}
	grown = realloc(w->data, room);
	if (!grown) {
		w->failed = true;
		return false;
	}
	w->data = grown;
	w->room = room;
	return true;
}

static size_t wire_encode_varint(uint8_t *out, uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		out[n++] = (uint8_t)value | 0x80;
	out[n++] = (uint8_t)value;
	return n;
}

void wire_varint(struct wire *w, uint64_t value)
{
	if (wire_reserve(w, MAX_VARINT))
		w->len += wire_encode_varint(w->data + w->len, value);
}

void wire_zigzag(struct wire *w, int64_t value)
{
	wire_varint(w, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

void wire_raw(struct wire *w, const void *data, size_t len)
{
	if (!len || !wire_reserve(w, len))
		return;
	memcpy(w->data + w->len, data, len);
	w->len += len;
}

static void wire_tag(struct wire *w, unsigned field, enum wire_type type)
{
	wire_varint(w, (uint64_t)field << 3 | type);
}

void wire_uint(struct wire *w, unsigned field, uint64_t value)
{
	wire_tag(w, field, WIRE_VARINT);
	wire_varint(w, value);
}

void wire_sint(struct wire *w, unsigned field, int64_t value)
{
	wire_tag(w, field, WIRE_VARINT);
	wire_zigzag(w, value);
}

void wire_fixed64(struct wire *w, unsigned field, uint64_t value)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
	wire_tag(w, field, WIRE_FIXED64);
	wire_raw(w, bytes, sizeof(bytes));
}

void wire_double(struct wire *w, unsigned field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	wire_fixed64(w, field, bits);
}

void wire_bytes(struct wire *w, unsigned field, const void *data, size_t len)
{
	wire_tag(w, field, WIRE_BYTES);
	wire_varint(w, len);
	wire_raw(w, data, len);
}

void wire_string(struct wire *w, unsigned field, const char *text)
{
	wire_bytes(w, field, text, strlen(text));
}

/*
 * The length is known only at the end: one byte is kept for it, and the content moves when that is
 * not enough.
 */
size_t wire_open(struct wire *w, unsigned field)
{
	wire_tag(w, field, WIRE_BYTES);
	wire_varint(w, 0);
	return w->len;
}

void wire_close(struct wire *w, size_t mark)
{
	uint8_t length[MAX_VARINT];
	size_t body, n;

	if (w->failed)
		return;
	body = w->len - mark;
	n = wire_encode_varint(length, body);
	if (n > 1) {
		if (!wire_reserve(w, n - 1))
			return;
		memmove(w->data + mark + n - 1, w->data + mark, body);
		w->len += n - 1;
	}
	memcpy(w->data + mark - 1, length, n);
}

int wire_read_varint(struct wire_reader *reader, uint64_t *value)
{
	uint64_t result = 0;

	for (unsigned i = 0; i < MAX_VARINT; i++) {
		uint8_t byte;

		if (reader->at == reader->end)
			return -EBADMSG;
		byte = *reader->at++;
		/* The tenth byte has room for one bit. */
		if (i == MAX_VARINT - 1 && byte > 1)
			return -EBADMSG;
		result |= (uint64_t)(byte & 0x7f) << 7 * i;
		if (!(byte & 0x80)) {
			*value = result;
			return 0;
		}
	}
	return -EBADMSG;
}

int wire_read_zigzag(struct wire_reader *reader, int64_t *value)
{
	uint64_t raw;
	int err = wire_read_varint(reader, &raw);

	if (!err)
		*value = wire_unzigzag(raw);
	return err;
}

static int wire_read_fixed(struct wire_reader *reader, size_t bytes, uint64_t *value)
{
	if (wire_left(reader) < bytes)
		return -EBADMSG;
	*value = 0;
	for (size_t i = 0; i < bytes; i++)
		*value |= (uint64_t)reader->at[i] << 8 * i;
	reader->at += bytes;
	return 0;
}

int wire_next(struct wire_reader *reader, struct wire_field *out)
{
	uint64_t tag, len;
	int err;

	if (reader->at == reader->end)
		return 0;
	err = wire_read_varint(reader, &tag);
	/* Field numbers have 29 bits and begin at 1. */
	if (err || tag >> 32 || tag < 8)
		return -EBADMSG;
	*out = (struct wire_field){.field = (unsigned)(tag >> 3),
				   .type = (enum wire_type)(tag & 7)};
	switch (out->type) {
	case WIRE_VARINT:
		err = wire_read_varint(reader, &out->number);
		break;
	case WIRE_FIXED64:
		err = wire_read_fixed(reader, 8, &out->number);
		break;
	case WIRE_FIXED32:
		err = wire_read_fixed(reader, 4, &out->number);
		break;
	case WIRE_BYTES:
		err = wire_read_varint(reader, &len);
		if (err || len > wire_left(reader))
			return -EBADMSG;
		out->body = (struct wire_reader){reader->at, reader->at + len};
		reader->at += len;
		break;
	default:
		return -EBADMSG;
	}
	return err ? err : 1;
}

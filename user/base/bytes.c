// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/base/bytes.h"

#include <stdlib.h>
#include <string.h>

const uint8_t *bytes_take(struct bytes_reader *r, size_t len)
{
	const uint8_t *taken = r->p;

	r->bad |= bytes_left(r) < len;
	if (r->bad) {
		r->p = r->end;
		return NULL;
	}
	r->p += len;
	return taken;
}

void bytes_get(struct bytes_reader *r, void *out, size_t len)
{
	const uint8_t *taken = bytes_take(r, len);

	if (taken)
		memcpy(out, taken, len);
	else
		memset(out, 0, len);
}

uint64_t bytes_get_number(struct bytes_reader *r, size_t size)
{
	uint64_t value = 0;

	r->bad |= size > sizeof(value);
	bytes_get(r, &value, r->bad ? sizeof(value) : size);
	return value;
}

void bytes_put(struct bytes_writer *w, const void *bytes, size_t len)
{
	if (!w->failed && len > w->room - w->len) {
		size_t room = len < SIZE_MAX / 4 ? 2 * (w->room + len) : 0;
		uint8_t *grown = room ? realloc(w->bytes, room) : NULL;

		w->failed = !grown;
		w->bytes = grown ?: w->bytes;
		w->room = grown ? room : w->room;
	}
	if (w->failed)
		return;
	if (len)
		memcpy(w->bytes + w->len, bytes, len);
	w->len += len;
}

void bytes_put_32(struct bytes_writer *w, uint32_t value)
{
	bytes_put(w, &value, sizeof(value));
}

void bytes_put_64(struct bytes_writer *w, uint64_t value)
{
	bytes_put(w, &value, sizeof(value));
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/v8/v8_calls.h"

#include <stdlib.h>

/* Bytecodes that say how large the operands of the next one are (src/interpreter/bytecodes.h): two, and two for debuggers. */
#define V8_PREFIXES 4

#define V8_EXTERNAL	  1u /* of no script, but of V8's own sources */
#define V8_CHARACTER_MASK 0x3fffffffu

#define V8_STEP_FLAGS 2

void v8_places_free(struct v8_places *places)
{
	free(places->items);
	*places = (struct v8_places){0};
}

int32_t v8_places_find(const struct v8_places *places, uint32_t at)
{
	size_t low = 0, high = places->count;

	if (at >= places->end)
		return -1;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (places->items[middle].at <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? places->items[low - 1].value : -1;
}

/* Of several at one place the last one counts. */
static bool v8_places_add(struct v8_places *places, uint32_t at, int32_t value)
{
	struct v8_place *last = places->count ? &places->items[places->count - 1] : NULL;

	if (last && last->at == at) {
		last->value = value;
		return true;
	}
	if (places->count == places->room) {
		size_t room = places->room ? 2 * places->room : 32;
		struct v8_place *grown = reallocarray(places->items, room, sizeof(*grown));

		if (!grown)
			return false;
		places->items = grown;
		places->room = room;
	}
	places->items[places->count++] = (struct v8_place){at, value};
	return true;
}

struct v8_bytes {
	const uint8_t *at, *end;
};

/* Seven bits a byte, the lowest ones first; all but the last byte have the highest bit. False: it does not end. */
static bool v8_bytes_number(struct v8_bytes *bytes, uint32_t *out)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 35 && bytes->at < bytes->end; shift += 7) {
		uint8_t byte = *bytes->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		*out = (uint32_t)value;
		return value <= UINT32_MAX;
	}
	return false;
}

/* The sign is the lowest bit. */
static bool v8_bytes_signed(struct v8_bytes *bytes, int32_t *out)
{
	uint32_t value;

	if (!v8_bytes_number(bytes, &value))
		return false;
	*out = (int32_t)(value >> 1 ^ (0 - (value & 1)));
	return true;
}

/* A position is the character, one more than that, behind a bit. */
static int32_t v8_character(int64_t position)
{
	if (position < 0 || position & V8_EXTERNAL)
		return -1;
	return (int32_t)((uint64_t)position >> 1 & V8_CHARACTER_MASK) - 1;
}

/* That of the offset is inverted where no statement begins; or it lies behind two bits that say what does. */
static bool v8_bytes_step(struct v8_bytes *bytes, bool flags, int64_t *out)
{
	uint32_t number;
	int32_t step;

	if (flags) {
		if (!v8_bytes_number(bytes, &number))
			return false;
		*out = number >> V8_STEP_FLAGS;
		return true;
	}
	if (!v8_bytes_signed(bytes, &step))
		return false;
	*out = step < 0 ? -(int64_t)step - 1 : step;
	return true;
}

/* Steps from one to the next. The first offset is -1: where a function is entered. */
bool v8_places_read(struct v8_places *places, const uint8_t *table, size_t size, bool flags,
		    bool whole)
{
	struct v8_bytes bytes = {table, table + size};
	int64_t offset = -1, position = 0, step;
	int32_t character;

	*places = (struct v8_places){.end = UINT32_MAX};
	while (bytes.at < bytes.end) {
		if (!v8_bytes_step(&bytes, flags, &step) || !v8_bytes_signed(&bytes, &character)) {
			/* What is cut off is cut anywhere. */
			if (!whole)
				break;
			v8_places_free(places);
			return false;
		}
		offset += step;
		position += character;
		if (offset >= INT32_MAX ||
		    !v8_places_add(places, (uint32_t)(offset + 1), v8_character(position))) {
			v8_places_free(places);
			return false;
		}
	}
	/* How far the last one goes is not known then. */
	if (!whole && places->count)
		places->end = places->items[--places->count].at;
	return true;
}

/* Bytes of the bytecode that begins there, with what says how large its operands are; 0: it is none that is known, or not whole. */
static size_t v8_bytecode_size(const struct v8_bytes *bytes, const struct v8_opcodes *opcodes)
{
	size_t left = (size_t)(bytes->end - bytes->at), prefix = 0, size;
	uint8_t code = left ? *bytes->at : 0;
	unsigned scale = 0;

	if (left && code < V8_PREFIXES) {
		scale = code % 2 + 1;
		prefix = 1;
		code = left > 1 ? bytes->at[1] : 0;
		if (code < V8_PREFIXES)
			return 0;
	}
	size = code < opcodes->count ? opcodes->sizes[scale][code] : 0;
	return left && size && prefix + size <= left ? prefix + size : 0;
}

bool v8_places_of_code(struct v8_places *places, const struct v8_places *positions,
		       const struct v8_baseline *baseline, const struct v8_opcodes *opcodes)
{
	struct v8_bytes offsets = {baseline->offsets, baseline->offsets + baseline->offsets_size};
	struct v8_bytes bytecodes = {baseline->bytecodes,
				     baseline->bytecodes + baseline->bytecodes_size};
	uint64_t start = 0;
	uint32_t size;
	size_t bytecode;

	/* What is in front of the first bytecode is where the function is entered; a return address lies behind a call. */
	*places = (struct v8_places){.end = 1};
	for (uint32_t at = 0; at < positions->end; at += (uint32_t)bytecode) {
		if (!v8_bytes_number(&offsets, &size) || start + size >= UINT32_MAX - 1)
			break;
		if (!v8_places_add(places, (uint32_t)start + 1, v8_places_find(positions, at))) {
			v8_places_free(places);
			return false;
		}
		start += size;
		places->end = (uint32_t)start + 1;
		bytecode = at ? v8_bytecode_size(&bytecodes, opcodes) : 1;
		if (!bytecode)
			break;
		bytecodes.at += at ? bytecode : 0;
	}
	return true;
}

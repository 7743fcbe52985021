/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages of a recording that nobody wrote, made from the tables of their fields: what a new row
 * adds to the format is tried without a line more. For the fuzzer and for unit tests.
 */
#ifndef MEMLEAKBPF_TESTS_FUZZ_MADE_RECORDING_H
#define MEMLEAKBPF_TESTS_FUZZ_MADE_RECORDING_H

#include <stdint.h>

#include "user/recording/fields.h"
#include "user/recording/recording_format.h"
#include "user/recording/recording_verdict.h"

/* xorshift64 (Marsaglia 2003): the same numbers everywhere. *state is not 0. */
static inline uint64_t made_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Mostly what stands in the file already, or the edge of something. */
static inline uint64_t made_number(uint64_t *state)
{
	static const uint64_t edges[] = {0,
					 0,
					 0,
					 1,
					 1,
					 2,
					 3,
					 7,
					 255,
					 256,
					 INT32_MAX,
					 UINT32_MAX,
					 1ull << 52,
					 INT64_MAX,
					 UINT64_MAX,
					 0x3ff0000000000000, /* the bits of 1, of NaN, of -1 */
					 0x7ff8000000000000,
					 0xbff0000000000000};

	return edges[made_random(state) % (sizeof(edges) / sizeof(edges[0]))];
}

static inline void made_packed(struct wire *to, unsigned number, uint64_t *state)
{
	size_t mark = wire_open(to, number);

	for (uint64_t n = made_random(state) % 8; n; n--)
		wire_varint(to, made_number(state));
	wire_close(to, mark);
}

static inline void made_fields(struct wire *to, const struct field *table, uint64_t *state);

/* Now and then of another wire type than the reader expects. */
static inline void made_field(struct wire *to, const struct field *row, uint64_t *state)
{
	static const char text[] = "of more bytes than any array of chars in a message has: 64 + 1";
	enum field_form form = row->form;
	size_t mark;

	if (row->parts) {
		mark = wire_open(to, row->number);
		made_fields(to, row->parts, state);
		wire_close(to, mark);
		return;
	}
	if (form == FORM_OWN || made_random(state) % 32 == 0)
		form = (enum field_form)(made_random(state) % FORM_OWN);
	switch (form) {
	case FORM_FIXED:
	case FORM_DOUBLE:
		wire_fixed64(to, row->number, made_number(state));
		break;
	case FORM_TEXT:
	case FORM_CHARS:
		wire_bytes(to, row->number, text, made_random(state) % sizeof(text));
		break;
	case FORM_LIST:
	case FORM_LOST:
	case FORM_PART:
	case FORM_PARTS:
		made_packed(to, row->number, state);
		break;
	default:
		wire_uint(to, row->number, made_number(state));
		break;
	}
}

static inline void made_fields(struct wire *to, const struct field *table, uint64_t *state)
{
	for (; table->number; table++) {
		if (made_random(state) % 4)
			made_field(to, table, state);
	}
}

/* The message, if it is one of fields. */
static inline void made_message(struct wire *to, unsigned message, uint64_t *state)
{
	const struct field *table = recording_message_fields(message);
	size_t mark, verdict;

	if (!table)
		return;
	mark = wire_open(to, message);
	made_fields(to, table, state);
	if (message == MESSAGE_SNAPSHOT) {
		verdict = wire_open(to, SNAPSHOT_VERDICT);
		made_fields(to, recording_verdict_fields, state);
		wire_close(to, verdict);
	}
	wire_close(to, mark);
}

/* Some of them, of which the last completes something. */
static inline void made_messages(struct wire *to, uint64_t *state)
{
	static const unsigned last[] = {MESSAGE_SNAPSHOT, MESSAGE_SURVEY, MESSAGE_INSPECTION};

	for (uint64_t n = made_random(state) % 4; n; n--)
		made_message(to, 1 + (unsigned)(made_random(state) % (MESSAGES - 1)), state);
	made_message(to, last[made_random(state) % 3], state);
}

#endif

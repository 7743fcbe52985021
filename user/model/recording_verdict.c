// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/recording_verdict.h"

#include <stdio.h>

enum verdict_field {
	VERDICT_STATE = 1,
	VERDICT_REASON = 2,
	VERDICT_PAUSE_NS = 3,
	VERDICT_TOTAL_NS = 4,
	VERDICT_READ_BYTES = 5,
	VERDICT_UNKNOWN_BYTES = 6,
	VERDICT_UNREAD_BYTES = 7,
	VERDICT_APPROXIMATE = 8,
	VERDICT_ROWS = 9,
};

static void put_row(struct wire *out, uint32_t row, const struct amount classes[VERDICT_CLASSES])
{
	uint64_t mask = 0;

	for (int i = 0; i < VERDICT_CLASSES; i++)
		mask |= classes[i].count ? 1ull << i : 0;
	if (!mask)
		return;
	wire_varint(out, row);
	wire_varint(out, mask);
	for (int i = 0; i < VERDICT_CLASSES; i++) {
		if (!(mask >> i & 1))
			continue;
		wire_varint(out, classes[i].bytes);
		wire_varint(out, classes[i].count);
	}
}

void recording_put_verdict(struct wire *out, unsigned field, const struct snapshot *s,
			   const uint32_t *numbers)
{
	const struct verdict *v = &s->verdict;
	size_t mark, list;

	if (v->state == VERDICT_NOT_ASKED)
		return;
	mark = wire_open(out, field);
	wire_uint(out, VERDICT_STATE, v->state);
	if (v->state == VERDICT_REFUSED)
		wire_string(out, VERDICT_REASON, v->reason);
	wire_uint(out, VERDICT_PAUSE_NS, v->pause_ns);
	wire_uint(out, VERDICT_TOTAL_NS, v->total_ns);
	wire_uint(out, VERDICT_READ_BYTES, v->read_bytes);
	wire_uint(out, VERDICT_UNKNOWN_BYTES, v->unknown_bytes);
	wire_uint(out, VERDICT_UNREAD_BYTES, v->unread_bytes);
	wire_uint(out, VERDICT_APPROXIMATE, v->approximate);
	list = wire_open(out, VERDICT_ROWS);
	for (size_t i = 0; v->state == VERDICT_TAKEN && i < s->stack_count; i++)
		put_row(out, numbers[i], s->stacks[i].verdict);
	wire_close(out, list);
	wire_close(out, mark);
}

static bool take_rows(struct wire_reader list, struct snapshot *s)
{
	while (wire_left(&list)) {
		uint64_t row, mask;

		if (wire_read_varint(&list, &row) || wire_read_varint(&list, &mask) ||
		    row >= s->stack_count || mask >> VERDICT_CLASSES)
			return false;
		for (int i = 0; i < VERDICT_CLASSES; i++) {
			struct amount *to = &s->stacks[row].verdict[i];

			if (!(mask >> i & 1))
				continue;
			if (wire_read_varint(&list, &to->bytes) ||
			    wire_read_varint(&list, &to->count))
				return false;
			amount_add(&s->verdict.classes[i], to);
		}
	}
	return true;
}

static void take_number(struct verdict *v, unsigned field, uint64_t number)
{
	switch (field) {
	case VERDICT_STATE:
		v->state = number <= VERDICT_TAKEN ? (enum verdict_state)number : VERDICT_NOT_ASKED;
		break;
	case VERDICT_PAUSE_NS:
		v->pause_ns = number;
		break;
	case VERDICT_TOTAL_NS:
		v->total_ns = number;
		break;
	case VERDICT_READ_BYTES:
		v->read_bytes = number;
		break;
	case VERDICT_UNKNOWN_BYTES:
		v->unknown_bytes = number;
		break;
	case VERDICT_UNREAD_BYTES:
		v->unread_bytes = number;
		break;
	case VERDICT_APPROXIMATE:
		v->approximate = number;
		break;
	default:
		break;
	}
}

bool recording_take_verdict(struct wire_reader message, struct snapshot *s)
{
	struct wire_field f;
	int got;

	while ((got = wire_next(&message, &f)) > 0) {
		if (f.type == WIRE_VARINT)
			take_number(&s->verdict, f.field, f.number);
		else if (f.type == WIRE_BYTES && f.field == VERDICT_REASON)
			snprintf(s->verdict.reason, sizeof(s->verdict.reason), "%.*s",
				 wire_left(&f.body) < VERDICT_REASON_MAX ? (int)wire_left(&f.body)
									 : VERDICT_REASON_MAX - 1,
				 (const char *)f.body.at);
		else if (f.type == WIRE_BYTES && f.field == VERDICT_ROWS && !take_rows(f.body, s))
			return false;
	}
	return got == 0;
}

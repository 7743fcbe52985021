// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/v8/v8_safepoints.h"

/* How many slots its frame has, how many entries there are, what these have, how many of the slots are objects. */
#define HEAD_BYTES 16
#define NUMBER_MAX 4

/* What the third number says of an entry, from the lowest bit on. */
#define HAS_PLACE(form)	   ((form)&1)
#define SET_BYTES(form)	   ((form) >> 1 & 7)
#define PC_BYTES(form)	   ((form) >> 4 & 7)
#define PLACE_BYTES(form)  ((form) >> 7 & 7)
#define KNOWN_FORM(form)   (!((form) >> 10))
#define SPILLED_SLOT_BYTES 1

static uint32_t safepoint_number(const uint8_t *bytes, size_t size)
{
	uint32_t value = 0;

	for (size_t i = 0; i < size; i++)
		value |= (uint32_t)bytes[i] << 8 * i;
	return value;
}

/*
 * An entry begins with the return address, and the place plus one. Then come where the code is left
 * there (0: nowhere), slots, and a set of registers.
 */
bool v8_safepoint_get(const uint8_t *table, size_t size, size_t i, struct v8_safepoint *out)
{
	uint32_t count, form;
	size_t pc, place, bytes;

	if (size < HEAD_BYTES)
		return false;
	count = safepoint_number(table + 4, 4);
	form = safepoint_number(table + 8, 4);
	pc = PC_BYTES(form);
	place = HAS_PLACE(form) ? PLACE_BYTES(form) : 0;
	bytes = pc + place + (HAS_PLACE(form) ? pc : 0) + SPILLED_SLOT_BYTES + SET_BYTES(form);
	if (!KNOWN_FORM(form) || !pc || pc > NUMBER_MAX || place > NUMBER_MAX || i >= count ||
	    i >= (size - HEAD_BYTES) / bytes)
		return false;
	table += HEAD_BYTES + i * bytes;
	out->at = safepoint_number(table, pc);
	out->place = (int32_t)(safepoint_number(table + pc, place) - 1);
	return true;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_origin.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum origin_field {
	ORIGIN_BYTES = 1,
	ORIGIN_COUNT = 2,
	ORIGIN_MOST_BYTES = 3,
	ORIGIN_MOST_COUNT = 4,
	ORIGIN_STACK = 5,
	ORIGIN_FUNCTION = 6,
};

static const struct wire_number origin_numbers[] = {
	WIRE_NUMBER(ORIGIN_BYTES, struct inspected_origin, traced.bytes),
	WIRE_NUMBER(ORIGIN_COUNT, struct inspected_origin, traced.count),
	WIRE_NUMBER_IF_ANY(ORIGIN_MOST_BYTES, struct inspected_origin, most.bytes),
	WIRE_NUMBER_IF_ANY(ORIGIN_MOST_COUNT, struct inspected_origin, most.count),
	WIRE_NUMBER_IF_ANY(ORIGIN_STACK, struct inspected_origin, stack_id),
	{0},
};

void recording_put_origin(struct wire *to, unsigned field, const struct inspected_origin *o)
{
	size_t mark;

	if (!o->traced.count)
		return;
	mark = wire_open(to, field);
	wire_put_numbers(to, origin_numbers, 0, UINT_MAX, o);
	if (o->function)
		wire_string(to, ORIGIN_FUNCTION, o->function);
	wire_close(to, mark);
}

/* In place of one that has come before. */
static int origin_take_function(struct inspected_origin *o, struct wire_reader body)
{
	char *copy = strndup((const char *)body.at, wire_left(&body));

	if (!copy)
		return -ENOMEM;
	free(o->function);
	o->function = copy;
	return 0;
}

int recording_take_origin(struct recording_in *in, struct wire_reader message,
			  struct inspected_origin *o)
{
	struct wire_field f;
	int got, err = 0;

	while (!err && (got = wire_next(&message, &f)) > 0) {
		if (f.type != WIRE_BYTES)
			wire_take_number(origin_numbers, &f, o);
		else if (f.field == ORIGIN_FUNCTION)
			err = origin_take_function(o, f.body);
	}
	return err ? err : got < 0 ? recording_refuse(in, "an origin cannot be read") : 0;
}

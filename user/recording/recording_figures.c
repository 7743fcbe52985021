// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_figures.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/recording/recording_format.h"
#include "user/recording/recording_target.h"

enum figures_field {
	FIGURES_TARGET = MESSAGE_FIELD_TARGET,
	FIGURES_ROW = 2,
	FIGURES_LIFETIMES = 3, /* packed */
	FIGURES_OUTLIVED_NS = 4,
	FIGURES_OUTLIVED_BYTES = 5,
	FIGURES_OUTLIVED_COUNT = 6,
	FIGURES_TEMPORARY_BYTES = 7,
	FIGURES_TEMPORARY_COUNT = 8,
	FIGURES_TEMPORARY_ERROR = 9, /* the bits of a double */
	FIGURES_AT_PEAK_BYTES = 10,
	FIGURES_AT_PEAK_COUNT = 11,
	FIGURES_PEAK_BYTES = 12,
	FIGURES_SIZES_BY_POWER = 13,
	FIGURES_SIZE_VALUES = 14,   /* packed */
	FIGURES_SIZE_COUNTS = 15,   /* packed */
	FIGURES_AT_PEAK_ERROR = 16, /* the bits of a double */
	FIGURES_USABLE_BYTES = 17,
	FIGURES_USABLE_COUNT = 18,
	FIGURES_USABLE_ASKED = 19,
};

static const struct wire_number figures_numbers[] = {
	WIRE_NUMBER_IF_ANY(FIGURES_OUTLIVED_NS, struct stack_figures, outlived_ns),
	WIRE_NUMBER_IF_ANY(FIGURES_OUTLIVED_BYTES, struct stack_figures, outlived.bytes),
	WIRE_NUMBER_IF_ANY(FIGURES_OUTLIVED_COUNT, struct stack_figures, outlived.count),
	WIRE_NUMBER_IF_ANY(FIGURES_TEMPORARY_BYTES, struct stack_figures, temporary.bytes),
	WIRE_NUMBER_IF_ANY(FIGURES_TEMPORARY_COUNT, struct stack_figures, temporary.count),
	WIRE_NUMBER_IF_ANY(FIGURES_TEMPORARY_ERROR, struct stack_figures, temporary_error),
	WIRE_NUMBER_IF_ANY(FIGURES_AT_PEAK_BYTES, struct stack_figures, at_peak.bytes),
	WIRE_NUMBER_IF_ANY(FIGURES_AT_PEAK_COUNT, struct stack_figures, at_peak.count),
	WIRE_NUMBER_IF_ANY(FIGURES_AT_PEAK_ERROR, struct stack_figures, at_peak_error),
	WIRE_NUMBER_IF_ANY(FIGURES_PEAK_BYTES, struct stack_figures, peak_bytes),
	WIRE_NUMBER_IF_ANY(FIGURES_USABLE_BYTES, struct stack_figures, usable.bytes),
	WIRE_NUMBER_IF_ANY(FIGURES_USABLE_COUNT, struct stack_figures, usable.count),
	WIRE_NUMBER_IF_ANY(FIGURES_USABLE_ASKED, struct stack_figures, usable_asked),
	WIRE_NUMBER_IF_ANY(FIGURES_SIZES_BY_POWER, struct stack_figures, sizes.by_power),
	{0},
};

void recorded_figures_free(struct recorded_figures *figures)
{
	free(figures->rows);
	*figures = (struct recorded_figures){0};
}

/* The row's, made if there are none: all zero. NULL when out of memory. */
static struct stack_figures *figures_row(struct recorded_figures *figures, size_t row)
{
	while (figures->count <= row) {
		if (!RESERVE_ITEM(figures->rows, figures->count, figures->room, 2))
			return NULL;
		figures->rows[figures->count++] = (struct stack_figures){0};
	}
	return &figures->rows[row];
}

/* Lists of numbers, which are left out where all are 0. */
static const struct figures_list {
	enum figures_field field;
	size_t at, count;
} figures_lists[] = {
	{FIGURES_LIFETIMES, offsetof(struct stack_figures, lifetimes), LIFETIME_CLASSES},
	{FIGURES_SIZE_VALUES, offsetof(struct stack_figures, sizes.values), SIZES_DISTINCT},
	{FIGURES_SIZE_COUNTS, offsetof(struct stack_figures, sizes.counts), SIZE_CLASSES},
};

/* ---- writing ------------------------------------------------------------------------------ */

static void figures_put_list(struct wire *to, const struct figures_list *list,
			     const struct stack_figures *now)
{
	const uint64_t *numbers = (const void *)((const char *)now + list->at);
	size_t count = list->count, mark;

	while (count && !numbers[count - 1])
		count--;
	if (!count)
		return;
	mark = wire_open(to, list->field);
	for (size_t i = 0; i < count; i++)
		wire_varint(to, numbers[i]);
	wire_close(to, mark);
}

/* Of all that is written. */
static bool figures_same(const struct stack_figures *a, const struct stack_figures *b)
{
	const char *x = (const char *)a, *y = (const char *)b;

	for (size_t i = 0; i < ARRAY_SIZE(figures_lists); i++) {
		const struct figures_list *list = &figures_lists[i];

		if (memcmp(x + list->at, y + list->at, list->count * sizeof(uint64_t)) != 0)
			return false;
	}
	for (const struct wire_number *number = figures_numbers; number->field; number++) {
		if (memcmp(x + number->at, y + number->at, sizeof(uint64_t)) != 0)
			return false;
	}
	return true;
}

static void figures_put(struct wire *to, uint32_t target, uint32_t row,
			const struct stack_figures *now)
{
	size_t mark = wire_open(to, MESSAGE_FIGURES);

	wire_uint(to, FIGURES_TARGET, target);
	wire_uint(to, FIGURES_ROW, row);
	for (size_t i = 0; i < ARRAY_SIZE(figures_lists); i++)
		figures_put_list(to, &figures_lists[i], now);
	wire_put_numbers(to, figures_numbers, 0, UINT_MAX, now);
	wire_close(to, mark);
}

int recording_put_figures(struct recording_out *out, uint32_t target,
			  struct recorded_figures *figures, const struct snapshot *s,
			  const uint32_t *numbers)
{
	int err = 0;

	for (size_t i = 0; !err && s->figures && i < s->stack_count; i++) {
		const struct stack_figures *now = s->stacks[i].figures;
		struct stack_figures *row = now ? figures_row(figures, numbers[i]) : NULL;

		if (now && !row)
			return -ENOMEM;
		if (!now || figures_same(row, now))
			continue;
		*row = *now;
		figures_put(&out->chunk.body, target, numbers[i], now);
		err = chunk_flush_if_large(&out->chunk);
	}
	return err;
}

/* ---- reading ------------------------------------------------------------------------------ */

/* Passes over a list that is none of those. */
static int figures_take_list(struct recording_in *in, const struct wire_field *f,
			     struct stack_figures *now)
{
	struct wire_reader body = f->body;

	for (size_t i = 0; i < ARRAY_SIZE(figures_lists); i++) {
		const struct figures_list *list = &figures_lists[i];
		uint64_t *numbers = (void *)((char *)now + list->at);

		/* A later version may have more classes. */
		for (size_t n = 0; f->field == list->field && n < list->count && wire_left(&body);
		     n++) {
			if (wire_read_varint(&body, &numbers[n]))
				return recording_refuse(in, "figures cannot be read");
		}
	}
	return 0;
}

int recording_take_figures(struct recording_in *in, struct read_target *t,
			   struct wire_reader message)
{
	struct stack_figures now = {0}, *row;
	uint64_t number = UINT64_MAX;
	struct wire_field f;
	int got, err = 0;

	while (!err && (got = wire_next(&message, &f)) > 0) {
		if (f.type == WIRE_BYTES)
			err = figures_take_list(in, &f, &now);
		else if (f.field == FIGURES_ROW && f.type == WIRE_VARINT)
			number = f.number;
		else
			wire_take_number(figures_numbers, &f, &now);
	}
	if (err)
		return err;
	if (got < 0 || !(now.temporary_error >= 0) || !(now.at_peak_error >= 0) ||
	    now.sizes.by_power > 1)
		return recording_refuse(in, "figures cannot be read");
	if (number >= t->rows.count)
		return recording_refuse(in, "figures of a row that is not there");
	row = figures_row(&t->figures, (size_t)number);
	if (!row)
		return -ENOMEM;
	*row = now;
	return 0;
}

int recording_fill_figures(const struct recorded_figures *figures, struct snapshot *s)
{
	int err;

	if (!figures_any(&s->figures_kept))
		return 0;
	err = snapshot_add_figures(s);
	for (size_t i = 0; !err && i < s->stack_count && i < figures->count; i++)
		s->figures[i] = figures->rows[i];
	return err;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_figures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/recording/recording_format.h"
#include "user/recording/recording_target.h"

/* Of one row. */
struct recorded_row_figures {
	uint64_t target, row;
	struct stack_figures figures;
};

#define F struct recorded_row_figures

const struct field recording_figures_fields[] = {
	FIELD_NUMBER(MESSAGE_FIELD_TARGET, F, target),
	FIELD_NUMBER(2, F, row),
	FIELD_LIST_IF_ANY(3, F, figures.lifetimes),
	FIELD_LIST_IF_ANY(14, F, figures.sizes.values),
	FIELD_LIST_IF_ANY(15, F, figures.sizes.counts),
	FIELD_IF_ANY(4, F, figures.outlived_ns),
	FIELD_IF_ANY(5, F, figures.outlived.bytes),
	FIELD_IF_ANY(6, F, figures.outlived.count),
	FIELD_IF_ANY(7, F, figures.temporary.bytes),
	FIELD_IF_ANY(8, F, figures.temporary.count),
	FIELD_IF_ANY(9, F, figures.temporary_error), /* the bits of a double */
	FIELD_IF_ANY(10, F, figures.at_peak.bytes),
	FIELD_IF_ANY(11, F, figures.at_peak.count),
	FIELD_IF_ANY(16, F, figures.at_peak_error), /* likewise */
	FIELD_IF_ANY(12, F, figures.peak_bytes),
	FIELD_IF_ANY(17, F, figures.usable.bytes),
	FIELD_IF_ANY(18, F, figures.usable.count),
	FIELD_IF_ANY(19, F, figures.usable_asked),
	FIELD_IF_ANY(13, F, figures.sizes.by_power),
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

/* ---- writing ------------------------------------------------------------------------------ */

int recording_put_figures(struct recording_out *out, uint32_t target,
			  struct recorded_figures *figures, const struct snapshot *s,
			  const uint32_t *numbers)
{
	int err = 0;

	for (size_t i = 0; !err && s->figures && i < s->stack_count; i++) {
		const struct stack_figures *now = s->stacks[i].figures;
		struct stack_figures *row = now ? figures_row(figures, numbers[i]) : NULL;
		struct recorded_row_figures recorded;

		if (now && !row)
			return -ENOMEM;
		/* It has no padding: all of it are numbers of 64 bits. */
		if (!now || !memcmp(row, now, sizeof(*now)))
			continue;
		*row = *now;
		recorded = (struct recorded_row_figures){target, numbers[i], *now};
		err = recording_put_message(out, MESSAGE_FIGURES, recording_figures_fields,
					    &recorded);
	}
	return err;
}

/* ---- reading ------------------------------------------------------------------------------ */

int recording_take_figures(struct recording_in *in, struct read_target *t,
			   struct wire_reader message)
{
	static const char unread[] = "figures cannot be read";
	struct recorded_row_figures now = {.row = UINT64_MAX};
	int err = fields_take(in, recording_figures_fields, message, &now, unread);
	struct stack_figures *row;

	if (err)
		return err;
	if (!(now.figures.temporary_error >= 0) || !(now.figures.at_peak_error >= 0) ||
	    now.figures.sizes.by_power > 1)
		return recording_refuse(in, unread);
	if (now.row >= t->rows.count)
		return recording_refuse(in, "figures of a row that is not there");
	row = figures_row(&t->figures, (size_t)now.row);
	if (!row)
		return -ENOMEM;
	*row = now.figures;
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

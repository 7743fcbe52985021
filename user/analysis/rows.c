// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/analysis/rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "user/base/fnv.h"
#include "user/base/util.h"
#include "user/model/id_map.h"

/* What is being made. */
struct rows_making {
	const struct report *report;
	struct snapshot *sums;
	struct stack_notes *notes; /* of sums->stacks */
	size_t *row_of;		   /* of each stack; SIZE_MAX: none */
	size_t *counts;		   /* stacks of each row */
	struct id_map places;	   /* a row's id -> its place */
};

static uint64_t rows_scope_id(const struct snapshot *s, const struct stack *stack)
{
	uint64_t hash = FNV1A_BASIS, number = stack->scope <= s->scopes.count ? stack->scope : 0;

	return fnv1a(hash, &number, sizeof(number));
}

/*
 * What grows faster than the others of the row shrink makes the row grow. How sure that is nobody has
 * worked out for the sum.
 */
static void rows_add_trend(struct trend *to, const struct trend *from)
{
	double growth =
		(to->growth_known ? to->growth : 0) + (from->growth_known ? from->growth : 0);
	bool known = to->growth_known || from->growth_known;
	bool leaking = to->leaking || from->leaking;

	if (to->kind != TREND_GROWING && (from->kind == TREND_GROWING || to->kind == TREND_UNKNOWN))
		*to = *from;
	to->growth = growth;
	to->growth_known = known;
	to->error_known = false;
	to->leaking = leaking && growth > 0;
	if (to->kind == TREND_GROWING && growth <= 0)
		*to = (struct trend){.kind = TREND_UNKNOWN};
}

static void rows_add_figures(struct stack_figures *to, const struct stack_figures *from)
{
	figures_add(to, from);
	/* Of one process the moment of the peak is the same for all its stacks. */
	amount_add(&to->at_peak, &from->at_peak);
	to->at_peak_error = hypot(to->at_peak_error, from->at_peak_error);
}

static void rows_add_stack(struct stack *to, const struct stack *from)
{
	amount_add(&to->live, &from->live);
	amount_add(&to->alloc, &from->alloc);
	amount_add(&to->free, &from->free);
	amount_add(&to->older, &from->older);
	to->error_bytes = hypot(to->error_bytes, from->error_bytes);
	if (from->oldest_ns > to->oldest_ns)
		to->oldest_ns = from->oldest_ns;
	for (int i = 0; i < VERDICT_CLASSES; i++)
		amount_add(&to->verdict[i], &from->verdict[i]);
	amount_add(&to->kept, &from->kept);
	amount_add(&to->hangs, &from->hangs);
	to->unjoined.count += from->unjoined.count;
	to->unjoined.bytes += from->unjoined.bytes;
	to->unjoined.resident += from->unjoined.resident;
	to->unjoined.held += from->unjoined.held;
	if (to->figures && from->figures)
		rows_add_figures(to->figures, from->figures);
}

/* A row begins with its first stack, whose texts stay that stack's. */
static void rows_begin_row(struct rows_making *m, size_t row, uint64_t id,
			   const struct stack *stack, const struct stack_notes *notes)
{
	struct stack *to = &m->sums->stacks[row];

	*to = *stack;
	to->id = id;
	to->held_by = to->contents = NULL;
	to->contents_len = 0;
	to->scope = 0;
	to->figures = m->sums->figures ? &m->sums->figures[row] : NULL;
	if (to->figures && stack->figures)
		*to->figures = *stack->figures;
	m->notes[row] = *notes;
}

static int rows_take(struct rows_making *m, size_t at, uint64_t id)
{
	const struct stack *stack = &m->report->snapshot->stacks[at];
	const struct stack_notes *notes = &m->report->notes[at];
	uint32_t row;

	/* What only hangs on lost blocks has rows of its own, as these are not shown. */
	if (notes->hangs)
		id = id_map_mix(id);
	if (id_map_get(&m->places, id, &row)) {
		rows_add_stack(&m->sums->stacks[row], stack);
		m->notes[row].delta_bytes += notes->delta_bytes;
		m->notes[row].delta_count += notes->delta_count;
		m->notes[row].fresh_bytes += notes->fresh_bytes;
		rows_add_trend(&m->notes[row].trend, &notes->trend);
	} else {
		row = (uint32_t)m->sums->stack_count++;
		rows_begin_row(m, row, id, stack, notes);
		if (id_map_put(&m->places, id, row))
			return -ENOMEM;
	}
	m->row_of[at] = row;
	m->counts[row]++;
	return 0;
}

void rows_known_release(struct rows_known *known)
{
	id_map_free(&known->index);
	free(known->ids);
	*known = (struct rows_known){0};
}

/* Without memory it is found out anew the next time. */
static uint64_t rows_id(struct rows_known *known, const struct stack *stack,
			const struct stack_notes *notes, enum site_by by,
			const struct site_rules *rules)
{
	uint32_t at;
	uint64_t id;

	if (known && id_map_get(&known->index, stack->id, &at))
		return known->ids[at];
	id = site_row_id(notes->frames, notes->frame_count, by, rules);
	if (known && RESERVE_ITEM(known->ids, known->count, known->room, 256)) {
		known->ids[known->count] = id;
		if (!id_map_put(&known->index, stack->id, (uint32_t)known->count))
			known->count++;
	}
	return id;
}

static int rows_take_all(struct rows_making *m, enum site_by by, const struct site_rules *rules,
			 bool unnamed, struct rows_known *known)
{
	const struct snapshot *s = m->report->snapshot;
	int err = 0;

	for (size_t i = 0; i < s->stack_count && !err; i++) {
		const struct stack_notes *notes = &m->report->notes[i];

		m->row_of[i] = SIZE_MAX;
		if (notes->hidden || notes->unwanted)
			continue;
		if (by == BY_SCOPE)
			err = rows_take(m, i, rows_scope_id(s, &s->stacks[i]));
		else if (unnamed && !notes->frames)
			err = rows_take(m, i, id_map_mix(s->stacks[i].id));
		else
			err = rows_take(m, i, rows_id(known, &s->stacks[i], notes, by, rules));
	}
	return err;
}

static int rows_compare(const void *a, const void *b, void *of)
{
	const struct stack *stacks = of;
	const struct stack *x = &stacks[*(const size_t *)a], *y = &stacks[*(const size_t *)b];

	if (x->older.bytes != y->older.bytes)
		return x->older.bytes < y->older.bytes ? 1 : -1;
	if (x->older.count != y->older.count)
		return x->older.count < y->older.count ? 1 : -1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Sorts the stacks by their rows; each row has the frames of its largest one. */
static int rows_sort(const struct rows_making *m, struct report_rows *rows)
{
	const struct snapshot *s = m->report->snapshot;
	size_t count = m->sums->stack_count, at = 0;

	rows->members = calloc(s->stack_count + 1, sizeof(*rows->members));
	rows->begins = calloc(count + 1, sizeof(*rows->begins));
	if (!rows->members || !rows->begins)
		return -ENOMEM;
	for (size_t row = 0; row < count; row++) {
		rows->begins[row] = at;
		at += m->counts[row];
		m->counts[row] = rows->begins[row];
	}
	rows->begins[count] = at;
	for (size_t i = 0; i < s->stack_count; i++) {
		if (m->row_of[i] != SIZE_MAX)
			rows->members[m->counts[m->row_of[i]]++] = i;
	}
	for (size_t row = 0; row < count; row++) {
		size_t *first = &rows->members[rows->begins[row]];

		qsort_r(first, rows->begins[row + 1] - rows->begins[row], sizeof(*first),
			rows_compare, s->stacks);
		m->notes[row].frames = m->report->notes[*first].frames;
		m->notes[row].frame_count = m->report->notes[*first].frame_count;
	}
	return 0;
}

/* What of the snapshot belongs to the rows as well. */
static int rows_begin(struct rows_making *m, const struct report *report)
{
	const struct snapshot *s = report->snapshot;
	struct snapshot *sums = calloc(1, sizeof(*sums));

	*m = (struct rows_making){.report = report, .sums = sums};
	if (!sums)
		return -ENOMEM;
	sums->target_id = s->target_id;
	sums->time_ns = s->time_ns;
	sums->elapsed_ns = s->elapsed_ns;
	sums->interval_ns = s->interval_ns;
	sums->pid = s->pid;
	sums->final = s->final;
	sums->sample_bytes = s->sample_bytes;
	sums->live = s->live;
	sums->verdict = s->verdict;
	sums->figures_kept = s->figures_kept;
	sums->peak = s->peak;
	sums->stacks = calloc(s->stack_count + 1, sizeof(*sums->stacks));
	if (s->figures)
		sums->figures = calloc(s->stack_count + 1, sizeof(*sums->figures));
	m->notes = calloc(s->stack_count + 1, sizeof(*m->notes));
	m->row_of = calloc(s->stack_count + 1, sizeof(*m->row_of));
	m->counts = calloc(s->stack_count + 1, sizeof(*m->counts));
	return sums->stacks && (sums->figures || !s->figures) && m->notes && m->row_of && m->counts
		       ? 0
		       : -ENOMEM;
}

static int rows_finish(struct rows_making *m, struct report_rows *rows)
{
	int err = rows_sort(m, rows);

	if (err)
		return err;
	rows->sums = report_begin(TAKE_PTR(m->sums));
	if (!rows->sums)
		return -ENOMEM;
	rows->sums->delta_bytes = m->report->delta_bytes;
	rows->sums->delta_count = m->report->delta_count;
	/* One that has no room of its own would need it for its bad frees only: it has none. */
	rows->sums->notes = TAKE_PTR(m->notes);
	return 0;
}

int rows_make(struct report *report, enum site_by by, const struct site_rules *rules, bool unnamed,
	      struct rows_known *known)
{
	struct id_map owners = {0};
	struct site_rules asked = *rules;
	struct report_rows *made = NULL;
	struct rows_making m = {0};
	int err;

	asked.known = &owners;

	report_rows_free(report->rows);
	report->rows = NULL;
	if (by == BY_STACK)
		return 0;
	err = rows_begin(&m, report);
	err = err ?: rows_take_all(&m, by, &asked, unnamed, known);
	made = err ? NULL : calloc(1, sizeof(*made));
	if (!err)
		err = made ? rows_finish(&m, made) : -ENOMEM;
	if (err)
		report_rows_free(made);
	else
		report->rows = made;
	id_map_free(&m.places);
	id_map_free(&owners);
	snapshot_free(m.sums);
	free(m.notes);
	free(m.row_of);
	free(m.counts);
	return err;
}

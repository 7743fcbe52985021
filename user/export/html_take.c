// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is kept of the snapshots until the page is written. */
#include "user/export/html.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/text.h"
#include "user/base/util.h"

#define MAX_POINTS  1024 /* more than a screen has columns to draw them in */
#define MAX_MOMENTS 64
#define MAX_CELLS   (2u << 20) /* of moments times stacks, of all targets; 32 bytes each */

void html_target_release(struct html_target *t)
{
	text_list_free(t->cmdline);
	findings_free(t->findings);
	free(t->points);
	for (size_t i = 0; i < t->moment_count; i++)
		free(t->moments[i].values);
	free(t->moments);
	html_scopes_release(t);
	for (size_t i = 0; i < t->row_count; i++)
		free(t->rows[i].held_by);
	free(t->rows);
	for (int i = 0; i < MISUSE_FINDERS; i++)
		html_misuses_release(&t->misuses[i]);
	id_map_free(&t->row_of);
	id_map_free(&t->frames_of);
}

static struct html_target *target_of(struct html *h, const struct snapshot *s)
{
	const uint64_t key = (uint64_t)s->target_id << 32 | (uint32_t)s->pid;
	struct html_target *grown;
	uint32_t at;

	if (id_map_get(&h->target_of, key, &at))
		return &h->targets[at];
	grown = reallocarray(h->targets, h->target_count + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	h->targets = grown;
	if (id_map_put(&h->target_of, key, (uint32_t)h->target_count))
		return NULL;
	grown += h->target_count++;
	*grown = (struct html_target){
		.target_id = s->target_id,
		.pid = s->pid,
		.start_ns = s->time_ns > s->elapsed_ns ? s->time_ns - s->elapsed_ns : 0,
		.point_stride = 1,
		.moment_stride = 1,
	};
	return grown;
}

static int set_cmdline(struct html_target *t, char *const *cmdline)
{
	if (t->cmdline || !cmdline)
		return 0;
	t->cmdline = text_list_copy(cmdline);
	return t->cmdline ? 0 : -ENOMEM;
}

/*
 * Every second of those that are kept for good goes; `number` is that of the first, in snapshots.
 */
static void thin_points(struct html_target *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->point_count; i += 2)
		t->points[kept++] = t->points[i];
	t->point_count = kept;
	t->point_stride *= 2;
}

/*
 * The last point is that of the last snapshot; it stays when the next one comes if it is one of
 * every n-th.
 */
static int add_point(struct html_target *t, const struct snapshot *s)
{
	if (t->point_count && (t->snapshots - 1) % t->point_stride)
		t->point_count--;
	if (t->point_count == MAX_POINTS)
		thin_points(t);
	if (!RESERVE_ITEM(t->points, t->point_count, t->point_room, 2))
		return -ENOMEM;
	t->points[t->point_count++] = (struct html_point){
		.time_ns = t->start_ns + s->elapsed_ns,
		.live = s->live,
		.alloc = s->alloc,
		.memory = s->memory,
	};
	return 0;
}

static void drop_moment(struct html *h, struct html_target *t, size_t at)
{
	h->cells -= t->moments[at].count;
	t->cells -= t->moments[at].count;
	free(t->moments[at].values);
	memmove(&t->moments[at], &t->moments[at + 1],
		(--t->moment_count - at) * sizeof(*t->moments));
}

/* How many moments of its rows the target may have, as long as the others have what they have. */
static size_t most_moments(const struct html *h, const struct html_target *t)
{
	size_t others = h->cells - t->cells, left = others < MAX_CELLS ? MAX_CELLS - others : 0;
	size_t most = t->row_count ? left / t->row_count : MAX_MOMENTS;

	return most < MAX_MOMENTS ? most : MAX_MOMENTS;
}

/* Room for one more. */
static void thin_moments(struct html *h, struct html_target *t)
{
	size_t most = most_moments(h, t);

	if (t->moment_count && t->moments[t->moment_count - 1].number % t->moment_stride)
		drop_moment(h, t, t->moment_count - 1);
	/* The first and the last are what growth is told by. */
	while (t->moment_count > 1 && t->moment_count >= most) {
		t->moment_stride *= 2;
		for (size_t i = t->moment_count; i-- > 1;) {
			if (t->moments[i].number % t->moment_stride)
				drop_moment(h, t, i);
		}
	}
}

static int set_holder(struct html_row *row, const char *held_by)
{
	free(row->held_by);
	row->held_by = held_by ? strdup(held_by) : NULL;
	return held_by && !row->held_by ? -ENOMEM : 0;
}

static int row_of(struct html *h, struct html_target *t, const struct stack *stack,
		  const struct stack_notes *notes, uint32_t *number)
{
	int err;

	if (!id_map_get(&t->row_of, stack->id, number)) {
		if (!RESERVE_ITEM(t->rows, t->row_count, t->row_room, 2))
			return -ENOMEM;
		*number = (uint32_t)t->row_count;
		err = id_map_put(&t->row_of, stack->id, *number);
		if (err)
			return err;
		t->rows[t->row_count++] = (struct html_row){.id = stack->id};
	}
	t->rows[*number].oldest_ns = stack->oldest_ns;
	memcpy(t->rows[*number].verdict, stack->verdict, sizeof(stack->verdict));
	t->rows[*number].hidden = notes->hidden;
	t->rows[*number].end = stack->truncated ? STACK_END_TRUNCATED : stack->end;
	err = set_holder(&t->rows[*number], stack->held_by);
	err = err ?: html_take_figures(&t->rows[*number], stack);
	if (err || t->rows[*number].frames)
		return err;
	return collect_frames(h->table, &t->frames_of, stack, notes, &t->rows[*number].frames);
}

/* The snapshot's stacks have rows then, `rows` says which. */
static int html_take_rows(struct html *h, struct html_target *t, const struct report *r,
			  uint32_t *rows)
{
	const struct snapshot *s = r->snapshot;
	int err = 0;

	t->left_out = (struct amount){0};
	t->left_out_stacks = 0;
	for (size_t i = 0; !err && i < s->stack_count; i++) {
		err = row_of(h, t, &s->stacks[i], &r->notes[i], &rows[i]);
		if (!err && r->notes[i].hidden) {
			amount_add(&t->left_out, &s->stacks[i].live);
			t->left_out_stacks++;
		}
	}
	return err;
}

static int html_add_moment(struct html *h, struct html_target *t, const struct report *r)
{
	const struct snapshot *s = r->snapshot;
	_cleanup_free_ uint32_t *rows = calloc(s->stack_count + 1, sizeof(*rows));
	struct html_moment *m;
	int err = rows ? html_take_rows(h, t, r, rows) : -ENOMEM;

	if (err)
		return err;
	thin_moments(h, t);
	if (!RESERVE_ITEM(t->moments, t->moment_count, t->moment_room, 2))
		return -ENOMEM;
	m = &t->moments[t->moment_count];
	*m = (struct html_moment){
		.number = t->snapshots,
		.time_ns = t->start_ns + s->elapsed_ns,
		.values = calloc(t->row_count + 1, sizeof(*m->values)),
		.count = t->row_count,
	};
	if (!m->values)
		return -ENOMEM;
	t->moment_count++;
	t->cells += m->count;
	h->cells += m->count;
	for (size_t i = 0; i < s->stack_count; i++)
		m->values[rows[i]] = (struct html_values){s->stacks[i].live, s->stacks[i].alloc};
	return 0;
}

static int html_take_findings(struct html_target *t, const struct findings *findings)
{
	findings_free(t->findings);
	t->findings = findings_copy(findings);
	return findings && !t->findings ? -ENOMEM : 0;
}

int html_take(struct html *h, const struct report *r)
{
	const struct snapshot *s = r->snapshot;
	struct html_target *t = target_of(h, s);
	int err = t ? set_cmdline(t, s->cmdline) : -ENOMEM;

	if (!err)
		err = add_point(t, s);
	if (!err)
		err = html_add_moment(h, t, r);
	if (!err)
		for (int i = 0; !err && i < MISUSE_FINDERS; i++)
			err = html_take_misuses(h, &t->misuses[i], r->misuses[i].items,
						r->misuses[i].count);
	if (!err)
		err = html_take_scopes(t, r);
	if (!err)
		err = html_take_findings(t, r->findings);
	if (err)
		return err;
	snprintf(t->comm, sizeof(t->comm), "%.16s", s->comm);
	t->exited = s->exited;
	t->end = s->end;
	t->execed = s->execed;
	t->window = s->window;
	t->verdict = s->verdict;
	t->elapsed_ns = s->elapsed_ns;
	t->sample_bytes = s->sample_bytes;
	t->unknown_frees = s->unknown_frees;
	t->live = s->live;
	t->free = s->free;
	memcpy(t->lost, s->lost, sizeof(t->lost));
	t->snapshots++;
	h->taken = true;
	return 0;
}

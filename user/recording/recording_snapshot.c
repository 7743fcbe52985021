// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Snapshots from what a recording has said so far. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/text.h"
#include "user/recording/recording_state.h"
#include "user/recording/recording_verdict.h"

static void fill_stack(const struct recording_reader *r, struct snapshot *s, struct stack *stack,
		       struct recorded_row *row)
{
	const uint64_t *v = row->values;
	uint64_t birth = v[VALUE_OLDEST];

	*stack = (struct stack){
		.id = row->stack_id,
		.alloc = {v[VALUE_ALLOC_BYTES], v[VALUE_ALLOC_COUNT]},
		.free = {v[VALUE_FREE_BYTES], v[VALUE_FREE_COUNT]},
		.live = {v[VALUE_LIVE_BYTES], v[VALUE_LIVE_COUNT]},
		.older = {v[VALUE_OLDER_BYTES], v[VALUE_OLDER_COUNT]},
		.delta_bytes = (int64_t)(v[VALUE_LIVE_BYTES] - row->live_before[0]),
		.delta_count = (int64_t)(v[VALUE_LIVE_COUNT] - row->live_before[1]),
		.truncated = row->truncated,
		.end = row->end,
	};
	memcpy(&stack->error_bytes, &v[VALUE_ERROR], sizeof(stack->error_bytes));
	if (birth && birth - 1 <= s->elapsed_ns)
		stack->oldest_ns = s->elapsed_ns - (birth - 1);
	if (row->stack)
		stack->frames = frame_table_stack_at(r->table, row->stack, &stack->frame_count);
	row->live_before[0] = v[VALUE_LIVE_BYTES];
	row->live_before[1] = v[VALUE_LIVE_COUNT];
	amount_add(&s->live, &stack->live);
	amount_add(&s->alloc, &stack->alloc);
	amount_add(&s->free, &stack->free);
	s->delta_bytes = (int64_t)((uint64_t)s->delta_bytes + (uint64_t)stack->delta_bytes);
	s->delta_count = (int64_t)((uint64_t)s->delta_count + (uint64_t)stack->delta_count);
}

int recording_take_lost(const struct recording_reader *r, struct wire_reader body,
			uint64_t lost[LOST_CAUSES], const char **why)
{
	for (size_t i = 0; wire_left(&body); i++) {
		uint64_t count;

		if (wire_read_varint(&body, &count))
			return recording_refuse(why, "losses cannot be read");
		if (i < r->causes.count && r->causes.numbers[i] >= 0)
			lost[r->causes.numbers[i]] = count;
	}
	return 0;
}

static int read_snapshot(const struct recording_reader *r, struct wire_reader message,
			 struct snapshot *s, uint64_t *target, struct wire_reader *verdict,
			 const char **why)
{
	struct wire_field f;
	uint64_t flags = 0;
	int got, err = 0;

	while (!err && (got = wire_next(&message, &f)) > 0) {
		if (f.field == SNAPSHOT_LOST && f.type == WIRE_BYTES)
			err = recording_take_lost(r, f.body, s->lost, why);
		if (f.field == SNAPSHOT_LOST_ANYWHERE && f.type == WIRE_BYTES)
			err = recording_take_lost(r, f.body, s->lost_anywhere, why);
		if (f.field == SNAPSHOT_VERDICT && f.type == WIRE_BYTES)
			*verdict = f.body;
		if (f.type != WIRE_VARINT)
			continue;
		switch (f.field) {
		case SNAPSHOT_TARGET:
			*target = f.number;
			break;
		case SNAPSHOT_TIME_NS:
			s->time_ns = f.number;
			break;
		case SNAPSHOT_ELAPSED_NS:
			s->elapsed_ns = f.number;
			break;
		case SNAPSHOT_INTERVAL_NS:
			s->interval_ns = f.number;
			break;
		case SNAPSHOT_FLAGS:
			flags = f.number;
			break;
		case SNAPSHOT_SAMPLE_BYTES:
			s->sample_bytes = f.number;
			break;
		case SNAPSHOT_UNKNOWN_FREES:
			s->unknown_frees = f.number;
			break;
		case SNAPSHOT_RSS:
			s->memory.rss = f.number;
			break;
		case SNAPSHOT_ANON:
			s->memory.anon = f.number;
			break;
		case SNAPSHOT_PSS:
			s->memory.pss = f.number;
			break;
		default:
			break;
		}
	}
	s->final = flags & FLAG_FINAL;
	s->exited = flags & FLAG_EXITED;
	s->execed = flags & FLAG_EXECED;
	s->children_late = flags & FLAG_LATE;
	s->window = flags & FLAG_WINDOW;
	s->frees_checked = flags & FLAG_FREES_CHECKED;
	return err ? err : got < 0 ? recording_refuse(why, "a snapshot cannot be read") : 0;
}

/* What the target's state says at this moment. */
static int fill_snapshot(const struct recording_reader *r, struct recorded_target *t,
			 struct snapshot *s)
{
	s->target_id = t->id;
	s->pid = t->pid;
	memcpy(s->comm, t->comm, sizeof(s->comm));
	s->cmdline = t->cmdline ? text_list_copy(t->cmdline) : NULL;
	if (t->cmdline && !s->cmdline)
		return -ENOMEM;
	if (t->maps) {
		s->maps = module_maps_new(t->maps->items, t->maps->count);
		if (!s->maps)
			return -ENOMEM;
	}
	s->stacks = calloc(t->row_count ? t->row_count : 1, sizeof(*s->stacks));
	if (!s->stacks)
		return -ENOMEM;
	for (size_t i = 0; i < t->row_count; i++) {
		fill_stack(r, s, &s->stacks[i], &t->rows[i]);
		s->stacks[i].index = (uint32_t)i;
	}
	s->stack_count = t->row_count;
	return 0;
}

int recording_take_snapshot(struct recording_reader *r, struct wire_reader message,
			    struct snapshot **out, const char **why)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	struct recorded_target *t = NULL;
	uint64_t target = 0;
	struct wire_reader verdict = {0};
	int err = s ? read_snapshot(r, message, s, &target, &verdict, why) : -ENOMEM;

	if (!err) {
		t = recording_find_target(r, target);
		err = t ? fill_snapshot(r, t, s)
			: recording_refuse(why, "a snapshot of a target that is not there");
	}
	if (!err) {
		err = recording_take_verdict(verdict, s, &t->notes);
		if (err == -EBADMSG)
			*why = "a verdict cannot be read";
	}
	if (!err && s->frees_checked)
		err = recording_fill_bad_frees(r, &t->bad_frees, s);
	if (err) {
		snapshot_free(s);
		return err;
	}
	/* The writer forgets it, too. */
	if (s->exited || s->execed || s->window)
		recording_target_release(t);
	*out = s;
	return 1;
}

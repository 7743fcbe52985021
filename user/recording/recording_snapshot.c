// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_snapshot.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/recording/recording_call.h"
#include "user/recording/recording_format.h"
#include "user/recording/recording_scopes.h"

enum snapshot_field {
	SNAPSHOT_TARGET = MESSAGE_FIELD_TARGET,
	SNAPSHOT_TIME_NS = 2,
	SNAPSHOT_ELAPSED_NS = 3,
	SNAPSHOT_INTERVAL_NS = 4,
	SNAPSHOT_FLAGS = 5,
	SNAPSHOT_SAMPLE_BYTES = 6,
	SNAPSHOT_UNKNOWN_FREES = 7,
	SNAPSHOT_LOST = 8,
	SNAPSHOT_RSS = 9,
	SNAPSHOT_ANON = 10,
	SNAPSHOT_PSS = 11,
	SNAPSHOT_VERDICT = 12, /* recording_verdict.c */
	SNAPSHOT_LOST_ANYWHERE = 13,
	SNAPSHOT_GROWN = 14,
	SNAPSHOT_GROWN_UNTRACED = 15,
	SNAPSHOT_GROWN_WHERE = 16,
	SNAPSHOT_AGES_UNREAD = 17,
	SNAPSHOT_ATTACHED = 18,
	SNAPSHOT_ARENA_BYTES = 19,
	SNAPSHOT_ARENA_COUNT = 20,
	SNAPSHOT_HEAPS = 21,
	SNAPSHOT_HEAP_JAVA = 22,
	SNAPSHOT_HEAP_V8 = 23,
	SNAPSHOT_HEAP_GO = 24,
	SNAPSHOT_FIGURES = 25, /* the bits of figures_kept: recording_figures.c */
	SNAPSHOT_PEAK_BYTES = 26,
	SNAPSHOT_PEAK_TIME = 27,
	SNAPSHOT_PEAK_CAPTURED = 28,
	SNAPSHOT_PEAK_CAPTURED_TIME = 29,
	SNAPSHOT_PEAK_CAPTURED_ERROR = 30, /* the bits of a double */
	SNAPSHOT_GUARD_PERIOD = 31,
	SNAPSHOT_GUARD_PLACES = 32,
	SNAPSHOT_GUARD_IN_USE = 33,
	SNAPSHOT_GUARDED = 34,
	SNAPSHOT_GUARD_FREED = 35,
	SNAPSHOT_GUARD_FULL = 36,
	SNAPSHOT_GUARD_PASSED = 37,
	SNAPSHOT_GUARD_UNFIT = 38,
	SNAPSHOT_GUARD_AGE = 39, /* ms */
	SNAPSHOT_GUARD_LOST = 40,
	SNAPSHOT_GUARD_REASON = 41, /* number of a string */
	SNAPSHOT_GUARD_AMID = 42,
	SNAPSHOT_GUARD_UNSEEN = 43,
	SNAPSHOT_END_CAUSE = 44,
	SNAPSHOT_END_CODE = 45,
	SNAPSHOT_END_LIMIT = 46,
};

static const struct wire_number snapshot_numbers[] = {
	WIRE_NUMBER(SNAPSHOT_TIME_NS, struct snapshot, time_ns),
	WIRE_NUMBER(SNAPSHOT_ELAPSED_NS, struct snapshot, elapsed_ns),
	WIRE_NUMBER(SNAPSHOT_INTERVAL_NS, struct snapshot, interval_ns),
	WIRE_NUMBER(SNAPSHOT_SAMPLE_BYTES, struct snapshot, sample_bytes),
	WIRE_NUMBER(SNAPSHOT_UNKNOWN_FREES, struct snapshot, unknown_frees),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_RSS, struct snapshot, memory.rss),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_ANON, struct snapshot, memory.anon),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_PSS, struct snapshot, memory.pss),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_GROWN, struct snapshot, growth.anon),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_GROWN_UNTRACED, struct snapshot, growth.untraced),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_AGES_UNREAD, struct snapshot, ages_unread),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_ATTACHED, struct snapshot, attached),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_ARENA_BYTES, struct snapshot, arenas.bytes),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_ARENA_COUNT, struct snapshot, arenas.count),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_HEAPS, struct snapshot, heaps.kinds),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_HEAP_JAVA, struct snapshot, heaps.bytes[UNTRACED_JAVA]),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_HEAP_V8, struct snapshot, heaps.bytes[UNTRACED_V8]),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_HEAP_GO, struct snapshot, heaps.bytes[UNTRACED_GO]),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_PEAK_BYTES, struct snapshot, peak.bytes),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_PEAK_TIME, struct snapshot, peak.time_ns),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_PEAK_CAPTURED, struct snapshot, peak.captured_bytes),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_PEAK_CAPTURED_TIME, struct snapshot, peak.captured_ns),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_PEAK_CAPTURED_ERROR, struct snapshot, peak.captured_error),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_GUARD_PERIOD, struct snapshot, guard.period),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_GUARD_PLACES, struct snapshot, guard.places),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_GUARD_IN_USE, struct snapshot, guard.in_use),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_GUARDED, struct snapshot, guard.guarded),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_GUARD_FREED, struct snapshot, guard.freed),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_GUARD_FULL, struct snapshot, guard.full),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_GUARD_PASSED, struct snapshot, guard.passed),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_GUARD_UNFIT, struct snapshot, guard.unfit),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_GUARD_AGE, struct snapshot, guard.oldest_free_ms),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_GUARD_LOST, struct snapshot, guard.lost),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_GUARD_AMID, struct snapshot, guard.amid),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_GUARD_UNSEEN, struct snapshot, guard.unseen),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_END_CAUSE, struct snapshot, end.cause),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_END_CODE, struct snapshot, end.code),
	WIRE_NUMBER_IF_ANY(SNAPSHOT_END_LIMIT, struct snapshot, end.limit),
	{0},
};

/* The bits of SNAPSHOT_FLAGS, from 0. */
static const size_t snapshot_flags[] = {
	offsetof(struct snapshot, final),
	offsetof(struct snapshot, exited),
	offsetof(struct snapshot, execed),
	offsetof(struct snapshot, children_late),
	offsetof(struct snapshot, window),
	offsetof(struct snapshot, frees_checked),
	offsetof(struct snapshot, growth.mmap_traced),
	offsetof(struct snapshot, scoped),
	offsetof(struct snapshot, guard.asked),
	offsetof(struct snapshot, guard.on),
	offsetof(struct snapshot, guard.no_use_after_free),
};

/* ---- writing ------------------------------------------------------------------------------ */

static uint64_t snapshot_flags_of(const struct snapshot *s)
{
	uint64_t flags = 0;

	for (size_t i = 0; i < ARRAY_SIZE(snapshot_flags); i++) {
		const bool *flag = (const bool *)((const char *)s + snapshot_flags[i]);

		flags |= (uint64_t)*flag << i;
	}
	return flags;
}

/* It has to stand before the snapshot. */
static int snapshot_put_reason(struct recording_out *out, const struct snapshot *s)
{
	uint32_t id;
	int err = s->guard.reason ? frame_table_string(out->table, s->guard.reason, &id) : 0;

	return err || !s->guard.reason ? err : recording_put_names(out);
}

static int snapshot_put(struct recording_out *out, struct written_target *t,
			const struct snapshot *s, const uint32_t *numbers)
{
	static const uint64_t none[LOSSES_ROOM];
	struct wire *to = &out->chunk.body;
	size_t mark = wire_open(to, MESSAGE_SNAPSHOT);
	int err;

	wire_uint(to, SNAPSHOT_TARGET, s->target_id);
	wire_put_numbers(to, snapshot_numbers, SNAPSHOT_TIME_NS, SNAPSHOT_INTERVAL_NS, s);
	wire_uint(to, SNAPSHOT_FLAGS, snapshot_flags_of(s));
	wire_put_numbers(to, snapshot_numbers, SNAPSHOT_SAMPLE_BYTES, SNAPSHOT_UNKNOWN_FREES, s);
	recording_put_lost(to, SNAPSHOT_LOST, s->lost);
	if (memcmp(s->lost_anywhere, none, sizeof(none)) != 0)
		recording_put_lost(to, SNAPSHOT_LOST_ANYWHERE, s->lost_anywhere);
	wire_put_numbers(to, snapshot_numbers, SNAPSHOT_RSS, UINT_MAX, s);
	if (s->figures)
		wire_uint(to, SNAPSHOT_FIGURES, figures_bits(&s->figures_kept));
	if (s->growth.where)
		wire_string(to, SNAPSHOT_GROWN_WHERE, s->growth.where);
	recording_put_name(out, SNAPSHOT_GUARD_REASON, s->guard.reason);
	err = recording_put_verdict(to, SNAPSHOT_VERDICT, s, numbers, &t->notes);
	wire_close(to, mark);
	return err;
}

int recording_put_snapshot(struct recording_out *out, struct written_targets *targets,
			   const struct report *report)
{
	const struct snapshot *s = report->snapshot;
	struct written_target *t = written_target_get(targets, s->target_id);
	_cleanup_free_ uint32_t *numbers =
		calloc(s->stack_count ? s->stack_count : 1, sizeof(*numbers));
	_cleanup_free_ uint32_t *scopes =
		calloc(s->scopes.count ? s->scopes.count : 1, sizeof(*scopes));
	int err;

	if (!t || !numbers || !scopes)
		return -ENOMEM;
	recording_put_target(out, t, s);
	err = recording_put_maps(out, t, s);
	err = err ? err : recording_put_scopes(out, t->id, &t->scopes, s, scopes);
	err = err ? err : recording_put_rows(out, t->id, &t->rows, report, scopes, numbers);
	err = err ? err : recording_put_values(out, t->id, &t->rows, s, numbers);
	err = err ? err : recording_put_bad_frees(out, t->id, &t->bad_frees, report);
	err = err ? err
		  : recording_put_bad_accesses(
			    out, (struct bad_access_owner){MESSAGE_BAD_ACCESS, t->id},
			    &t->bad_accesses, report->bad_accesses, s->bad_access_count);
	err = err ? err : snapshot_put_reason(out, s);
	err = err ? err : recording_put_figures(out, t->id, &t->figures, s, numbers);
	err = err ? err : snapshot_put(out, t, s, numbers);
	if (!err && (s->exited || s->execed || s->window))
		written_target_forget(targets, t);
	return err;
}

/* ---- reading ------------------------------------------------------------------------------ */

static void snapshot_set_flags(struct snapshot *s, uint64_t flags)
{
	for (size_t i = 0; i < ARRAY_SIZE(snapshot_flags); i++)
		*(bool *)((char *)s + snapshot_flags[i]) = flags >> i & 1;
}

static int snapshot_take_where(struct snapshot *s, const struct wire_reader *text)
{
	free(s->growth.where);
	s->growth.where = strndup((const char *)text->at, wire_left(text));
	return s->growth.where ? 0 : -ENOMEM;
}

static int snapshot_take(struct recording_in *in, struct wire_reader message, struct snapshot *s,
			 struct wire_reader *verdict)
{
	struct wire_field f;
	int got, err = 0;

	while (!err && (got = wire_next(&message, &f)) > 0) {
		if (f.field == SNAPSHOT_LOST && f.type == WIRE_BYTES)
			err = recording_take_lost(&in->header, f.body, s->lost);
		else if (f.field == SNAPSHOT_LOST_ANYWHERE && f.type == WIRE_BYTES)
			err = recording_take_lost(&in->header, f.body, s->lost_anywhere);
		else if (f.field == SNAPSHOT_VERDICT && f.type == WIRE_BYTES)
			*verdict = f.body;
		else if (f.field == SNAPSHOT_GROWN_WHERE && f.type == WIRE_BYTES)
			err = snapshot_take_where(s, &f.body);
		else if (f.field == SNAPSHOT_FIGURES && f.type == WIRE_VARINT)
			s->figures_kept = figures_of_bits(f.number);
		else if (f.field == SNAPSHOT_GUARD_REASON)
			err = recording_take_text(in, &f, &s->guard.reason, NULL);
		else if (f.field == SNAPSHOT_FLAGS && f.type == WIRE_VARINT)
			snapshot_set_flags(s, f.number);
		else
			wire_take_number(snapshot_numbers, &f, s);
	}
	if (err)
		return err == -ENOMEM || f.field == SNAPSHOT_GUARD_REASON
			       ? err
			       : recording_refuse(in, "losses cannot be read");
	return got < 0 || !(s->peak.captured_error >= 0)
		       ? recording_refuse(in, "a snapshot cannot be read")
		       : 0;
}

int recording_take_snapshot(struct recording_in *in, struct read_target *t,
			    struct wire_reader message, struct snapshot **out)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	struct wire_reader verdict = {0};
	int err = s ? snapshot_take(in, message, s, &verdict) : -ENOMEM;

	err = err ? err : recording_fill_target(t, s);
	err = err ? err : recording_fill_stacks(in, &t->rows, s);
	if (!err) {
		err = recording_take_verdict(verdict, s, &t->notes);
		if (err == -EBADMSG)
			recording_refuse(in, "a verdict cannot be read");
	}
	if (!err)
		err = recording_fill_figures(&t->figures, s);
	if (!err && s->scoped)
		err = scopes_list_copy(&s->scopes, &t->scopes);
	if (!err && s->frees_checked)
		err = recording_fill_bad_frees(in, &t->bad_frees, s);
	if (!err && s->guard.asked)
		err = recording_fill_bad_accesses(in, &t->bad_accesses, &s->bad_accesses,
						  &s->bad_access_count);
	if (err) {
		snapshot_free(s);
		return err;
	}
	/* The writer forgets it, too. */
	if (s->exited || s->execed || s->window)
		read_target_release(t);
	*out = s;
	return 0;
}

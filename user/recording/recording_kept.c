// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_kept.h"

#include <stdlib.h>

#include "user/base/util.h"
#include "user/recording/recording_format.h"

enum kept_field {
	KEPT_PROCESS = MESSAGE_FIELD_TARGET, /* the process's number */
	KEPT_FLAGS = 2,
	KEPT_REASON = 3, /* numbers of strings, 0: none */
	KEPT_GUARD_REASON = 4,
	KEPT_SINCE_NS = 5,
	KEPT_LIVE_BYTES = 6,
	KEPT_ERROR_BYTES = 7, /* the bits of a double */
	KEPT_SAMPLES = 8,
	KEPT_LIVE_SAMPLES = 9,
	KEPT_GUARD_PERIOD = 10,
	KEPT_GUARD_PLACES = 11,
	KEPT_GUARD_IN_USE = 12,
	KEPT_GUARDED = 13,
	KEPT_GUARD_FREED = 14,
	KEPT_GUARD_FULL = 15,
	KEPT_GUARD_PASSED = 16,
	KEPT_GUARD_UNFIT = 17,
	KEPT_GUARD_AGE = 18, /* ms */
	KEPT_GUARD_AMID = 19,
	KEPT_GUARD_LOST = 20,
	KEPT_LEFT_OUT = 21,
	/* how often each kind was seen */
	KEPT_OVERFLOW = 22,
	KEPT_UNDERFLOW = 23,
	KEPT_USE_AFTER_FREE = 24,
	KEPT_SLACK_OVERWRITE = 25,
	KEPT_DOUBLE_FREE = 26,
	KEPT_INVALID_FREE = 27,
	KEPT_SUPPRESSED_BESIDE = 28,
	KEPT_GUARD_UNSEEN = 29,
};

#define KEPT_NAMED (1u << 0)

/* The bits of KEPT_FLAGS behind KEPT_NAMED. */
static const size_t kept_flags[] = {
	offsetof(struct survey_kept, sampled),
	offsetof(struct survey_kept, guards.state.asked),
	offsetof(struct survey_kept, guards.state.on),
	offsetof(struct survey_kept, guards.state.no_use_after_free),
};

#define SEEN(field, kind)    WIRE_NUMBER(field, struct survey_kept, guards.bad_accesses[kind])
#define STATE(field, member) WIRE_NUMBER(field, struct survey_kept, guards.state.member)

static const struct wire_number kept_numbers[] = {
	WIRE_NUMBER(KEPT_SINCE_NS, struct survey_kept, since_ns),
	WIRE_NUMBER(KEPT_LIVE_BYTES, struct survey_kept, live_bytes),
	WIRE_NUMBER(KEPT_ERROR_BYTES, struct survey_kept, error_bytes),
	WIRE_NUMBER(KEPT_SAMPLES, struct survey_kept, samples),
	WIRE_NUMBER(KEPT_LIVE_SAMPLES, struct survey_kept, live_samples),
	STATE(KEPT_GUARD_PERIOD, period),
	STATE(KEPT_GUARD_PLACES, places),
	STATE(KEPT_GUARD_IN_USE, in_use),
	STATE(KEPT_GUARDED, guarded),
	STATE(KEPT_GUARD_FREED, freed),
	STATE(KEPT_GUARD_FULL, full),
	STATE(KEPT_GUARD_PASSED, passed),
	STATE(KEPT_GUARD_UNFIT, unfit),
	STATE(KEPT_GUARD_AGE, oldest_free_ms),
	STATE(KEPT_GUARD_AMID, amid),
	STATE(KEPT_GUARD_UNSEEN, unseen),
	STATE(KEPT_GUARD_LOST, lost),
	WIRE_NUMBER(KEPT_LEFT_OUT, struct survey_kept, bad_accesses_left_out),
	SEEN(KEPT_OVERFLOW, MISUSE_OVERFLOW),
	SEEN(KEPT_UNDERFLOW, MISUSE_UNDERFLOW),
	SEEN(KEPT_USE_AFTER_FREE, MISUSE_USE_AFTER_FREE),
	SEEN(KEPT_SLACK_OVERWRITE, MISUSE_SLACK_OVERWRITE),
	SEEN(KEPT_DOUBLE_FREE, MISUSE_DOUBLE_FREE),
	SEEN(KEPT_INVALID_FREE, MISUSE_INVALID_FREE),
	WIRE_NUMBER(KEPT_SUPPRESSED_BESIDE, struct survey_kept, bad_accesses_suppressed_beside),
	{0},
};
_Static_assert(MISUSE_GUARDED_KINDS == 6, "a field for each kind");

/* ---- writing ------------------------------------------------------------------------------ */

void written_kept_free(struct written_kept *w)
{
	recorded_misuses_free(&w->bad_accesses);
	*w = (struct written_kept){0};
}

static uint64_t kept_flags_of(bool named, const struct survey_kept *kept)
{
	uint64_t flags = named ? KEPT_NAMED : 0;

	for (size_t i = 0; i < ARRAY_SIZE(kept_flags); i++) {
		const bool *flag = (const bool *)((const char *)kept + kept_flags[i]);

		flags |= (uint64_t)*flag << (i + 1);
	}
	return flags;
}

static void kept_put(struct wire *to, uint32_t process, const struct written_kept *before,
		     const struct written_kept *now)
{
	uint64_t flags = kept_flags_of(now->named, &now->kept);
	size_t mark = wire_open(to, MESSAGE_KEPT);

	wire_uint(to, KEPT_PROCESS, process);
	if (flags != kept_flags_of(before->named, &before->kept))
		wire_uint(to, KEPT_FLAGS, flags);
	if (now->reason != before->reason)
		wire_uint(to, KEPT_REASON, now->reason);
	if (now->guard_reason != before->guard_reason)
		wire_uint(to, KEPT_GUARD_REASON, now->guard_reason);
	wire_put_changed_numbers(to, kept_numbers, &now->kept, &before->kept);
	wire_close(to, mark);
}

int recording_put_kept(struct recording_out *out, uint32_t process, struct written_kept *w,
		       const struct survey_kept *kept)
{
	static const struct survey_kept nothing;
	const struct misuse_owner owner = {MISUSE_BY_GUARD, MESSAGE_KEPT_BAD_ACCESS, process};
	struct misuse_list list;
	struct written_kept before = *w;
	int err;

	if (!kept && !w->named)
		return 0;
	w->named = kept != NULL;
	w->kept = kept ? *kept : nothing;
	err = frame_table_string(out->table, w->kept.reason, &w->reason);
	err = err ?: frame_table_string(out->table, w->kept.guards.state.reason, &w->guard_reason);
	/* What is named has to stand before. */
	err = err ?: recording_put_names(out);
	if (err)
		return err;
	kept_put(&out->chunk.body, process, &before, w);
	list = (struct misuse_list){w->kept.bad_accesses, w->kept.bad_access_count};
	return recording_put_misuses(out, owner, &w->bad_accesses, &list);
}

/* ---- reading ------------------------------------------------------------------------------ */

void read_kept_free(struct read_kept *r)
{
	free(r->kept.bad_accesses);
	recorded_misuses_free(&r->bad_accesses);
	*r = (struct read_kept){0};
}

static void kept_set_flags(struct read_kept *r, uint64_t flags)
{
	r->named = flags & KEPT_NAMED;
	for (size_t i = 0; i < ARRAY_SIZE(kept_flags); i++)
		*(bool *)((char *)&r->kept + kept_flags[i]) = flags >> (i + 1) & 1;
}

int recording_take_kept(struct recording_in *in, struct read_kept *r, struct wire_reader message)
{
	struct wire_field f;
	int got, err = 0;

	while (!err && (got = wire_next(&message, &f)) > 0) {
		if (f.field == KEPT_REASON)
			err = recording_take_text(in, &f, &r->kept.reason, NULL);
		else if (f.field == KEPT_GUARD_REASON)
			err = recording_take_text(in, &f, &r->kept.guards.state.reason, NULL);
		else if (f.field == KEPT_FLAGS && f.type == WIRE_VARINT)
			kept_set_flags(r, f.number);
		else
			wire_take_number(kept_numbers, &f, &r->kept);
	}
	if (err)
		return err;
	if (got < 0)
		return recording_refuse(in, "a process's samples cannot be read");
	/* Any bits may stand in the file. */
	if (!(r->kept.error_bytes >= 0 && r->kept.error_bytes < 0x1p63))
		r->kept.error_bytes = 0;
	return 0;
}

int recording_take_kept_bad_access(struct recording_in *in, struct read_kept *r,
				   struct wire_reader message)
{
	r->filled = false;
	return recording_take_misuse(in, MISUSE_BY_GUARD, &r->bad_accesses, message);
}

int recording_fill_kept(const struct recording_in *in, struct read_kept *r,
			const struct survey_kept **out)
{
	struct misuse_list list;
	int err;

	*out = r->named ? &r->kept : NULL;
	if (!r->named || r->filled)
		return 0;
	free(r->kept.bad_accesses);
	r->filled = true;
	err = recording_fill_misuses(in, &r->bad_accesses, &list);
	r->kept.bad_accesses = list.items;
	r->kept.bad_access_count = list.count;
	return err;
}

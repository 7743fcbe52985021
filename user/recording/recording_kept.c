// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_kept.h"

#include <stdlib.h>

#include "user/recording/recording_format.h"

/* Written as far as they have changed, but the first: without it nobody knows whose they are. */
const struct field recording_kept_fields[] = {
	FIELD_NUMBER(MESSAGE_FIELD_TARGET, struct recorded_kept, process),
	FIELD_FLAG(2, 0, struct recorded_kept, named),
	FIELD_FLAG(2, 1, struct recorded_kept, kept.sampled),
	FIELD_FLAG(2, 2, struct recorded_kept, kept.guards.state.asked),
	FIELD_FLAG(2, 3, struct recorded_kept, kept.guards.state.on),
	FIELD_FLAG(2, 4, struct recorded_kept, kept.guards.state.no_use_after_free),
	FIELD_SMALL(3, struct recorded_kept, reason),
	FIELD_SMALL(4, struct recorded_kept, guard_reason),
	FIELD_NUMBER(5, struct recorded_kept, kept.since_ns),
	FIELD_NUMBER(6, struct recorded_kept, kept.live_bytes),
	FIELD_NUMBER(7, struct recorded_kept, kept.error_bytes), /* the bits of a double */
	FIELD_NUMBER(8, struct recorded_kept, kept.samples),
	FIELD_NUMBER(9, struct recorded_kept, kept.live_samples),
	FIELD_NUMBER(10, struct recorded_kept, kept.guards.state.period),
	FIELD_NUMBER(11, struct recorded_kept, kept.guards.state.places),
	FIELD_NUMBER(12, struct recorded_kept, kept.guards.state.in_use),
	FIELD_NUMBER(13, struct recorded_kept, kept.guards.state.guarded),
	FIELD_NUMBER(14, struct recorded_kept, kept.guards.state.freed),
	FIELD_NUMBER(15, struct recorded_kept, kept.guards.state.full),
	FIELD_NUMBER(16, struct recorded_kept, kept.guards.state.passed),
	FIELD_NUMBER(17, struct recorded_kept, kept.guards.state.unfit),
	FIELD_NUMBER(18, struct recorded_kept, kept.guards.state.oldest_free_ms),
	FIELD_NUMBER(19, struct recorded_kept, kept.guards.state.amid),
	FIELD_NUMBER(29, struct recorded_kept, kept.guards.state.unseen),
	FIELD_NUMBER(20, struct recorded_kept, kept.guards.state.lost),
	FIELD_NUMBER(21, struct recorded_kept, kept.bad_accesses_left_out),
	FIELD_NUMBER(22, struct recorded_kept, kept.guards.bad_accesses[MISUSE_OVERFLOW]),
	FIELD_NUMBER(23, struct recorded_kept, kept.guards.bad_accesses[MISUSE_UNDERFLOW]),
	FIELD_NUMBER(24, struct recorded_kept, kept.guards.bad_accesses[MISUSE_USE_AFTER_FREE]),
	FIELD_NUMBER(25, struct recorded_kept, kept.guards.bad_accesses[MISUSE_SLACK_OVERWRITE]),
	FIELD_NUMBER(26, struct recorded_kept, kept.guards.bad_accesses[MISUSE_DOUBLE_FREE]),
	FIELD_NUMBER(27, struct recorded_kept, kept.guards.bad_accesses[MISUSE_INVALID_FREE]),
	FIELD_NUMBER(28, struct recorded_kept, kept.bad_accesses_suppressed_beside),
	{0},
};
_Static_assert(MISUSE_GUARDED_KINDS == 6, "a field for each kind");

void recorded_kept_free(struct recorded_kept *r)
{
	if (r->read)
		free(r->kept.bad_accesses);
	recorded_misuses_free(&r->bad_accesses);
	*r = (struct recorded_kept){0};
}

/* ---- writing ------------------------------------------------------------------------------ */

int recording_put_kept(struct recording_out *out, uint32_t process, struct recorded_kept *r,
		       const struct survey_kept *kept)
{
	static const struct survey_kept nothing;
	const struct misuse_owner owner = {MISUSE_BY_GUARD, MESSAGE_KEPT_BAD_ACCESS, process};
	struct recorded_kept before = *r;
	struct misuse_list list;
	size_t mark;
	int err;

	if (!kept && !r->named)
		return 0;
	r->named = kept != NULL;
	r->kept = kept ? *kept : nothing;
	r->process = process;
	before.process = ~r->process;
	err = frame_table_string(out->table, r->kept.reason, &r->reason);
	err = err ?: frame_table_string(out->table, r->kept.guards.state.reason, &r->guard_reason);
	/* What is named has to stand before. */
	err = err ?: recording_put_names(out);
	if (err)
		return err;
	mark = wire_open(&out->chunk.body, MESSAGE_KEPT);
	err = fields_put_changed(out, recording_kept_fields, r, &before);
	wire_close(&out->chunk.body, mark);
	list = (struct misuse_list){r->kept.bad_accesses, r->kept.bad_access_count};
	return err ?: recording_put_misuses(out, owner, &r->bad_accesses, &list);
}

/* ---- reading ------------------------------------------------------------------------------ */

int recording_take_kept(struct recording_in *in, struct recorded_kept *r,
			struct wire_reader message)
{
	static const char unread[] = "a process's samples cannot be read";
	int err = fields_take(in, recording_kept_fields, message, r, unread);

	if (err)
		return err;
	if (!recording_string(in, r->reason, &r->kept.reason, NULL) ||
	    !recording_string(in, r->guard_reason, &r->kept.guards.state.reason, NULL))
		return recording_refuse(in, "a string that is not there");
	/* Any bits may stand in the file. */
	if (!(r->kept.error_bytes >= 0 && r->kept.error_bytes < 0x1p63))
		r->kept.error_bytes = 0;
	return 0;
}

int recording_take_kept_bad_access(struct recording_in *in, struct recorded_kept *r,
				   struct wire_reader message)
{
	r->filled = false;
	return recording_take_misuse(in, MISUSE_BY_GUARD, &r->bad_accesses, message);
}

int recording_fill_kept(const struct recording_in *in, struct recorded_kept *r,
			const struct survey_kept **out)
{
	struct misuse_list list;
	int err;

	*out = r->named ? &r->kept : NULL;
	if (!r->named || r->filled)
		return 0;
	free(r->kept.bad_accesses);
	r->filled = r->read = true;
	err = recording_fill_misuses(in, &r->bad_accesses, &list);
	r->kept.bad_accesses = list.items;
	r->kept.bad_access_count = list.count;
	return err;
}

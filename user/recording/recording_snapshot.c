// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/recording/recording_format.h"
#include "user/recording/recording_missing.h"
#include "user/recording/recording_scopes.h"

/* Of enum attached_by, enum process_end_cause and the like the numbers are written. */
const struct field recording_snapshot_fields[] = {
	FIELD_SMALL(MESSAGE_FIELD_TARGET, struct snapshot, target_id),
	FIELD_NUMBER(2, struct snapshot, time_ns),
	FIELD_NUMBER(3, struct snapshot, elapsed_ns),
	FIELD_NUMBER(4, struct snapshot, interval_ns),
	FIELD_FLAG(5, 0, struct snapshot, final),
	FIELD_FLAG(5, 1, struct snapshot, exited),
	FIELD_FLAG(5, 2, struct snapshot, execed),
	FIELD_FLAG(5, 3, struct snapshot, children_late),
	FIELD_FLAG(5, 4, struct snapshot, window),
	FIELD_FLAG(5, 5, struct snapshot, frees_checked),
	FIELD_FLAG(5, 6, struct snapshot, growth.mmap_traced),
	FIELD_FLAG(5, 7, struct snapshot, scoped),
	FIELD_FLAG(5, 8, struct snapshot, guard.asked),
	FIELD_FLAG(5, 9, struct snapshot, guard.on),
	FIELD_FLAG(5, 10, struct snapshot, guard.no_use_after_free),
	FIELD_NUMBER(6, struct snapshot, sample_bytes),
	FIELD_NUMBER(7, struct snapshot, unknown_frees),
	FIELD_LOST(8, struct snapshot, lost),
	FIELD_LOST_IF_ANY(13, struct snapshot, lost_anywhere),
	FIELD_IF_ANY(9, struct snapshot, memory.rss),
	FIELD_IF_ANY(10, struct snapshot, memory.anon),
	FIELD_IF_ANY(11, struct snapshot, memory.pss),
	FIELD_IF_ANY(14, struct snapshot, growth.anon),
	FIELD_IF_ANY(15, struct snapshot, growth.untraced),
	FIELD_IF_ANY(17, struct snapshot, ages_unread),
	FIELD_IF_ANY(18, struct snapshot, attached),
	FIELD_IF_ANY(19, struct snapshot, arenas.bytes),
	FIELD_IF_ANY(20, struct snapshot, arenas.count),
	FIELD_IF_ANY(21, struct snapshot, heaps.kinds),
	FIELD_IF_ANY(22, struct snapshot, heaps.bytes[UNTRACED_JAVA]),
	FIELD_IF_ANY(23, struct snapshot, heaps.bytes[UNTRACED_V8]),
	FIELD_IF_ANY(24, struct snapshot, heaps.bytes[UNTRACED_GO]),
	FIELD_IF_ANY(26, struct snapshot, peak.bytes),
	FIELD_IF_ANY(27, struct snapshot, peak.time_ns),
	FIELD_IF_ANY(28, struct snapshot, peak.captured_bytes),
	FIELD_IF_ANY(29, struct snapshot, peak.captured_ns),
	FIELD_IF_ANY(30, struct snapshot, peak.captured_error),
	FIELD_IF_ANY(31, struct snapshot, guard.period),
	FIELD_IF_ANY(32, struct snapshot, guard.places),
	FIELD_IF_ANY(33, struct snapshot, guard.in_use),
	FIELD_IF_ANY(34, struct snapshot, guard.guarded),
	FIELD_IF_ANY(35, struct snapshot, guard.freed),
	FIELD_IF_ANY(36, struct snapshot, guard.full),
	FIELD_IF_ANY(37, struct snapshot, guard.passed),
	FIELD_IF_ANY(38, struct snapshot, guard.unfit),
	FIELD_IF_ANY(39, struct snapshot, guard.oldest_free_ms),
	FIELD_IF_ANY(40, struct snapshot, guard.lost),
	FIELD_IF_ANY(42, struct snapshot, guard.amid),
	FIELD_IF_ANY(43, struct snapshot, guard.unseen),
	FIELD_IF_ANY(44, struct snapshot, end.cause),
	FIELD_IF_ANY(45, struct snapshot, end.code),
	FIELD_IF_ANY(46, struct snapshot, end.limit),
	FIELD_IF_ANY(47, struct snapshot, end.sender),
	FIELD_IF_ANY(48, struct snapshot, end.sent),
	FIELD_IF_ANY(51, struct snapshot, growth.space),
	FIELD_IF_ANY(52, struct snapshot, growth.space_resident),
	FIELD_CHARS_IF_ANY(49, struct snapshot, end.sender_comm),
	FIELD_CHARS_IF_ANY(50, struct snapshot, end.cgroup),
	FIELD_FLAG_IF_ANY(25, 0, struct snapshot, figures_kept.lifetimes),
	FIELD_FLAG_IF_ANY(25, 1, struct snapshot, figures_kept.temporary),
	FIELD_FLAG_IF_ANY(25, 2, struct snapshot, figures_kept.peak),
	FIELD_FLAG_IF_ANY(25, 3, struct snapshot, figures_kept.sizes),
	FIELD_FLAG_IF_ANY(25, 4, struct snapshot, figures_kept.usable),
	FIELD_TEXT(16, struct snapshot, growth.where),
	FIELD_STRING(41, struct snapshot, guard.reason),
	{0},
};

/* ---- writing ------------------------------------------------------------------------------ */

static int snapshot_put(struct recording_out *out, struct written_target *t,
			const struct snapshot *s, const uint32_t *numbers)
{
	size_t mark = wire_open(&out->chunk.body, MESSAGE_SNAPSHOT);
	int err = fields_put(out, recording_snapshot_fields, s);

	err = err ? err : recording_put_verdict(out, s, numbers, &t->notes);
	wire_close(&out->chunk.body, mark);
	return err;
}

static const unsigned misuse_messages[] = {
	[MISUSE_BY_CHECK] = MESSAGE_BAD_FREE,
	[MISUSE_BY_GUARD] = MESSAGE_BAD_ACCESS,
};

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
	err = recording_put_target(out, t, s);
	err = err ? err : recording_put_missing(out, &s->missing);
	err = err ? err : recording_put_maps(out, t, s);
	err = err ? err : recording_put_scopes(out, t->id, &t->scopes, s, scopes);
	err = err ? err : recording_put_rows(out, t->id, &t->rows, report, scopes, numbers);
	err = err ? err : recording_put_values(out, t->id, &t->rows, s, numbers);
	for (int i = 0; !err && i < MISUSE_FINDERS; i++) {
		struct misuse_owner owner = {(enum misuse_finder)i, misuse_messages[i], t->id};

		err = recording_put_misuses(out, owner, &t->misuses[i], &report->misuses[i]);
	}
	err = err ? err : fields_name(out, recording_snapshot_fields, s);
	err = err ? err : recording_put_names(out);
	err = err ? err : recording_put_figures(out, t->id, &t->figures, s, numbers);
	err = err ? err : snapshot_put(out, t, s, numbers);
	if (!err && (s->exited || s->execed || s->window))
		written_target_forget(targets, t);
	return err;
}

/* ---- reading ------------------------------------------------------------------------------ */

static struct wire_reader snapshot_verdict(struct wire_reader message)
{
	struct wire_reader verdict = {0};
	struct wire_field f;

	while (wire_next(&message, &f) > 0) {
		if (f.field == SNAPSHOT_VERDICT && f.type == WIRE_BYTES)
			verdict = f.body;
	}
	return verdict;
}

int recording_take_snapshot(struct recording_in *in, struct read_target *t,
			    struct wire_reader message, struct snapshot **out)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	int err = s ? fields_take(in, recording_snapshot_fields, message, s,
				  "a snapshot cannot be read")
		    : -ENOMEM;

	if (!err && !(s->peak.captured_error >= 0))
		err = recording_refuse(in, "a snapshot cannot be read");
	err = err ? err : recording_fill_target(t, s);
	err = err ? err : recording_fill_stacks(in, &t->rows, s);
	err = err ? err : recording_take_verdict(in, snapshot_verdict(message), s, &t->notes);
	if (!err)
		err = recording_fill_figures(&t->figures, s);
	if (!err && s->scoped)
		err = scopes_list_copy(&s->scopes, &t->scopes);
	for (int i = 0; !err && i < MISUSE_FINDERS; i++) {
		if (i == MISUSE_BY_CHECK ? s->frees_checked : s->guard.asked)
			err = recording_fill_misuses(in, &t->misuses[i], &s->misuses[i]);
	}
	if (err) {
		snapshot_free(s);
		return err;
	}
	s->missing = in->missing;
	/* The writer forgets it, too. */
	if (s->exited || s->execed || s->window)
		read_target_release(t);
	*out = s;
	return 0;
}

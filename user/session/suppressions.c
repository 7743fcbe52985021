// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/suppressions.h"

#include <errno.h>
#include <stdio.h>

#include "user/analysis/inlined_operators.h"
#include "user/analysis/leaks.h"
#include "user/base/log.h"
#include "user/session/caller_file.h"

static int suppress_read(struct suppressions *s, const char *path)
{
	FILE *file = caller_file_open(path, "re");
	int err;

	if (!file)
		return log_errno(errno, "cannot open the suppressions in %s", path);
	err = suppressions_read(s, file, path);
	fclose(file);
	return err;
}

int suppress_open(const struct filter_config *config, struct suppressions **out)
{
	struct suppressions *s;
	int err = 0;

	*out = NULL;
	if (!config->suppressions.count && !config->default_suppressions)
		return 0;
	s = suppressions_new();
	if (!s)
		return log_errno(ENOMEM, "no memory for suppressions");
	for (size_t i = 0; !err && i < config->suppressions.count; i++)
		err = suppress_read(s, config->suppressions.items[i]);
	if (!err && config->default_suppressions)
		err = suppressions_add_builtin(s);
	if (err) {
		suppressions_free(s);
		return err;
	}
	*out = s;
	return 0;
}

bool suppress_wanted(const struct filter_config *config, bool judged, const struct suppressions *s,
		     const struct snapshot *snapshot)
{
	return s && (config->suppressions.count || judged ||
		     snapshot->verdict.state != VERDICT_NOT_ASKED);
}

int suppress_stacks(const struct filter_config *config, bool judged, struct suppressions *s,
		    struct report *report)
{
	const struct snapshot *snapshot = report->snapshot;
	int err = suppress_wanted(config, judged, s, snapshot) ? suppressions_apply(s, report) : 0;

	/* Without a verdict nobody knows what is lost. */
	if (!err && config->leak_only && snapshot->verdict.state == VERDICT_TAKEN)
		leaks_hide_others(report);
	return err;
}

static void suppress_bad_frees(struct suppressions *s, struct report *report)
{
	for (size_t i = 0; i < report->snapshot->bad_free_count; i++) {
		struct bad_free *bad = &report->bad_frees[i];
		const struct reported_call *call = &bad->calls[BAD_FREE_NOW];

		bad_free_see_inlined(bad);
		if (s && call->frames && !bad->suppressed)
			bad->suppressed =
				suppressions_match_free(s, call->frames, call->frame_count);
	}
}

/* By the stack of the touch, or of the free that has found it. */
static void suppress_bad_access(struct suppressions *s, struct bad_access *bad)
{
	bool touched = bad->calls[BAD_ACCESS_TOUCH].known;
	const struct reported_call *call =
		&bad->calls[touched ? BAD_ACCESS_TOUCH : BAD_ACCESS_FREE];
	bool free = bad->kind == BAD_ACCESS_DOUBLE_FREE || bad->kind == BAD_ACCESS_INVALID_FREE;

	if (!call->frames)
		return;
	bad->suppressed = free ? suppressions_match_free(s, call->frames, call->frame_count)
			       : suppressions_match_access(s, call->frames, call->frame_count);
}

void suppress_bad_accesses(struct suppressions *s, struct bad_access *list, size_t count)
{
	for (size_t i = 0; s && i < count; i++)
		suppress_bad_access(s, &list[i]);
}

/* They are no leaks, of which only some snapshots are asked. */
void suppress_bad(struct suppressions *s, struct report *report)
{
	suppress_bad_frees(s, report);
	suppress_bad_accesses(s, report->bad_accesses, report->snapshot->bad_access_count);
}

void suppress_close(struct suppressions *s)
{
	if (s)
		suppressions_log_unused(s);
	suppressions_free(s);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/suppressions.h"

#include <errno.h>
#include <stdio.h>

#include "user/analysis/inlined_operators.h"
#include "user/analysis/leaks.h"
#include "user/base/log.h"
#include "user/kernel/caller_file.h"

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

	leaks_find_hanging(report);
	/* Without a verdict nobody knows what is lost. */
	if (!err && config->leak_only && snapshot->verdict.state == VERDICT_TAKEN)
		leaks_hide_others(report);
	return err;
}

/* By the stack of the touch or the free, or of the free that has found it. */
static void suppress_misuse(struct suppressions *s, struct misuse *misuse)
{
	bool now = misuse->calls[MISUSE_CALL_NOW].known;
	const struct reported_call *call = &misuse->calls[now ? MISUSE_CALL_NOW : MISUSE_CALL_FREE];

	misuse_see_inlined(misuse);
	if (!s || !call->frames || misuse->suppressed)
		return;
	misuse->suppressed =
		misuse_is_free(misuse)
			? suppressions_match_free(s, call->frames, call->frame_count)
			: suppressions_match_access(s, call->frames, call->frame_count);
}

void suppress_misuses(struct suppressions *s, struct misuse *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		suppress_misuse(s, &list[i]);
}

/* They are no leaks, of which only some snapshots are asked. */
void suppress_all_misuses(struct suppressions *s, struct report *report)
{
	for (int i = 0; i < MISUSE_FINDERS; i++)
		suppress_misuses(s, report->misuses[i].items, report->misuses[i].count);
}

void suppress_close(struct suppressions *s)
{
	if (s)
		suppressions_log_unused(s);
	suppressions_free(s);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `memleakbpf diff`: what grew between two recordings, or between two times of one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/analysis/diff.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/cli/commands.h"
#include "user/kernel/caller_file.h"
#include "user/session/moment.h"
#include "user/session/output.h"
#include "user/session/suppressions.h"
#include "user/export/export.h"

static int diff_print(const struct replay_config *config, const struct comparison *c)
{
	struct export_options e = {
		.verbose = config->show.verbose,
		.value = config->show.sort == RANK_COUNT ? EXPORT_LIVE_COUNT : EXPORT_LIVE_BYTES,
		.sites = show_sites(&config->show),
		.by = config->show.by,
	};
	FILE *out =
		config->show.output ? caller_file_create(config->show.output, false, NULL) : stdout;
	int err;

	if (!out)
		return -errno;
	e.width = output_width(out);
	err = config->show.output ? caller_file_empty(out, false) : 0;
	err = err ?: config->show.format->compare(out, &e, c, config->show.top);
	if (config->show.output && fclose(out) && !err)
		err = -errno;
	if (err && err != -EPIPE)
		return log_errno(err, "cannot write to %s",
				 config->show.output ? config->show.output : "standard output");
	return 0;
}

static int diff_moments(const struct replay_config *config, struct suppressions *s,
			struct moment *old, struct moment *now)
{
	const struct comparison *c = NULL;
	const struct site_rules sites = show_sites(&config->show);
	struct diff *diff = diff_new(config->show.by, &sites);
	int err = diff ? 0 : -ENOMEM;

	err = err ?: moment_compare(old, &config->filter, s, diff, false);
	err = err ?: moment_compare(now, &config->filter, s, diff, true);
	if (!err)
		c = diff_finish(diff, config->show.sort == RANK_COUNT);
	err = c ? diff_print(config, c) : log_errno(ENOMEM, "comparing");
	diff_free(diff);
	return err;
}

/* A program that was restarted in between has another number: then its name counts. */
static int diff_read_alike(const struct replay_config *config, struct moment *old,
			   struct moment *now)
{
	bool is_old = !old->count;

	if (config->file_count == 1 || !config->pids.count || !old->count == !now->count ||
	    !strcmp(config->files[is_old ? 0 : 1], "-"))
		return 0;
	return moment_read_alike(is_old ? old : now, config->files[is_old ? 0 : 1], config,
				 is_old ? "--from" : "--to", is_old ? now : old);
}

int cmd_diff(const union command_config *command)
{
	const struct replay_config *config = &command->replay;
	const struct replay_time *from = &config->times.from;
	bool one = config->file_count == 1;
	struct moment old = {0}, now = {0};
	struct suppressions *suppressions;
	int err = suppress_open(&config->filter, &suppressions);

	err = err ?: moment_read(&old, config->files[0], config, "--from", one && !from->given);
	err = err ?: moment_read(&now, config->files[one ? 0 : 1], config, "--to", false);
	err = err ?: diff_read_alike(config, &old, &now);
	if (!err && old.count && now.count && !old.inspection_count != !now.inspection_count)
		err = log_errno(
			EINVAL,
			"one of the recordings is of inspect, and the other one is of what was "
			"traced: they cannot be compared");
	if (!err && old.count && now.count && old.surveyed != now.surveyed)
		err = log_errno(EINVAL,
				"one of the recordings is of a survey, and the other one is "
				"not: they cannot be compared");
	if (!err && (!old.count || !now.count))
		source_recording_say_nothing((!old.count ? &old : &now)->recording,
					     config->files[one || !old.count ? 0 : 1]);
	if (!err)
		err = diff_moments(config, suppressions, &old, &now);
	suppress_close(suppressions);
	moment_release(&old);
	moment_release(&now);
	return err ? 1 : 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `memleakbpf diff`: what grew between two recordings, or between two times of one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/analysis/diff.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/cli/commands.h"
#include "user/session/playback.h"
#include "user/session/suppressions.h"
#include "user/export/export.h"

/* One snapshot per process. */
struct moment {
	struct snapshot **snapshots;
	size_t count;
};

static void moment_free(struct moment *m)
{
	for (size_t i = 0; i < m->count; i++)
		snapshot_free(m->snapshots[i]);
	free(m->snapshots);
}

static struct snapshot **find(const struct moment *m, uint32_t target_id)
{
	for (size_t i = 0; i < m->count; i++) {
		if (m->snapshots[i]->target_id == target_id)
			return &m->snapshots[i];
	}
	return NULL;
}

/* Takes the snapshot over, in place of the process's earlier one. */
static int put(struct moment *m, struct snapshot *s)
{
	struct snapshot **old = find(m, s->target_id), **grown;

	if (old) {
		snapshot_free(*old);
		*old = s;
		return 0;
	}
	grown = reallocarray(m->snapshots, m->count + 1, sizeof(struct snapshot *));
	if (!grown) {
		snapshot_free(s);
		return log_errno(ENOMEM, "reading a recording");
	}
	m->snapshots = grown;
	grown[m->count++] = s;
	return 0;
}

/* What became another program has no memory any more that could be compared. */
static void drop_execed(struct moment *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->count; i++) {
		if (m->snapshots[i]->execed)
			snapshot_free(m->snapshots[i]);
		else
			m->snapshots[n++] = m->snapshots[i];
	}
	m->count = n;
}

/*
 * The last snapshots until `time`; without one, of the whole recording. With `first`, the first
 * ones.
 */
static int read_moment(const char *path, const struct replay_config *config,
		       const struct replay_time *time, bool first, struct playback **playback,
		       struct moment *m)
{
	struct snapshot *s;
	int got, err = playback_open(path, config, playback);

	if (err)
		return err;
	while (!err && (got = playback_next(*playback, config, &s)) > 0) {
		bool late = time->given && s->time_ns > playback_time(*playback, time);

		if (late || (first && find(m, s->target_id)))
			snapshot_free(s);
		else
			err = put(m, s);
	}
	drop_execed(m);
	return err ? err : got;
}

static int print(const struct replay_config *config, const struct comparison *c)
{
	const struct export_options e = {
		.verbose = config->show.verbose,
		.value = config->show.sort == RANK_COUNT ? EXPORT_LIVE_COUNT : EXPORT_LIVE_BYTES,
	};
	FILE *out = config->show.output ? fopen(config->show.output, "we") : stdout;
	int err;

	if (!out)
		return log_errno(errno, "cannot open %s for writing", config->show.output);
	err = config->show.format->compare(out, &e, c, config->show.top);
	if (config->show.output && fclose(out) && !err)
		err = -errno;
	if (err && err != -EPIPE)
		return log_errno(err, "cannot write to %s",
				 config->show.output ? config->show.output : "standard output");
	return 0;
}

static int add_moment(const struct replay_config *config, struct suppressions *s, struct diff *diff,
		      const struct moment *m, bool is_new)
{
	int err = 0;

	for (size_t i = 0; !err && i < m->count; i++) {
		err = suppress_snapshot(&config->filter, false, s, m->snapshots[i]);
		err = err ?: diff_add(diff, m->snapshots[i], is_new);
	}
	return err;
}

static int compare(const struct replay_config *config, struct suppressions *s,
		   const struct moment *old, const struct moment *now)
{
	const struct comparison *c = NULL;
	struct diff *diff = diff_new();
	int err = diff ? 0 : -ENOMEM;

	err = err ?: add_moment(config, s, diff, old, false);
	err = err ?: add_moment(config, s, diff, now, true);
	if (!err)
		c = diff_finish(diff, config->show.sort == RANK_COUNT);
	err = c ? print(config, c) : log_errno(ENOMEM, "comparing");
	diff_free(diff);
	return err;
}

int cmd_diff(const union command_config *command)
{
	const struct replay_config *config = &command->replay;
	bool one = config->file_count == 1;
	struct playback *playbacks[2] = {NULL, NULL};
	struct moment old = {0}, now = {0};
	struct suppressions *suppressions;
	int err = suppress_open(&config->filter, &suppressions);

	err = err
		      ?: read_moment(config->files[0], config, &config->times.from,
				     one && !config->times.from.given, &playbacks[0], &old);

	if (!err)
		err = read_moment(config->files[one ? 0 : 1], config, &config->times.to, false,
				  &playbacks[1], &now);
	if (!err && (!old.count || !now.count))
		log_warn("%s: no snapshot of that time and process",
			 config->files[one || !old.count ? 0 : 1]);
	if (!err)
		err = compare(config, suppressions, &old, &now);
	suppress_close(suppressions);
	moment_free(&old);
	moment_free(&now);
	playback_free(playbacks[0]);
	playback_free(playbacks[1]);
	return err ? 1 : 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/playback.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/log.h"

struct playback {
	FILE *file;
	struct recording_reader *reader;
};

static bool is_output(FILE *file, const char *output)
{
	struct stat input, written;

	return output && !fstat(fileno(file), &input) && S_ISREG(input.st_mode) &&
	       !stat(output, &written) && input.st_dev == written.st_dev &&
	       input.st_ino == written.st_ino;
}

int playback_open(const char *path, const struct replay_config *config, struct playback **out)
{
	struct playback *p = calloc(1, sizeof(*p));
	int err = 0;

	if (!p)
		return log_errno(ENOMEM, "%s", path);
	p->file = strcmp(path, "-") != 0 ? fopen(path, "re") : stdin;
	if (!p->file)
		err = log_errno(errno, "cannot open %s", path);
	if (!err && is_output(p->file, config->show.output)) {
		log_error("-o %s is the recording that is to be read; give another file",
			  config->show.output);
		err = -EINVAL;
	}
	if (!err)
		err = recording_reader_new(p->file, path, &p->reader);
	if (err) {
		playback_free(p);
		return err;
	}
	*out = p;
	return 0;
}

void playback_free(struct playback *p)
{
	if (!p)
		return;
	recording_reader_free(p->reader);
	if (p->file && p->file != stdin)
		fclose(p->file);
	free(p);
}

bool playback_wants(const struct replay_config *config, pid_t pid)
{
	for (size_t i = 0; i < config->pids.count; i++) {
		if (config->pids.pids[i] == pid)
			return true;
	}
	return !config->pids.count;
}

int playback_next_any(struct playback *p, const struct replay_config *config, struct snapshot **out,
		      const struct survey_report **survey)
{
	struct recording_item item;
	int got;

	while ((got = recording_reader_next(p->reader, &item)) > 0) {
		if (item.survey || playback_wants(config, item.snapshot->pid))
			break;
		snapshot_free(item.snapshot);
		item.snapshot = NULL;
	}
	*out = item.snapshot;
	*survey = item.survey;
	return got;
}

int playback_next(struct playback *p, const struct replay_config *config, struct snapshot **out)
{
	const struct survey_report *survey;
	int got;

	do
		got = playback_next_any(p, config, out, &survey);
	while (got > 0 && survey);
	return got;
}

const struct recording_info *playback_info(const struct playback *p)
{
	return recording_reader_info(p->reader);
}

uint64_t playback_time(const struct playback *p, const struct replay_time *time)
{
	return time->absolute ? time->ns : recording_reader_beginning(p->reader) + time->ns;
}

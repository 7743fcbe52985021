// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/source_recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/session/caller_file.h"

/* So many processes are named where none of them is wanted. */
#define SOURCE_PASSED_MAX 8

struct source_recording {
	struct source source;
	const struct replay_config *config;
	FILE *file;
	struct recording_reader *reader;
	uint64_t last_ns; /* of all that has been read, shown or not */
	struct {
		pid_t pid;
		char comm[17];
	} passed[SOURCE_PASSED_MAX]; /* processes that are not wanted, for a message */
	size_t passed_count;
	bool wanted_seen, passed_more;
};

static bool source_recording_is_output(FILE *file, const char *output)
{
	struct stat input, written;

	return output && !fstat(fileno(file), &input) && S_ISREG(input.st_mode) &&
	       !stat(output, &written) && input.st_dev == written.st_dev &&
	       input.st_ino == written.st_ino;
}

static bool source_recording_shows(const struct source *source, uint64_t time_ns)
{
	const struct source_recording *p = (const struct source_recording *)source;
	const struct replay_time *from = &p->config->times.from;

	return !from->given || time_ns >= source_recording_time(p, from);
}

int source_recording_open(const char *path, const struct replay_config *config,
			  struct source_recording **out)
{
	static const struct source_ops ops = {.shows = source_recording_shows};
	struct source_recording *p = calloc(1, sizeof(*p));
	int err = 0;

	if (!p)
		return log_errno(ENOMEM, "%s", path);
	p->source.ops = &ops;
	p->config = config;
	p->file = strcmp(path, "-") != 0 ? caller_file_open(path, "re") : stdin;
	if (!p->file)
		err = log_errno(errno, "cannot open %s", path);
	if (!err && source_recording_is_output(p->file, config->show.output)) {
		log_error("-o %s is the recording that is to be read; give another file",
			  config->show.output);
		err = -EINVAL;
	}
	if (!err)
		err = recording_reader_new(p->file, path, &p->reader);
	if (err) {
		source_recording_free(p);
		return err;
	}
	*out = p;
	return 0;
}

void source_recording_free(struct source_recording *p)
{
	if (!p)
		return;
	recording_reader_free(p->reader);
	if (p->file && p->file != stdin)
		fclose(p->file);
	free(p);
}

bool source_recording_wants(const struct replay_config *config, pid_t pid)
{
	for (size_t i = 0; i < config->pids.count; i++) {
		if (config->pids.pids[i] == pid)
			return true;
	}
	return !config->pids.count;
}

static void source_recording_pass(struct source_recording *p, pid_t pid, const char *comm,
				  size_t comm_size)
{
	for (size_t i = 0; i < p->passed_count; i++) {
		if (p->passed[i].pid == pid)
			return;
	}
	if (p->passed_count == SOURCE_PASSED_MAX) {
		p->passed_more = true;
		return;
	}
	p->passed[p->passed_count].pid = pid;
	snprintf(p->passed[p->passed_count].comm, sizeof(p->passed[0].comm), "%.*s", (int)comm_size,
		 comm);
	p->passed_count++;
}

/* Of the item: is it one of the wanted? */
static bool source_recording_note(struct source_recording *p, const struct recording_item *item)
{
	const struct snapshot *s = item->snapshot;
	const struct inspection *i = item->inspection;

	if (item->time_ns > p->last_ns)
		p->last_ns = item->time_ns;
	if (item->survey || source_recording_wants(p->config, s ? s->pid : i->pid)) {
		p->wanted_seen = true;
		return true;
	}
	if (s)
		source_recording_pass(p, s->pid, s->comm, sizeof(s->comm));
	else
		source_recording_pass(p, i->pid, i->comm, sizeof(i->comm));
	return false;
}

int source_recording_next_any(struct source_recording *p, struct recording_item *item)
{
	int got;

	while ((got = recording_reader_next(p->reader, item)) > 0) {
		if (source_recording_note(p, item))
			break;
		snapshot_free(item->snapshot);
		inspection_free(item->inspection);
		*item = (struct recording_item){0};
	}
	return got;
}

int source_recording_next(struct source_recording *p, struct snapshot **out)
{
	struct recording_item item;
	int got;

	do {
		got = source_recording_next_any(p, &item);
		inspection_free(item.inspection);
	} while (got > 0 && !item.snapshot);
	*out = item.snapshot;
	return got;
}

const struct source *source_recording_source(const struct source_recording *p)
{
	return &p->source;
}

const struct recording_info *source_recording_info(const struct source_recording *p)
{
	return recording_reader_info(p->reader);
}

uint64_t source_recording_time(const struct source_recording *p, const struct replay_time *time)
{
	return time->absolute ? time->ns : recording_reader_beginning(p->reader) + time->ns;
}

bool source_recording_is_late(const struct source_recording *p, const struct replay_time *time,
			      uint64_t taken_ns, uint64_t before_ns)
{
	return time->given && taken_ns - before_ns / 2 > source_recording_time(p, time);
}

bool source_recording_snapshot_is_late(const struct source_recording *p,
				       const struct replay_time *time, const struct snapshot *s)
{
	return source_recording_is_late(p, time, s->time_ns, s->interval_ns ?: s->elapsed_ns);
}

bool source_recording_say_beyond(const struct source_recording *p, const char *option,
				 const struct replay_time *time)
{
	uint64_t beginning = recording_reader_beginning(p->reader);

	if (!time->given || !p->last_ns || p->last_ns < beginning ||
	    source_recording_time(p, time) <= p->last_ns)
		return false;
	log_warn("%s: is beyond the recording, which ends at %.3f s", option,
		 (double)(p->last_ns - beginning) / NS_PER_S);
	return true;
}

void source_recording_say_nothing(const struct source_recording *p, const char *path)
{
	const struct replay_times *times = &p->config->times;
	char text[SOURCE_PASSED_MAX * 32] = "";
	size_t used = 0;

	if (!p->last_ns) {
		log_warn("%s: no snapshot is in it", path);
		return;
	}
	for (size_t i = 0; i < p->passed_count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d (%s)",
					 i ? ", " : "", (int)p->passed[i].pid, p->passed[i].comm);
	if (!p->wanted_seen)
		log_warn("%s: no snapshot of that process; it has those of %s%s", path, text,
			 p->passed_more ? " and others" : "");
	else if (!source_recording_say_beyond(p, "--from", &times->from))
		log_warn("%s: no snapshot of that time and process", path);
}

void source_recording_say_found(const struct source_recording *p, const char *option,
				const struct replay_time *time, uint64_t first_ns, uint64_t last_ns)
{
	uint64_t beginning = recording_reader_beginning(p->reader);

	if (!time->given || !first_ns || first_ns < beginning)
		return;
	if (last_ns - first_ns < NS_PER_MS)
		log_info("%s: the snapshot at %.3f s", option,
			 (double)(first_ns - beginning) / NS_PER_S);
	else
		log_info("%s: snapshots from %.3f to %.3f s", option,
			 (double)(first_ns - beginning) / NS_PER_S,
			 (double)(last_ns - beginning) / NS_PER_S);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/source_recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/kernel/caller_file.h"

/* So many processes are named in a message when none of them is wanted. */
#define SOURCE_PASSED_MAX 8

struct source_recording {
	struct source source;
	const struct replay_config *config;
	FILE *file;
	struct recording_reader *reader;
	uint64_t last_ns; /* of all snapshots read, shown or not */
	struct {
		pid_t pid;
		char comm[17];
	} passed[SOURCE_PASSED_MAX]; /* processes that are not wanted, for a message */
	size_t passed_count;
	bool wanted_seen, passed_more;
	size_t missing_said;
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
	const struct source_recording *r = (const struct source_recording *)source;
	const struct replay_time *from = &r->config->times.from;

	return !from->given || time_ns >= source_recording_time(r, from);
}

int source_recording_open(const char *path, const struct replay_config *config,
			  struct source_recording **out)
{
	static const struct source_ops ops = {.shows = source_recording_shows};
	struct source_recording *r = calloc(1, sizeof(*r));
	int err = 0;

	if (!r)
		return log_errno(ENOMEM, "%s", path);
	r->source.ops = &ops;
	r->config = config;
	r->file = strcmp(path, "-") != 0 ? caller_file_open(path, "re") : stdin;
	if (!r->file)
		err = log_errno(errno, "cannot open %s", path);
	if (!err && source_recording_is_output(r->file, config->show.output)) {
		log_error("-o %s is the recording that is to be read; give another file",
			  config->show.output);
		err = -EINVAL;
	}
	if (!err)
		err = recording_reader_new(r->file, path, &r->reader);
	if (err) {
		source_recording_free(r);
		return err;
	}
	*out = r;
	return 0;
}

void source_recording_free(struct source_recording *r)
{
	if (!r)
		return;
	recording_reader_free(r->reader);
	if (r->file && r->file != stdin)
		fclose(r->file);
	free(r);
}

bool source_recording_wants(const struct replay_config *config, pid_t pid,
			    const char comm[static 16])
{
	for (size_t i = 0; i < config->names.count; i++) {
		if (!strncmp(config->names.items[i], comm, 16))
			return true;
	}
	if (config->names.count)
		return false;
	for (size_t i = 0; i < config->pids.count; i++) {
		if (config->pids.pids[i] == pid)
			return true;
	}
	return !config->pids.count;
}

static void source_recording_pass(struct source_recording *r, pid_t pid, const char *comm,
				  size_t comm_size)
{
	for (size_t i = 0; i < r->passed_count; i++) {
		if (r->passed[i].pid == pid)
			return;
	}
	if (r->passed_count == SOURCE_PASSED_MAX) {
		r->passed_more = true;
		return;
	}
	r->passed[r->passed_count].pid = pid;
	snprintf(r->passed[r->passed_count].comm, sizeof(r->passed[0].comm), "%.*s", (int)comm_size,
		 comm);
	r->passed_count++;
}

/* Notes the item. Is its process wanted? */
static bool source_recording_note(struct source_recording *r, const struct recording_item *item)
{
	const struct snapshot *s = item->snapshot;
	const struct inspection *i = item->inspection;

	if (item->time_ns > r->last_ns)
		r->last_ns = item->time_ns;
	if (item->survey ||
	    source_recording_wants(r->config, s ? s->pid : i->pid, s ? s->comm : i->comm)) {
		r->wanted_seen = true;
		return true;
	}
	if (s)
		source_recording_pass(r, s->pid, s->comm, sizeof(s->comm));
	else
		source_recording_pass(r, i->pid, i->comm, sizeof(i->comm));
	return false;
}

/* Where it was recorded; as it was said there. */
static void source_recording_say_missing(struct source_recording *r,
					 const struct recording_item *item)
{
	const struct missing_parts *missing = item->snapshot ? &item->snapshot->missing
					      : item->survey ? &item->survey->missing
							     : NULL;

	for (; missing && r->missing_said < missing->count; r->missing_said++) {
		const struct missing_part *part = &missing->parts[r->missing_said];

		log_info("where this was recorded the kernel refused %s: %s", part->why,
			 part->costs);
	}
}

int source_recording_next_any(struct source_recording *r, struct recording_item *item)
{
	int got;

	while ((got = recording_reader_next(r->reader, item)) > 0) {
		source_recording_say_missing(r, item);
		if (source_recording_note(r, item))
			break;
		snapshot_free(item->snapshot);
		inspection_free(item->inspection);
		*item = (struct recording_item){0};
	}
	return got;
}

int source_recording_next(struct source_recording *r, struct snapshot **out)
{
	struct recording_item item;
	int got;

	do {
		got = source_recording_next_any(r, &item);
		inspection_free(item.inspection);
	} while (got > 0 && !item.snapshot);
	*out = item.snapshot;
	return got;
}

const struct source *source_recording_source(const struct source_recording *r)
{
	return &r->source;
}

const struct recording_info *source_recording_info(const struct source_recording *r)
{
	return recording_reader_info(r->reader);
}

uint64_t source_recording_time(const struct source_recording *r, const struct replay_time *time)
{
	return time->absolute ? time->ns : recording_reader_beginning(r->reader) + time->ns;
}

bool source_recording_is_late(const struct source_recording *r, const struct replay_time *time,
			      uint64_t taken_ns, uint64_t before_ns)
{
	return time->given && taken_ns - before_ns / 2 > source_recording_time(r, time);
}

bool source_recording_snapshot_is_late(const struct source_recording *r,
				       const struct replay_time *time, const struct snapshot *s)
{
	return source_recording_is_late(r, time, s->time_ns, s->interval_ns ?: s->elapsed_ns);
}

bool source_recording_say_beyond(const struct source_recording *r, const char *option,
				 const struct replay_time *time)
{
	uint64_t beginning = recording_reader_beginning(r->reader);

	if (!time->given || !r->last_ns || r->last_ns < beginning ||
	    source_recording_time(r, time) <= r->last_ns)
		return false;
	log_warn("%s: is beyond the recording, which ends at %.3f s", option,
		 (double)(r->last_ns - beginning) / NS_PER_S);
	return true;
}

void source_recording_say_nothing(const struct source_recording *r, const char *path)
{
	const struct replay_times *times = &r->config->times;
	char text[SOURCE_PASSED_MAX * 32] = "";
	size_t used = 0;

	if (!r->last_ns) {
		log_warn("%s: no snapshot is in it", path);
		return;
	}
	for (size_t i = 0; i < r->passed_count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d (%s)",
					 i ? ", " : "", (int)r->passed[i].pid, r->passed[i].comm);
	if (!r->wanted_seen)
		log_warn("%s: no snapshot of that process; it has those of %s%s", path, text,
			 r->passed_more ? " and others" : "");
	else if (!source_recording_say_beyond(r, "--from", &times->from))
		log_warn("%s: no snapshot of that time and process", path);
}

void source_recording_say_found(const struct source_recording *r, const char *option,
				const struct replay_time *time, uint64_t first_ns, uint64_t last_ns)
{
	uint64_t beginning = recording_reader_beginning(r->reader);

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

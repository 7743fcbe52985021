// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Saves a watched process: a snapshot, or a recording of all snapshots to come. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/export/export.h"
#include "user/live/watcher_internal.h"
#include "user/session/output.h"

static void watcher_file_name(const struct watcher *w, char *name, size_t size)
{
	time_t now = time(NULL);
	struct stat st;
	struct tm tm;
	char when[32] = "";

	if (localtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y%m%dT%H%M%S", &tm);
	snprintf(name, size, "memleakbpf-%d-%s.mlb", (int)w->pid, when);
	/* There is one of the same second. */
	for (unsigned n = 2; !lstat(name, &st) && n < 100; n++)
		snprintf(name, size, "memleakbpf-%d-%s-%u.mlb", (int)w->pid, when, n);
}

/* NULL: it cannot be written, which is only logged. */
static struct output *watcher_open(const char *name)
{
	const struct show_config show = {
		.format = &export_recording, .output = name, .viewed = true};
	struct output *output = NULL;
	int err = output_open(&show, false, 0, false, false, &output);

	if (!err)
		return output;
	log_warn("not saved: the working directory takes no file (%s); start top in another",
		 strerror(-err));
	return NULL;
}

/* It is the first snapshot of its file. */
static int watcher_write_first(struct output *output, const struct report *r)
{
	struct snapshot snapshot = *r->snapshot;
	struct report alone = *r;

	snapshot.interval_ns = 0;
	alone.snapshot = &snapshot;
	return output_report(output, &alone, NULL, 0);
}

static void watcher_write(const struct report *r, const char *name)
{
	struct output *output = watcher_open(name);

	if (!output)
		return;
	watcher_write_first(output, r);
	if (!output_close(output))
		log_info("saved: memleakbpf report %s", name);
}

/* Saves the visible snapshot. */
int watcher_save(struct watcher *w)
{
	const struct report *r = watcher_report(w);
	char name[64];
	int err;

	if (!r)
		return 0;
	watcher_file_name(w, name, sizeof(name));
	w->on_busy(w->on_busy_ctx, "saving a snapshot");
	err = pipeline_describe_all(session_pipeline(w->session), w->target_id);
	if (!err)
		watcher_write(r, name);
	w->on_busy(w->on_busy_ctx, NULL);
	return err;
}

/* ---- recordings --------------------------------------------------------------------------- */

void watcher_record_end(struct watcher *w)
{
	if (!w->recording)
		return;
	if (!output_close(TAKE_PTR(w->recording)))
		log_info("recorded: memleakbpf report %s", w->recording_name);
	w->changed = true;
}

static int watcher_record_begin(struct watcher *w)
{
	const struct report *r = watcher_report(w);
	int err;

	if (!r)
		return 0;
	watcher_file_name(w, w->recording_name, sizeof(w->recording_name));
	w->recording = watcher_open(w->recording_name);
	if (!w->recording)
		return 0;
	log_info("recording into %s; s and r end it", w->recording_name);
	err = pipeline_describe_all(session_pipeline(w->session), w->target_id);
	if (!err && watcher_write_first(w->recording, r))
		watcher_record_end(w);
	return err;
}

int watcher_record(struct watcher *w)
{
	if (!w->recording)
		return watcher_record_begin(w);
	watcher_record_end(w);
	return 0;
}

int watcher_record_more(struct watcher *w)
{
	const struct report *r = w->recording ? watcher_report(w) : NULL;
	int err = r ? pipeline_describe_all(session_pipeline(w->session), w->target_id) : 0;

	/* A failed write has been logged, and the written part can be read. */
	if (r && !err && output_report(w->recording, r, NULL, 0))
		watcher_record_end(w);
	return err;
}

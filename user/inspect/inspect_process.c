// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/base/log.h"
#include "user/inspect/inspect_source.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/freeze/resident.h"
#include "user/process/memory.h"
#include "user/process/proc.h"

/* A process that becomes another program each time that it is looked at is not worth more. */
#define SOURCE_TRIES 5

struct source_copy {
	struct inspect_source *out;
	struct freeze *freeze;
};

/* ---- what the kernel says ----------------------------------------------------------------- */

static int source_count_run(void *ctx, uint64_t start, uint64_t end)
{
	uint64_t *bytes = ctx;

	*bytes += end - start;
	return 0;
}

/* Data of objects, and what of their other segments was written to: relocations, mostly. */
static int source_count_file_private(pid_t pid, uint64_t *bytes, char reason[static REASON_MAX])
{
	struct resident *resident;
	struct maps *maps = NULL;
	int err = resident_open(pid, &resident);

	if (err)
		return refuse(reason, err, "its memory cannot be looked at");
	err = maps_read(pid, &maps);
	for (size_t i = 0; !err && i < maps_count(maps); i++) {
		const struct mapping *m = maps_at(maps, i);

		if (m->ino && !m->shared)
			err = resident_scan(resident, m->start, m->end, true, source_count_run,
					    bytes);
	}
	maps_free(maps);
	resident_close(resident);
	return err ? refuse(reason, err, "its memory cannot be looked at") : 0;
}

int inspect_source_begin(pid_t pid, struct object_cache *objects, struct inspect_source *out,
			 char reason[static REASON_MAX])
{
	int err;

	*out = (struct inspect_source){
		.pid = pid,
		/* First: all else is of that program, if it is still the same when it stands still. */
		.program = proc_program(pid),
		.objects = objects ?: object_cache_new(),
		.objects_lent = objects != NULL,
	};
	if (!out->objects)
		return refuse(reason, -ENOMEM, "no memory");
	if (proc_comm(pid, out->comm) || proc_cmdline(pid, &out->cmdline))
		out->cmdline = NULL;
	if (proc_entry(pid, &out->entry))
		out->entry = 0;
	err = source_count_file_private(pid, &out->file_private, reason);
	if (err)
		inspect_source_release(out);
	return err;
}

/* 0 or -ESTALE. Of one that has ended nothing is said here. */
static int source_check_program(const struct inspect_source *source, char reason[static REASON_MAX])
{
	uint64_t now = proc_program(source->pid);

	return source->program && now && now != source->program
		       ? refuse(reason, -ESTALE, "it has become another program meanwhile")
		       : 0;
}

int inspect_source_moment(struct inspect_source *out, char reason[static REASON_MAX])
{
	struct proc_usage usage;
	int err = proc_usage(out->pid, &usage);

	if (err)
		return refuse(reason, err, "the kernel does not say how much memory it has");
	err = source_check_program(out, reason);
	if (err)
		return err;
	out->time_ns = clock_ns(CLOCK_REALTIME);
	out->rss_anon = usage.anon;
	out->swap = usage.swap;
	out->shmem = usage.shmem;
	return 0;
}

/* The kernel's numbers are those of the moment, too. */
static int source_stopped(void *ctx, const struct stop *stop, char reason[static REASON_MAX])
{
	(void)stop;
	return inspect_source_moment(((struct source_copy *)ctx)->out, reason);
}

/* ---- copying ------------------------------------------------------------------------------ */

static void source_not_by_fork(const struct inspect_source *out, const char *why)
{
	log_debug("process %d stands still while it is read, a copy by fork is not possible: %s",
		  (int)out->pid, why);
}

static void source_forked(void *ctx, int err, const char *reason)
{
	if (err)
		source_not_by_fork(((struct source_copy *)ctx)->out, reason);
}

static void source_log_pause(const struct inspect_source *out, const struct freeze_account *a)
{
	log_debug("pause of %d: %.1f ms, %.1f ms of it to stop %zu threads, %.1f ms to fork; "
		  "%zu MiB read after %.1f ms",
		  (int)out->pid, (double)a->pause_ns / NS_PER_MS, (double)a->stop_ns / NS_PER_MS,
		  a->threads, (double)a->fork_ns / NS_PER_MS, (size_t)(a->read_bytes >> 20),
		  (double)a->memory_ns / NS_PER_MS);
}

static int source_run(struct source_copy *c, const struct inspect_copying *how,
		      struct freeze_forks *forks, char reason[static REASON_MAX])
{
	const struct freeze_hooks hooks = {
		.ctx = c,
		.stopped = source_stopped,
		.forked = source_forked,
	};
	const struct freeze_account *a;
	struct inspect_source *out = c->out;
	char why[REASON_MAX];
	int err, changed;

	if (how->by_fork && freeze_by_fork(c->freeze, forks, why))
		source_not_by_fork(out, why);
	err = freeze_run(c->freeze, how->max_pause_ns, NULL, &hooks, reason);
	/* Before it stood still, or before all had been read, which may be later than the pause. */
	changed = err ? source_check_program(out, reason) : 0;
	if (err)
		return changed ?: err;
	a = freeze_account(c->freeze);
	source_log_pause(out, a);
	out->pause_ns = a->pause_ns;
	out->read_bytes = a->read_bytes;
	out->unread_bytes = a->unread_bytes;
	out->approximate = a->approximate;
	out->memory = freeze_take_memory(c->freeze);
	return 0;
}

static int source_copy(pid_t pid, const struct inspect_copying *how, struct freeze_forks *forks,
		       struct inspect_source *out, char reason[static REASON_MAX])
{
	struct source_copy c = {.out = out};
	int err = inspect_source_begin(pid, how->objects, out, reason);

	if (err)
		return err;
	err = freeze_new(pid, &c.freeze, reason);
	err = err ?: source_run(&c, how, forks, reason);
	freeze_free(c.freeze);
	if (err)
		inspect_source_release(out);
	return err;
}

int inspect_copy_process(pid_t pid, const struct inspect_copying *how, struct freeze_forks *forks,
			 struct inspect_source *out, char reason[static REASON_MAX])
{
	int err = -ESTALE;

	for (int tries = 0; err == -ESTALE && tries < SOURCE_TRIES; tries++)
		err = source_copy(pid, how, forks, out, reason);
	return err;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * All work that can be done before or after the stop is done then; with a fork even the reading is
 * done after it.
 */
#include "user/freeze/freeze.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/freeze/forkcopy.h"
#include "user/freeze/memory_copy.h"
#include "user/freeze/run_first.h"
#include "user/process/cgroup.h"
#include "user/process/memory.h"
#include "user/process/proc.h"

/*
 * If the process went on by itself, the rest is read while it runs, as when the pause is over. But
 * not when we have not run for so long: that would be no verdict of any moment.
 */
#define ABSENT_NS NS_PER_S

/* Between two looks at threads that were left asleep. */
#define SLEEPERS_NS NS_PER_MS

/* How long a process that is ending is held: until all has been read, unless something is wrong. */
#define HELD_NS (60 * NS_PER_S)

/* How long process 1, or a subreaper, may take to bury the fork of an earlier time. */
#define BURIAL_NS (10 * NS_PER_S)

struct freeze {
	pid_t pid;
	struct memory_copy copy;
	struct freeze_hooks hooks;
	struct stop *stop;
	uint64_t deadline_ns, stopped_ns;
	uint64_t looked_ns; /* at the threads that were left asleep */
	bool disturbed;	    /* one of them has run: the memory read is of several moments */
	bool absent;	    /* we did not run while it stood still, and it went on */

	struct freeze_forks *forks; /* NULL: it is read as it stands */
	struct call_code code;
	bool released; /* the process has gone on: we read its fork now */
	struct freeze_account account;
};

int freeze_new(pid_t pid, struct freeze **out, char reason[static REASON_MAX])
{
	struct freeze *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return refuse(reason, -ENOMEM, "no memory");
	f->pid = pid;
	err = memory_copy_reserve(&f->copy, pid, reason);
	if (err)
		freeze_free(f);
	else
		*out = f;
	return err;
}

void freeze_free(struct freeze *f)
{
	if (!f)
		return;
	stop_free(f->stop);
	memory_copy_release(&f->copy);
	free(f);
}

/* ---- by a fork ---------------------------------------------------------------------------- */

/* Is there memory for the new pages that the process takes by writing while the fork lives? */
static bool freeze_memory_is_left(const struct freeze *f)
{
	struct cgroup *cgroup = calloc(1, sizeof(*cgroup));
	uint64_t left = UINT64_MAX;
	bool enough = !machine_memory_left(&left) && left / 4 * 3 >= 2 * f->copy.measured;
	struct cgroup_memory group;

	if (enough && cgroup && !cgroup_read(f->pid, cgroup) && !cgroup_memory_left(cgroup, &group))
		enough = group.left >= f->copy.measured;
	free(cgroup);
	return enough;
}

/* The forks of earlier times must not pile up as zombies. */
static bool freeze_are_buried(struct freeze_forks *forks)
{
	struct proc_stat stat;

	if (!forks->made_ns || proc_stat(forks->watched, &stat) || stat.state != 'Z') {
		forks->made_ns = 0;
		return true;
	}
	return monotonic_ns() - forks->made_ns < BURIAL_NS;
}

int freeze_by_fork(struct freeze *f, struct freeze_forks *forks, char reason[static REASON_MAX])
{
	int err;

	if (!freeze_memory_is_left(f))
		return refuse(reason, -ENOMEM,
			      "there is no memory left for what it writes meanwhile");
	if (!freeze_are_buried(forks))
		return refuse(reason, -EAGAIN,
			      "who inherits its orphans (process 1 of its container, or a "
			      "subreaper) does not wait for them");
	err = forkcopy_prepare(f->pid, &f->code, reason);
	if (!err)
		f->forks = forks;
	return err;
}

static int freeze_make_fork(struct freeze *f)
{
	struct freeze_account *a = &f->account;
	uint64_t start = monotonic_ns();
	char why[REASON_MAX] = "";
	int err = f->hooks.forking ? f->hooks.forking(f->hooks.ctx, why) : 0;

	err = err ?: stop_copy(f->stop, &f->code, f->deadline_ns, &a->fork, why);
	if (f->hooks.forked)
		f->hooks.forked(f->hooks.ctx, err, why);
	if (err) {
		f->forks = NULL;
		return err;
	}
	if (!f->forks->made_ns) {
		f->forks->made_ns = monotonic_ns();
		f->forks->watched = a->fork;
	}
	a->fork_ns = monotonic_ns() - start;
	return 0;
}

/*
 * If memory runs out while both exist, the kernel shall end the copy and not the process, which is
 * as large.
 */
static void freeze_offer_fork(pid_t fork)
{
	static const char first[] = "1000"; /* proc_pid_oom_score_adj(5) */
	_cleanup_close_ int file = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)fork);
	file = open(path, O_WRONLY | O_CLOEXEC);
	if (file < 0 || write(file, first, strlen(first)) < 0)
		log_debug("the copy of a process, %d, is not what the kernel ends first: %s",
			  (int)fork, strerror(errno));
}

/* ---- while it stands still ---------------------------------------------------------------- */

/*
 * Lets the process go, if that has not been done. `exactly`: all until now must be of one moment.
 */
static void freeze_let_go(struct freeze *f, bool exactly)
{
	uint64_t now = monotonic_ns(), left;

	if (f->account.pause_ns)
		return;
	f->account.pause_ns = stop_end(f->stop);
	run_first(false);
	left = stop_left_ns(f->stop);
	if (left >= now)
		return;
	if (exactly || now - left > ABSENT_NS)
		f->absent = true;
	else
		f->account.approximate = true;
}

/* Is the pause over? Ends it when it is due. */
static bool freeze_is_late(struct freeze *f)
{
	if (monotonic_ns() > f->deadline_ns)
		freeze_let_go(f, false);
	return f->account.pause_ns != 0;
}

static void freeze_look_at_sleepers(struct freeze *f)
{
	f->disturbed = !stop_undisturbed(f->stop);
	f->looked_ns = monotonic_ns();
}

/*
 * Ends the pause when it is due, while the process's own memory is read: later reads are not of its
 * moment. A process may have so many mappings that looking through them takes longer than it may be
 * paused. Looks at the sleeping threads, too: once one has run the rest need not be read.
 */
static bool freeze_mind_pause(void *ctx)
{
	struct freeze *f = ctx;

	if (f->released)
		return true;
	if (freeze_is_late(f))
		f->account.approximate = true;
	else if (!f->disturbed && monotonic_ns() - f->looked_ns > SLEEPERS_NS)
		freeze_look_at_sleepers(f);
	return !f->disturbed;
}

/* Tells the caller. The first error counts. */
static int freeze_has_read(struct freeze *f, uint64_t until_ns, int err,
			   char reason[static REASON_MAX])
{
	char other[REASON_MAX];
	int last = 0;

	if (f->hooks.read)
		last = f->hooks.read(f->hooks.ctx, until_ns, err ? other : reason);
	return err ?: last;
}

static int freeze_read_stopped(struct freeze *f, char reason[static REASON_MAX])
{
	const struct freeze_hooks *hooks = &f->hooks;
	int err = hooks->reading ? hooks->reading(hooks->ctx, reason) : 0;

	err = err ?: memory_copy_read(&f->copy, reason);
	f->account.memory_ns = monotonic_ns() - f->stopped_ns;
	err = freeze_has_read(f, freeze_is_late(f) ? 0 : f->deadline_ns, err, reason);
	/* Once more: all threads left asleep must have slept until now. */
	if (!f->account.pause_ns && !f->disturbed)
		freeze_look_at_sleepers(f);
	return err;
}

/* The pause ends halfway through this. */
static int freeze_read_forked(struct freeze *f, char reason[static REASON_MAX])
{
	const struct freeze_hooks *hooks = &f->hooks;
	pid_t fork = f->account.fork;
	int err = memory_copy_read_unforked(&f->copy, fork, reason);

	if (hooks->releasing)
		hooks->releasing(hooks->ctx);
	/* The process's frees must have been noted from the first one on. */
	freeze_let_go(f, true);
	f->released = true;
	freeze_offer_fork(fork);
	if (!err && hooks->reading)
		err = hooks->reading(hooks->ctx, reason);
	err = err ?: memory_copy_read_forked(&f->copy, fork, reason);
	f->account.memory_ns = monotonic_ns() - f->stopped_ns;
	return freeze_has_read(f, UINT64_MAX, err, reason);
}

static int freeze_read_once(struct freeze *f, char reason[static REASON_MAX])
{
	int err = f->hooks.stopped ? f->hooks.stopped(f->hooks.ctx, f->stop, reason) : 0;

	if (err)
		return err;
	if (f->forks && !freeze_make_fork(f))
		return freeze_read_forked(f, reason);
	return freeze_read_stopped(f, reason);
}

/*
 * A thread that was left asleep may wake up at any moment. Then all sleepers are stopped, and all
 * is read anew, within the same pause.
 */
static int freeze_read(struct freeze *f, char reason[static REASON_MAX])
{
	int err = freeze_read_once(f, reason);

	if (!f->disturbed)
		return err;
	log_debug("pause of %d: a thread that had been left asleep woke up after %.1f ms; all are "
		  "stopped, and all is read again",
		  (int)f->pid, (double)(monotonic_ns() - stop_start_ns(f->stop)) / NS_PER_MS);
	if (f->hooks.again)
		f->hooks.again(f->hooks.ctx);
	f->disturbed = false;
	/* If the pause is over, the rest is read while the process runs, as always. */
	err = f->account.pause_ns ? 0 : stop_sleepers_too(f->stop, reason);
	if (err)
		return err;
	memory_copy_forget(&f->copy);
	f->account.approximate = false;
	return freeze_read_once(f, reason);
}

/* ---- all of it ---------------------------------------------------------------------------- */

/* Called after the pause. */
static int freeze_take_threads(struct freeze *f)
{
	struct memory_image *image = f->copy.image;
	size_t n = stop_thread_count(f->stop);

	image->threads = calloc(n + 1, sizeof(*image->threads));
	if (!image->threads)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct stop_thread *from = stop_thread_at(f->stop, i);
		struct memory_thread *to = &image->threads[image->thread_count];

		if (!from->words)
			continue;
		to->words = malloc(from->word_count * sizeof(*to->words));
		if (!to->words)
			return -ENOMEM;
		memcpy(to->words, from->words, from->word_count * sizeof(*to->words));
		to->word_count = from->word_count;
		to->tid = from->tid;
		to->sp = from->sp;
		to->tls = from->tls;
		image->thread_count++;
	}
	return 0;
}

/* The process is stopped, and there is a deadline. */
static int freeze_run_stopped(struct freeze *f, bool held, const struct freeze_hooks *hooks,
			      char reason[static REASON_MAX])
{
	struct freeze_account *a = &f->account;
	int err;

	if (hooks)
		f->hooks = *hooks;
	f->stopped_ns = monotonic_ns();
	run_first(!held);
	f->copy.between = freeze_mind_pause;
	f->copy.ctx = f;
	err = freeze_read(f, reason);
	freeze_let_go(f, held);
	if (f->absent)
		err = stop_refuse_left(reason);
	a->stop_ns = f->stopped_ns - stop_start_ns(f->stop);
	a->threads = stop_thread_count(f->stop);
	a->asleep = stop_asleep_count(f->stop);
	a->read_bytes = f->copy.used;
	a->unread_bytes = f->copy.unread_bytes;
	if (!err && freeze_take_threads(f))
		err = refuse(reason, -ENOMEM, "no memory for its registers");
	memory_copy_fit(&f->copy);
	memory_image_finish(f->copy.image);
	return err;
}

int freeze_run(struct freeze *f, uint64_t max_pause_ns, const struct stop_sleepers *sleepers,
	       const struct freeze_hooks *hooks, char reason[static REASON_MAX])
{
	/* One of its threads makes the fork, and is stopped for that. */
	int err = stop_begin(f->pid, max_pause_ns, f->forks ? NULL : sleepers, &f->stop, reason);

	if (err)
		return err;
	f->deadline_ns = stop_start_ns(f->stop) + max_pause_ns;
	return freeze_run_stopped(f, false, hooks, reason);
}

int freeze_run_held(struct freeze *f, struct stop *stop, const struct freeze_hooks *hooks,
		    char reason[static REASON_MAX])
{
	f->stop = stop;
	/* The process is at its end: only its end waits for us. */
	f->deadline_ns = monotonic_ns() + HELD_NS;
	return freeze_run_stopped(f, true, hooks, reason);
}

struct memory_image *freeze_take_memory(struct freeze *f)
{
	return TAKE_PTR(f->copy.image);
}

const struct freeze_account *freeze_account(const struct freeze *f)
{
	return &f->account;
}

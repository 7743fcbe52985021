// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/live/worker.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/live/watcher.h"

struct worker {
	const struct watch_config *config;
	struct mailbox *mailbox;
	struct watcher *watcher;
	struct session *session; /* its own since worker_prepare() */
	pthread_t thread;
	bool started;
	int timer; /* -1: not open */
	int err;   /* the thread's result, once it has ended */
};

static void worker_on_busy(void *ctx, const char *what)
{
	struct worker *w = ctx;

	mailbox_set_busy(w->mailbox, what);
}

struct worker *worker_new(const struct watch_config *config, struct mailbox *mailbox)
{
	struct worker *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->config = config;
	w->mailbox = mailbox;
	w->timer = -1;
	w->watcher = watcher_new(&config->show, worker_on_busy, w);
	if (w->watcher)
		return w;
	free(w);
	return NULL;
}

const struct session_viewer *worker_viewer(struct worker *w)
{
	return watcher_viewer(w->watcher);
}

void worker_prepare(struct worker *w, struct session *session)
{
	w->session = session;
	watcher_prepare(w->watcher, session);
}

/* Makes a view, with the names that one slice of time allows. */
static int worker_show(struct worker *w, bool *more)
{
	struct live_request request;
	struct live_view *view;
	int err;

	mailbox_request(w->mailbox, &request);
	err = watcher_obey(w->watcher, &request);
	if (!err)
		err = watcher_view(w->watcher, &request, &view, more);
	if (!err)
		mailbox_publish(w->mailbox, view);
	return err ? log_errno(err, "top") : 0;
}

/*
 * Takes in events after the snapshot, which may bring frames of counted stacks, before it is shown.
 */
static int worker_look(struct worker *w)
{
	return watcher_look(w->watcher) ?: trace_process(session_trace(w->session));
}

static int worker_turn(struct worker *w, bool *more)
{
	struct pollfd fds[] = {
		{.fd = trace_fd(session_trace(w->session)), .events = POLLIN},
		{.fd = w->timer, .events = POLLIN},
		{.fd = mailbox_asked_fd(w->mailbox), .events = POLLIN},
	};
	bool changed = *more;
	uint64_t ticks;
	int err;

	mailbox_rest(w->mailbox);
	if (poll(fds, ARRAY_SIZE(fds), *more ? 0 : -1) < 0)
		return errno == EINTR ? 0 : log_errno(errno, "poll");
	err = trace_process(session_trace(w->session));
	if (err)
		return err;
	changed |= mailbox_asked(w->mailbox);
	if (fds[1].revents && read(w->timer, &ticks, sizeof(ticks)) == sizeof(ticks)) {
		err = worker_look(w);
		changed = true;
	}
	changed |= watcher_changed(w->watcher);
	return err || !changed ? err : worker_show(w, more);
}

/*
 * In the thread that traces: it has the capabilities that put a gate's jumps into the target, and
 * takes them back.
 */
static void worker_end_session(struct worker *w)
{
	int err = session_free(TAKE_PTR(w->session));

	w->err = w->err ?: err;
}

static void *worker_run(void *ctx)
{
	struct worker *w = ctx;
	bool more = false;

	w->err = worker_look(w);
	if (!w->err)
		w->err = worker_show(w, &more);
	while (!w->err && !mailbox_stopped(w->mailbox))
		w->err = worker_turn(w, &more);
	mailbox_end(w->mailbox);
	worker_end_session(w);
	return NULL;
}

int worker_start(struct worker *w)
{
	int err;

	watcher_begin(w->watcher);
	w->timer = timer_open(w->config->pace.interval_ns);
	if (w->timer < 0)
		return w->timer;
	err = pthread_create(&w->thread, NULL, worker_run, w);
	w->started = !err;
	return err ? log_errno(err, "cannot start a thread") : 0;
}

int worker_free(struct worker *w)
{
	int err;

	if (!w)
		return 0;
	if (w->started)
		pthread_join(w->thread, NULL);
	else
		worker_end_session(w);
	err = w->err;
	watcher_free(w->watcher);
	if (w->timer >= 0)
		close(w->timer);
	free(w);
	return err;
}

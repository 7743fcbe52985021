// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The screen's thread: keys, signals, messages and views come in, a picture goes out. Nothing of it ever waits. */
#include "user/live/top.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/kernel/privilege.h"
#include "user/live/messages.h"
#include "user/live/surveyor.h"
#include "user/live/terminal.h"
#include "user/live/worker.h"
#include "user/trace/cost.h"

#define KEEP_BYTES (1 << 30)

struct live {
	struct mailbox *mailbox;
	struct terminal *terminal;
	struct messages *messages;
	int signals;
	struct canvas canvas;
	struct live_screen screen;
	struct live_request asked; /* the request that the worker knows */
	struct live_view *view;	   /* NULL: none yet */
	uint64_t end_ns;	   /* UINT64_MAX: the user ends it */
	bool changed, stop;
};

/* ---- events ------------------------------------------------------------------------------- */

static int live_resize(struct live *l)
{
	unsigned rows, cols;
	int err;

	terminal_size(l->terminal, &rows, &cols);
	err = canvas_resize(&l->canvas, rows, cols);
	if (err)
		return log_errno(err, "no memory for the screen");
	live_screen_resize(&l->screen, l->canvas.rows, l->canvas.cols);
	l->changed = true;
	return 0;
}

static int live_on_signals(struct live *l)
{
	struct signalfd_siginfo info;
	int err = 0;

	while (!err && read(l->signals, &info, sizeof(info)) == sizeof(info)) {
		switch (info.ssi_signo) {
		case SIGTSTP:
			mailbox_ask_rest(l->mailbox);
			break;
		case SIGWINCH:
			err = live_resize(l);
			break;
		default:
			l->stop = true;
		}
	}
	return err;
}

static void live_on_keys(struct live *l)
{
	struct live_event event;

	while (!l->screen.quit && terminal_event(l->terminal, &event)) {
		live_screen_event(&l->screen, &event, l->view);
		l->changed = true;
	}
}

static void live_on_messages(struct live *l)
{
	char line[256];

	while (messages_next(l->messages, line, sizeof(line))) {
		live_screen_say(&l->screen, line);
		l->changed = true;
	}
}

/* If we stopped in the middle of a verdict, the process would stand still. */
static int live_suspend(struct live *l)
{
	int err;

	terminal_suspend(l->terminal);
	err = live_resize(l);
	mailbox_wake(l->mailbox);
	return err;
}

static int live_on_worker(struct live *l)
{
	struct live_view *view = mailbox_take(l->mailbox);

	l->screen.busy = mailbox_busy(l->mailbox);
	l->changed = true;
	if (view) {
		live_view_free(l->view);
		l->view = view;
		live_screen_take(&l->screen, view);
	}
	return mailbox_rests(l->mailbox) ? live_suspend(l) : 0;
}

/* Tells the worker the present request, and draws the present view. */
static void live_show(struct live *l)
{
	if (!live_request_same(&l->asked, &l->screen.request)) {
		l->asked = l->screen.request;
		mailbox_ask(l->mailbox, &l->asked);
	}
	if (!l->changed)
		return;
	l->changed = false;
	live_screen_draw(&l->screen, l->view, &l->canvas);
	terminal_show(l->terminal, &l->canvas);
}

static int live_turn(struct live *l)
{
	struct pollfd fds[] = {
		{.fd = STDIN_FILENO, .events = POLLIN},
		{.fd = l->signals, .events = POLLIN},
		{.fd = mailbox_fd(l->mailbox), .events = POLLIN},
		{.fd = messages_fd(l->messages), .events = POLLIN},
	};
	int err = 0, wait_ms = clock_wait_ms(l->end_ns);

	l->stop = !wait_ms;
	if (l->stop)
		return 0;
	live_show(l);
	if (poll(fds, ARRAY_SIZE(fds), wait_ms) < 0)
		return errno == EINTR ? 0 : log_errno(errno, "poll");
	/* The terminal has gone. */
	if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
		l->stop = true;
	live_on_keys(l);
	if (fds[1].revents)
		err = live_on_signals(l);
	if (!err && fds[2].revents)
		err = live_on_worker(l);
	if (fds[3].revents)
		live_on_messages(l);
	return err;
}

/* ---- beginning and end -------------------------------------------------------------------- */

static int live_open_signals(struct live *l)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(&set, signals[i]);
	/* Before the worker starts, which then has them blocked, too. */
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return log_errno(errno, "sigprocmask");
	l->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return l->signals < 0 ? log_errno(errno, "signalfd") : 0;
}

/*
 * Keeps freed memory. A snapshot of 100,000 stacks is some 40 MB, and the next one needs as much.
 * Giving that to the kernel and getting it again would take half of our time.
 */
static void live_keep_memory(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, KEEP_BYTES);
	mallopt(M_TRIM_THRESHOLD, KEEP_BYTES);
}

static int live_open(struct live *l)
{
	int err = live_open_signals(l);

	if (!err)
		err = messages_open(&l->messages);
	if (!err)
		err = terminal_open(&l->terminal);
	if (err)
		return err;
	l->screen.utf8 = l->canvas.utf8 = terminal_utf8(l->terminal);
	err = live_resize(l);
	if (err)
		return err;
	l->asked = l->screen.request;
	mailbox_ask(l->mailbox, &l->asked);
	return 0;
}

/* Runs from the worker's start to the user's end. This thread needs only the terminal. */
static int live_go(struct live *l, const struct pace_config *pace)
{
	int err = 0;

	if (privilege_drop_thread())
		log_debug("cannot drop privileges");
	l->end_ns = clock_end_ns(pace->duration_ns);
	while (!err && !l->stop && !l->screen.quit && !mailbox_ended(l->mailbox))
		err = live_turn(l);
	return err;
}

static void live_unblock_signals(struct live *l)
{
	struct signalfd_siginfo info;
	sigset_t set;

	if (l->signals < 0)
		return;
	while (read(l->signals, &info, sizeof(info)) > 0)
		;
	close(l->signals);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* Restores the terminal first: the rest may take a while, and is logged as ever. */
static void live_leave(struct live *l)
{
	const char *busy = mailbox_busy(l->mailbox);

	terminal_close(l->terminal);
	messages_close(l->messages);
	if (busy)
		log_progress("%s ... (Ctrl-C does not wait for it)", busy);
	live_unblock_signals(l);
	mailbox_stop(l->mailbox);
}

static void live_release(struct live *l)
{
	log_progress_end();
	mailbox_free(l->mailbox);
	live_view_free(l->view);
	canvas_release(&l->canvas);
}

static int live_begin(struct live *l)
{
	int err = terminal_prepare();

	*l = (struct live){.signals = -1};
	if (err)
		return err;
	live_keep_memory();
	l->mailbox = mailbox_new();
	return l->mailbox ? 0 : log_errno(ENOMEM, "top");
}

/* ---- a process ---------------------------------------------------------------------------- */

static int live_attach(struct session *session, const struct watch_config *config)
{
	struct trace_needs needs = session_needs(config);
	struct trace *trace = session_trace(session);

	needs.new_files = true;
	/* While we have the right; without it only the cost is missing. */
	if (privilege_admin())
		trace_cost_start(trace);
	trace_drop_privileges(trace, &needs);
	return trace_add_process(trace, config->pids.pids[0]);
}

static int live_watch_by(struct live *l, struct worker *worker, const struct watch_config *config,
			 struct session *session)
{
	int err;

	worker_prepare(worker, session);
	err = live_attach(session, config);
	live_screen_init(&l->screen, config->show.sort, false);
	if (!err)
		err = live_open(l);
	if (!err)
		err = worker_start(worker);
	return err ?: live_go(l, &config->pace);
}

int live_watch(const struct watch_config *config)
{
	struct watch_config watch = *config;
	struct session *session = NULL;
	struct worker *worker;
	struct live live;
	int err = live_begin(&live), worker_err;

	if (err)
		return err;
	worker = worker_new(&watch, live.mailbox);
	if (worker) {
		watch.viewer = worker_viewer(worker);
		watch.show.viewed = true;
		err = session_new(&watch, NULL, &session);
	} else {
		err = log_errno(ENOMEM, "top");
	}
	if (!err)
		err = live_watch_by(&live, worker, &watch, session);
	live_leave(&live);
	worker_err = worker_free(worker);
	live_release(&live);
	return err ?: worker_err;
}

/* ---- the survey --------------------------------------------------------------------------- */

int live_survey(const struct survey_config *config)
{
	struct surveyor *surveyor;
	struct live live;
	int err = live_begin(&live), worker_err;

	if (err)
		return err;
	live_screen_init_survey(&live.screen, false);
	surveyor = surveyor_new(config, live.mailbox);
	err = surveyor ? live_open(&live) : log_errno(ENOMEM, "top");
	if (!err)
		err = surveyor_start(surveyor);
	if (!err)
		err = live_go(&live, &config->pace);
	live_leave(&live);
	worker_err = surveyor_free(surveyor);
	live_release(&live);
	return err ?: worker_err;
}

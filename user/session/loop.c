// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/session/loop.h"
#include "user/session/loop_events.h"
#include "user/session/selection.h"

struct loop {
	struct session *session;
	const struct watch_config *config;
	pid_t child; /* 0: none, or it has ended */
	int child_status;
	uint64_t snapshots;
	bool child_ended, stop;
	struct selection *selection; /* NULL: none */
	/* when to stop, and to look for new processes; UINT64_MAX: never */
	uint64_t end_ns, scan_ns;
};

#define LOOP_SCAN_NS NS_PER_S

static int loop_add(void *ctx, pid_t pid)
{
	const struct loop *loop = ctx;

	return trace_add_process(session_trace(loop->session), pid);
}

/* Does what is due by the clock. Returns how long to wait for events, for poll(2). */
static int loop_on_time(struct loop *loop)
{
	uint64_t now = monotonic_ns(), next;

	if (now >= loop->end_ns)
		loop->stop = true;
	if (now >= loop->scan_ns) {
		/* Errors are logged; the next look may find processes. */
		selection_scan(loop->selection, loop_add, loop, NULL);
		now = monotonic_ns();
		loop->scan_ns = now + LOOP_SCAN_NS;
	}
	next = loop->end_ns < loop->scan_ns ? loop->end_ns : loop->scan_ns;
	return clock_wait_ms(next);
}

static void loop_reap(struct loop *loop)
{
	int status;

	if (loop->child && waitpid(loop->child, &status, WNOHANG) == loop->child) {
		loop->child_status = status;
		loop->child_ended = true;
		loop->child = 0;
	}
}

/*
 * Takes in events again, since the signal may have come during that. A snapshot must know all that
 * happened before it was asked for.
 */
static int loop_on_request(struct loop *loop, int signal)
{
	int err = trace_process(session_trace(loop->session));

	if (!err && signal == SIGUSR1)
		session_report(loop->session, false);
	else if (!err)
		session_report_verdicts(loop->session);
	return err;
}

static int loop_on_signal(struct loop *loop, const struct loop_events *events)
{
	struct signalfd_siginfo info;
	int err = 0;

	while (!err && loop_events_signal(events, &info)) {
		switch (info.ssi_signo) {
		case SIGUSR1:
		case SIGUSR2:
			err = loop_on_request(loop, (int)info.ssi_signo);
			break;
		case SIGCHLD:
			loop_reap(loop);
			break;
		default:
			if (!loop->child) {
				loop->stop = true;
				break;
			}
			/*
			 * A terminal's Ctrl-C and Ctrl-\ reach the whole foreground group, the
			 * command included. A signal for us alone is passed on.
			 */
			if (info.ssi_code != SI_KERNEL)
				kill(loop->child, (int)info.ssi_signo);
		}
	}
	return err ?: session_output_error(loop->session);
}

static int loop_on_interval(struct loop *loop)
{
	loop->snapshots++;
	if (loop->config->pace.count && loop->snapshots >= loop->config->pace.count) {
		loop->stop = true;
		return 0;
	}
	return session_report(loop->session, false);
}

static int loop_turn(struct loop *loop, const struct loop_events *events)
{
	struct trace *trace = session_trace(loop->session);
	struct pollfd fds[] = {
		{.fd = trace_fd(trace), .events = POLLIN},
		{.fd = events->signals, .events = POLLIN},
		{.fd = events->timer, .events = POLLIN},
	};
	int err, wait_ms = loop_on_time(loop);

	if (loop->stop)
		return 0;
	if (poll(fds, ARRAY_SIZE(fds), wait_ms) < 0)
		return errno == EINTR ? 0 : log_errno(errno, "poll");
	/* Events first: they happened before the report that tells them. */
	err = trace_process(trace);
	if (!err && fds[1].revents)
		err = loop_on_signal(loop, events);
	if (!err && fds[2].revents && loop_events_interval(events))
		err = loop_on_interval(loop);
	return err ? err : session_output_error(loop->session);
}

static bool loop_finished(const struct loop *loop)
{
	if (loop->stop || loop->child_ended)
		return true;
	/* More processes may come. */
	if (loop->selection)
		return false;
	return !loop->child && trace_target_count(session_trace(loop->session)) == 0;
}

int loop_run(struct session *session, const struct watch_config *config,
	     struct selection *selection, pid_t child, int *child_status)
{
	struct loop loop = {
		.session = session,
		.config = config,
		.child = child,
		.selection = selection,
		.end_ns = clock_end_ns(config->pace.duration_ns),
		.scan_ns = selection ? monotonic_ns() + LOOP_SCAN_NS : UINT64_MAX,
	};
	struct loop_events events;
	char why[32] = "--duration";
	int err = loop_events_open(config->pace.interval_ns, &events);

	/* From here on the loop takes the signals. */
	trace_started(session_trace(session));

	while (!err && !loop_finished(&loop))
		err = loop_turn(&loop, &events);
	/* Takes in the targets' events until now, their ends included. */
	if (!err)
		err = trace_process(session_trace(session));
	if (!err)
		err = session_report(session, true);
	if (!err && loop.child_ended && trace_target_count(session_trace(session)))
		log_info("the command has ended; what it started and left running is not traced "
			 "any further");
	if (monotonic_ns() < loop.end_ns)
		snprintf(why, sizeof(why), "-n %" PRIu64, config->pace.count);
	if (!err && loop.child)
		log_info("%s is reached: %s (PID %d) runs on, and is not traced any further", why,
			 config->argv[0], (int)loop.child);
	loop_events_close(&events);
	*child_status = loop.child_status;
	return err;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/session/loop.h"
#include "user/session/loop_events.h"

struct loop {
	struct session *session;
	const struct watch_config *config;
	pid_t child; /* 0: none, or it has ended */
	int child_status;
	uint64_t snapshots;
	bool child_ended, stop;
};

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
 * A signal may have come while events were taken in, which may take a while: a snapshot must know all
 * that happened before it was asked for.
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
			 * command included; what was sent to us alone is passed on.
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
	int err;

	if (poll(fds, ARRAY_SIZE(fds), -1) < 0)
		return errno == EINTR ? 0 : log_errno(errno, "poll");
	/* Events first: what a report tells has happened before it. */
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
	return !loop->child && trace_target_count(session_trace(loop->session)) == 0;
}

int loop_run(struct session *session, const struct watch_config *config, pid_t child,
	     int *child_status)
{
	struct loop loop = {.session = session, .config = config, .child = child};
	struct loop_events events;
	int err = loop_events_open(config->pace.interval_ns, &events);

	while (!err && !loop_finished(&loop))
		err = loop_turn(&loop, &events);
	/* What the targets did until now, their ends included. */
	if (!err)
		err = trace_process(session_trace(session));
	if (!err)
		err = session_report(session, true);
	if (!err && loop.child_ended && trace_target_count(session_trace(session)))
		log_info("the command has ended; what it started and left running is not traced "
			 "any further");
	loop_events_close(&events);
	*child_status = loop.child_status;
	return err;
}

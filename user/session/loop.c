// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/session/loop.h"

struct loop {
	struct session *session;
	const struct watch_config *config;
	pid_t child; /* 0: none, or it has ended */
	int child_status;
	uint64_t snapshots;
	bool child_ended, stop;
};

void loop_signal_set(sigset_t *set)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD};

	sigemptyset(set);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(set, signals[i]);
}

int loop_block_signals(sigset_t *old)
{
	sigset_t set;

	loop_signal_set(&set);
	signal(SIGPIPE, SIG_IGN);
	return sigprocmask(SIG_BLOCK, &set, old) ? -errno : 0;
}

void loop_raise_file_limit(struct rlimit *old)
{
	struct rlimit raised;

	if (getrlimit(RLIMIT_NOFILE, old)) {
		*old = (struct rlimit){1024, 1024};
		return;
	}
	raised = (struct rlimit){old->rlim_max, old->rlim_max};
	if (setrlimit(RLIMIT_NOFILE, &raised))
		log_debug("cannot raise the limit of open files: %s", strerror(errno));
}

static void reap(struct loop *loop)
{
	int status;

	if (loop->child && waitpid(loop->child, &status, WNOHANG) == loop->child) {
		loop->child_status = status;
		loop->child_ended = true;
		loop->child = 0;
	}
}

static int on_signal(struct loop *loop, int fd)
{
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) == sizeof(info)) {
		switch (info.ssi_signo) {
		case SIGUSR1:
			session_report(loop->session, false);
			break;
		case SIGUSR2:
			session_report_verdicts(loop->session);
			break;
		case SIGCHLD:
			reap(loop);
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
	return session_output_error(loop->session);
}

static int on_timer(struct loop *loop, int fd)
{
	uint64_t missed;

	if (read(fd, &missed, sizeof(missed)) != sizeof(missed))
		return 0;
	loop->snapshots++;
	if (loop->config->pace.count && loop->snapshots >= loop->config->pace.count) {
		loop->stop = true;
		return 0;
	}
	return session_report(loop->session, false);
}

static int turn(struct loop *loop, int signals, int timer)
{
	struct trace *trace = session_trace(loop->session);
	struct pollfd fds[] = {
		{.fd = trace_fd(trace), .events = POLLIN},
		{.fd = signals, .events = POLLIN},
		{.fd = timer, .events = POLLIN},
	};
	int err;

	if (poll(fds, ARRAY_SIZE(fds), -1) < 0)
		return errno == EINTR ? 0 : log_errno(errno, "poll");
	/* Events first: a snapshot must know all that happened before it. */
	err = trace_process(trace);
	if (!err && fds[1].revents)
		err = on_signal(loop, signals);
	if (!err && fds[2].revents)
		err = on_timer(loop, timer);
	return err ? err : session_output_error(loop->session);
}

static bool finished(const struct loop *loop)
{
	if (loop->stop || loop->child_ended)
		return true;
	return !loop->child && trace_target_count(session_trace(loop->session)) == 0;
}

int loop_run(struct session *session, const struct watch_config *config, pid_t child,
	     int *child_status)
{
	struct loop loop = {.session = session, .config = config, .child = child};
	_cleanup_close_ int signals = -1, timer = -1;
	sigset_t set;
	int err = 0;

	loop_signal_set(&set);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0)
		return log_errno(errno, "signalfd");
	timer = timer_open(config->pace.interval_ns);
	if (timer < 0)
		return timer;
	while (!err && !finished(&loop))
		err = turn(&loop, signals, timer);
	/* What the targets did until now, their ends included. */
	if (!err)
		err = trace_process(session_trace(session));
	if (!err)
		err = session_report(session, true);
	if (!err && loop.child_ended && trace_target_count(session_trace(session)))
		log_info("the command has ended; what it started and left running is not traced "
			 "any further");
	*child_status = loop.child_status;
	return err;
}

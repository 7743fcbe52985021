// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The loop of `memleakbpf kernel`. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/utsname.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/kernel/privilege.h"
#include "user/kmem/kmem.h"
#include "user/kmem/kmem_drill.h"
#include "user/kmem/kmem_select.h"
#include "user/kmem/kmem_survey.h"
#include "user/session/loop_events.h"
#include "user/session/output.h"

struct kmem_loop {
	const struct kmem_config *config;
	struct output *output;
	struct kmem_survey *survey;
	struct kmem_drill *drill; /* NULL: --no-drill */
	struct missing_parts missing;
	struct utsname host;
	uint64_t first_ns, reports;
	bool stop, leaks;
};

static bool kmem_loop_leaks(const struct kernel_books *books)
{
	bool leaks = false;

	for (size_t i = 0; books && i < books->stack_count; i++)
		leaks |= kernel_stack_leaks(&books->stacks[i]);
	return leaks;
}

static void kmem_loop_choose_groups(const struct kmem_loop *loop, struct kernel_report *report)
{
	size_t kept = 0;

	for (size_t i = 0; i < report->group_count; i++) {
		if (kmem_selects_group(&loop->config->select, report->groups[i].path))
			report->groups[kept++] = report->groups[i];
	}
	report->group_count = kept;
}

/* Looks, and unless `quiet` says what there is. A reader that has had enough is no error. */
static int kmem_loop_look(struct kmem_loop *loop, bool quiet)
{
	struct kernel_report report = {
		.time_ns = clock_ns(CLOCK_REALTIME),
		.host = loop->host.nodename,
		.release = loop->host.release,
		.missing = loop->missing,
		.top = loop->config->show.top,
	};
	const uint64_t now = monotonic_ns();
	int err = loop->drill ? kmem_drill_read(loop->drill) : 0;

	err = err ?: kmem_survey_look(loop->survey, now, &report);
	if (err)
		return err;
	kmem_loop_choose_groups(loop, &report);
	loop->first_ns = loop->first_ns ?: now;
	report.elapsed_ns = now - loop->first_ns;
	if (loop->drill && !quiet)
		report.books = kmem_drill_books(loop->drill);
	loop->leaks = kmem_loop_leaks(report.books);
	if (!quiet) {
		loop->reports++;
		loop->stop |= loop->config->pace.count && loop->reports >= loop->config->pace.count;
		report.final = loop->stop;
		err = output_kernel(loop->output, &report);
	}
	if (err == -EPIPE) {
		loop->stop = true;
		err = 0;
	}
	if (!err && loop->drill && !loop->stop)
		kmem_drill_turn(loop->drill, &loop->missing);
	return err;
}

static int kmem_loop_turn(struct kmem_loop *loop, const struct loop_events *events, uint64_t end_ns)
{
	struct signalfd_siginfo info;
	struct pollfd fds[] = {
		{.fd = events->signals, .events = POLLIN},
		{.fd = events->timer, .events = POLLIN},
	};
	const int wait_ms = clock_wait_ms(end_ns);
	bool look = false;

	if (!wait_ms)
		loop->stop = true;
	else if (poll(fds, ARRAY_SIZE(fds), wait_ms) < 0)
		return errno == EINTR ? 0 : log_errno(errno, "poll");
	while (loop_events_signal(events, &info)) {
		look |= info.ssi_signo == SIGUSR1;
		loop->stop |= info.ssi_signo != SIGUSR1 && info.ssi_signo != SIGUSR2 &&
			      info.ssi_signo != SIGCHLD;
	}
	if (loop->stop || look || loop_events_interval(events))
		return kmem_loop_look(loop, false);
	return 0;
}

static int kmem_loop_go(struct kmem_loop *loop)
{
	const struct kmem_config *c = loop->config;
	const uint64_t end_ns = clock_end_ns(c->pace.duration_ns);
	struct loop_events events;
	/* Probes that have just gone in have nothing to say yet. */
	const bool probes = loop->drill && !kmem_drill_begin(loop->drill, &loop->missing);
	int err = loop_events_open(c->pace.interval_ns, &events);

	/* CAP_SYS_ADMIN is for the run time of the probes. */
	if (privilege_drop(true, false))
		log_debug("cannot drop privileges");
	err = err ?: kmem_loop_look(loop, probes && c->probes.at_once);
	while (!err && !loop->stop)
		err = kmem_loop_turn(loop, &events, end_ns);
	loop_events_close(&events);
	return err;
}

int kmem_run(const struct kmem_config *config)
{
	struct kmem_loop loop = {.config = config};
	int err, close_err;
	bool refused;

	uname(&loop.host);
	loop.survey = kmem_survey_new();
	if (loop.survey && config->drill)
		loop.drill = kmem_drill_new(config, loop.survey);
	if (!loop.survey || (config->drill && !loop.drill))
		err = log_errno(ENOMEM, "kernel");
	else
		err = output_open(&config->show, false, 0, true, false, &loop.output);
	err = err ?: kmem_loop_go(&loop);
	kmem_drill_free(loop.drill);
	kmem_survey_free(loop.survey);
	close_err = output_close(loop.output);
	/* Who has asked for probes wants to know that there were none. */
	refused = config->probes.at_once && loop.missing.count;
	if (err || (close_err && close_err != -EPIPE) || refused)
		return 1;
	return loop.leaks ? config->error_exitcode : 0;
}

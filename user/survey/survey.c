// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The survey's loop: each interval a look at all processes, what the probes are to do about it, and
 * reports.
 */
#include "user/survey/survey.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/starting.h"
#include "user/base/util.h"
#include "user/kernel/confine.h"
#include "user/kernel/privilege.h"
#include "user/session/loop_events.h"
#include "user/session/output.h"
#include "user/session/suppressions.h"
#include "user/survey/survey_driller.h"
#include "user/keep/survey_keeper.h"
#include "user/look/survey_names.h"
#include "user/look/survey_reader.h"
#include "user/survey/survey_reporter.h"
#include "user/look/survey_scope.h"
#include "user/survey/survey_serving.h"

#define TICK_MS 100 /* between two looks at the probes' cost */

/* Looks come eight times closer while somebody's memory is full within so long, and not closer than that. */
#define URGENT_S   600.0
#define CLOSER	   8
#define CLOSEST_NS (250 * NS_PER_MS)

/* struct survey is the skeleton's. */
struct survey_loop {
	const struct survey_config *config;
	struct survey_reader *reader;
	struct history *history;
	struct survey_scope *scope;
	struct suppressions *suppressions; /* NULL: none */
	struct survey_names *names;	   /* NULL: no runtime is asked */
	struct survey_driller *driller;
	uint64_t keeper_ns;		  /* when it is looked after again */
	struct survey_keeper *keeper;	  /* NULL: nothing is kept */
	struct survey_reporter *reporter; /* NULL: nothing has been looked at yet */
	struct output *output;
	struct output *recording; /* NULL: not wanted */
	struct survey_serving serving;
	uint64_t closer_ns; /* when the next look in between is due; UINT64_MAX: none is */
	uint64_t end_ns;    /* UINT64_MAX: it has no end */
	bool stop;
	bool looked; /* the look before the last report has been */
};

/* ---- reports ------------------------------------------------------------------------------ */

static int survey_write(struct survey_loop *s, bool final)
{
	bool all = s->config->show.format->wants_all;
	struct survey_report report;
	int err = 0;

	if (s->recording || all) {
		err = survey_reporter_make(s->reporter, SIZE_MAX, SURVEY_FOR_FILES, &report);
		report.final = final;
		if (err)
			return output_fail(s->output, err);
		if (s->recording)
			err = output_survey(s->recording, &report);
		if (!err && all)
			err = output_survey(s->output, &report);
		if (err)
			return err;
	}
	/* Who has exited has been told with this one, whether it is shown or not. */
	err = survey_reporter_make(s->reporter, s->config->show.top, SURVEY_FOR_PEOPLE, &report);
	report.final = final;
	if (err)
		return output_fail(s->output, err);
	return all ? 0 : output_survey(s->output, &report);
}

static int survey_show(struct survey_loop *s)
{
	const struct survey_viewer *viewer = s->config->viewer;
	struct survey_report report;
	int err = survey_reporter_make(s->reporter, SIZE_MAX, SURVEY_FOR_FILES, &report);

	if (err)
		return log_errno(err, "survey");
	viewer->look(viewer->ctx, &report);
	return 0;
}

static int survey_print(struct survey_loop *s, bool final)
{
	int err = s->config->viewer ? survey_show(s) : survey_write(s, final);

	if (err != -EPIPE)
		return err;
	s->stop = true; /* a reader that has had enough is no error */
	return 0;
}

static int survey_publish(struct survey_loop *s)
{
	struct survey_report report;
	int err;

	err = survey_serving_publish(&s->serving);
	if (err || !s->serving.metrics)
		return err;
	err = survey_reporter_make(s->reporter, s->config->metrics.processes, SURVEY_FOR_METRICS,
				   &report);
	for (int i = 0; i < METRICS_SYNTAXES && !err; i++) {
		enum metrics_syntax syntax = (enum metrics_syntax)i;
		char *text;
		size_t size;

		err = survey_format_metrics(&report, syntax, &text, &size);
		if (!err)
			err = metrics_server_publish(s->serving.metrics, syntax, text, size);
	}
	return err ? log_errno(err, "cannot make the metrics") : 0;
}

/* ---- the loop ----------------------------------------------------------------------------- */

/* A slip in a filter shows nothing, for as long as one looks. At the end it is a failure. */
static int survey_tell_unmatched(const struct survey_loop *s, bool final)
{
	char text[SURVEY_SCOPE_TEXT_MAX];

	if (survey_reporter_matched(s->reporter) || !*survey_scope_text(text, &s->config->scope))
		return 0;
	if (!final) {
		log_warn("no process matches %s; those that come will be shown", text);
		return 0;
	}
	log_error("no process has matched %s", text);
	return -ESRCH;
}

static void survey_plan_closer(struct survey_loop *s)
{
	uint64_t every = s->config->pace.interval_ns / CLOSER;

	every = every > CLOSEST_NS ? every : CLOSEST_NS;
	s->closer_ns =
		every < s->config->pace.interval_ns && history_is_urgent(s->history, URGENT_S)
			? monotonic_ns() + every
			: UINT64_MAX;
}

/* Of all processes; 0 and *looks: how many there have been. */
static int survey_read(struct survey_loop *s, uint64_t *looks)
{
	const struct process_list *list;
	int err = survey_reader_read(s->reader, &list);

	if (err)
		return err;
	err = history_update(s->history, monotonic_ns(), list);
	if (err)
		return log_errno(err, "cannot keep the processes' history");
	survey_plan_closer(s);
	if (s->names)
		survey_names_tick(s->names, s->history);
	*looks = survey_reporter_looked(s->reporter, list);
	return 0;
}

static int survey_look(struct survey_loop *s)
{
	uint64_t looks;
	int err = survey_read(s, &looks);

	if (err)
		return err;
	if (history_left_out(s->history) && looks == 1)
		log_warn("%zu processes are left out: more than %d are not followed",
			 history_left_out(s->history), HISTORY_MAX);
	/* Who is sampled all the time needs no probes. */
	if (s->keeper)
		err = survey_keeper_tick(s->keeper);
	err = err ?: survey_driller_tick(s->driller);
	if (!err)
		err = survey_publish(s);
	if (!err && s->config->pace.count && looks >= s->config->pace.count) {
		s->stop = true;
		s->looked = true;
		return 0;
	}
	if (!err)
		err = survey_print(s, false);
	return err ?: looks == 1 ? survey_tell_unmatched(s, false) : 0;
}

/* Nothing is printed; metrics are made anew. */
static int survey_look_closer(struct survey_loop *s)
{
	const struct process_list *list;
	int err = survey_reader_read(s->reader, &list);

	if (err)
		return err;
	err = history_look_closer(s->history, monotonic_ns(), list);
	if (err)
		return log_errno(err, "cannot keep the processes' history");
	err = survey_driller_tick(s->driller);
	err = err ?: survey_publish(s);
	survey_plan_closer(s);
	return err;
}

/* Of those that are kept nothing is to be missing since the last look. */
static int survey_look_last(struct survey_loop *s)
{
	uint64_t looks;
	int err;

	if (!s->keeper || s->looked)
		return 0;
	err = survey_read(s, &looks);
	return err ?: survey_keeper_finish(s->keeper);
}

static int survey_on_signal(struct survey_loop *s, const struct loop_events *events)
{
	struct signalfd_siginfo info;
	int err = 0;

	while (loop_events_signal(events, &info)) {
		if (info.ssi_signo == SIGUSR1)
			err = survey_print(s, false);
		else if (info.ssi_signo != SIGCHLD)
			s->stop = true;
	}
	return err;
}

static int survey_on_asked(struct survey_loop *s)
{
	const struct survey_viewer *viewer = s->config->viewer;
	uint64_t start_ticks = 0;
	pid_t pid = 0;
	int err;

	s->stop = !viewer->on_asked(viewer->ctx, &pid, &start_ticks);
	if (s->stop)
		return 0;
	survey_driller_want(s->driller, pid, start_ticks);
	err = survey_driller_tick(s->driller);
	return err ?: survey_show(s);
}

static int survey_turn(struct survey_loop *s, const struct loop_events *events)
{
	const struct survey_viewer *viewer = s->config->viewer;
	uint64_t now = monotonic_ns();
	struct pollfd fds[] = {
		/* -1 is ignored */
		{.fd = viewer ? -1 : events->signals, .events = POLLIN},
		{.fd = events->timer, .events = POLLIN},
		{.fd = survey_driller_fd(s->driller), .events = POLLIN},
		{.fd = viewer ? viewer->asked : -1, .events = POLLIN},
		{.fd = s->keeper && now >= s->keeper_ns ? survey_keeper_fd(s->keeper) : -1,
		 .events = POLLIN},
		{.fd = survey_serving_fd(&s->serving), .events = POLLIN},
	};
	uint64_t due_ns = survey_serving_due_ns(&s->serving);
	int err, wait_ms;

	due_ns = due_ns < s->closer_ns ? due_ns : s->closer_ns;
	s->stop = !clock_wait_ms(s->end_ns);
	if (s->stop)
		return 0;
	wait_ms = clock_wait_ms(due_ns < s->end_ns ? due_ns : s->end_ns);
	if ((survey_driller_is_open(s->driller) ||
	     (s->keeper && (now < s->keeper_ns || survey_keeper_is_hungry(s->keeper)))) &&
	    (wait_ms < 0 || wait_ms > TICK_MS))
		wait_ms = TICK_MS;
	if (poll(fds, ARRAY_SIZE(fds), wait_ms) < 0)
		return errno == EINTR ? 0 : log_errno(errno, "poll");
	err = survey_driller_process(s->driller);
	/* Whoever maps a file anywhere wakes us: ten times a second do. */
	if (!err && s->keeper && now >= s->keeper_ns) {
		err = survey_keeper_process(s->keeper);
		s->keeper_ns = now + TICK_MS * NS_PER_MS;
	}
	if (!err)
		survey_serving_work(&s->serving);
	if (!err && fds[0].revents)
		err = survey_on_signal(s, events);
	if (!err && fds[3].revents)
		err = survey_on_asked(s);
	if (!err && fds[1].revents && loop_events_interval(events))
		return survey_look(s);
	if (!err && monotonic_ns() >= s->closer_ns)
		err = survey_look_closer(s);
	if (!err && s->keeper && survey_keeper_is_hungry(s->keeper))
		err = survey_keeper_tick(s->keeper);
	return !err && survey_driller_is_open(s->driller) ? survey_driller_tick(s->driller) : err;
}

static int survey_go_on(struct survey_loop *s)
{
	struct loop_events events;
	int err = loop_events_open(s->config->pace.interval_ns, &events);

	if (!err) {
		s->reporter = survey_reporter_new(s->config, s->history, s->scope, s->driller,
						  s->keeper, s->reader);
		err = s->reporter ? 0 : log_errno(ENOMEM, "survey");
	}
	/* Before there is anything to report; under a viewer they are its own. */
	if (!err && !s->config->viewer && starting_is_cancelled())
		err = -ECANCELED;
	err = err ?: survey_look(s);
	if (s->keeper)
		survey_keeper_started(s->keeper);
	while (!err && !s->stop)
		err = survey_turn(s, &events);
	loop_events_close(&events);
	if (err)
		return err;
	survey_driller_close(s->driller);
	if (s->config->viewer)
		return 0;
	err = survey_look_last(s);
	err = err ?: survey_print(s, true);
	return err ?: survey_tell_unmatched(s, true);
}

/* ---- beginning and end -------------------------------------------------------------------- */

static int survey_open_outputs(struct survey_loop *s)
{
	struct show_config show = s->config->show;
	int err = 0;

	show.format = &export_recording;
	show.output = s->config->record;
	if (s->config->record)
		err = output_open(&show, false, 0, false, false, &s->recording);
	return err ? err : output_open(&s->config->show, false, 0, true, false, &s->output);
}

static int survey_begin(struct survey_loop *s)
{
	int err = s->config->viewer ? 0 : survey_open_outputs(s);

	if (!err && s->config->keep.guard.period)
		err = suppress_open(&s->config->filter, &s->suppressions);
	if (!err)
		err = survey_reader_new(SURVEY_AUTO, &s->reader);
	if (err)
		return err;
	s->history = history_new(s->config->pace.interval_ns, &survey_process_hooks);
	s->scope = survey_scope_new(&s->config->scope);
	if (s->config->container_runtime) {
		s->names = survey_names_new(s->config->container_runtime);
		if (!s->names)
			return log_errno(ENOMEM, "survey");
	}
	if (s->history && s->scope)
		s->driller = survey_driller_new(s->config, s->history, s->scope);
	if (s->driller && s->config->keep.filters.count)
		s->keeper = survey_keeper_new(s->config, s->history, s->scope, s->suppressions);
	if (!s->driller || (s->config->keep.filters.count && !s->keeper))
		return log_errno(ENOMEM, "survey");
	return survey_serving_begin(&s->serving, s->config);
}

static int survey_end(struct survey_loop *s)
{
	int err;

	survey_serving_end(&s->serving);
	survey_reporter_free(s->reporter);
	survey_keeper_free(s->keeper);
	survey_driller_free(s->driller);
	history_free(s->history);
	survey_names_free(s->names);
	survey_scope_free(s->scope);
	survey_reader_free(s->reader);
	err = output_close(s->output);
	/* A table's reader may have had enough, and is none the worse for it; half a document is. */
	if (err == -EPIPE && !s->config->show.format->wants_all)
		err = 0;
	err = output_close(s->recording) ?: err;
	suppress_close(s->suppressions);
	return err;
}

/* Profiles are the keeper's; without one nobody is kept. */
static int survey_each_kept(void *ctx, int (*visit)(void *ctx, const struct kept_process *p),
			    void *visit_ctx)
{
	return ctx ? survey_keeper_each(ctx, visit, visit_ctx) : 0;
}

static int survey_snapshot_kept(void *ctx, pid_t pid, struct report **out)
{
	return ctx ? survey_keeper_snapshot(ctx, pid, out) : -ESRCH;
}

int survey_run(const struct survey_config *config)
{
	const struct confine_needs needs = {.ptrace = config->gate,
					    .network = config->symbols.debuginfod};
	struct profile_source source;
	struct survey_loop s = {.config = config,
				.end_ns = clock_end_ns(config->pace.duration_ns),
				.closer_ns = UINT64_MAX};
	int err = survey_begin(&s), end_err;

	/*
	 * Each window loads programs anew, and has the kernel count their run time: that takes
	 * CAP_SYS_ADMIN.
	 */
	if (!err && privilege_drop(true, false))
		log_debug("cannot drop privileges");
	/* A gate for a process with a filter of system calls is for who has none: trace_options.lifts_filters. */
	if (!err && !s.keeper && confine_tool(&needs))
		log_debug("cannot give up system calls");
	source = (struct profile_source){s.keeper, survey_each_kept, survey_snapshot_kept};
	if (!err)
		err = survey_serving_start(&s.serving, &source);
	if (!err)
		err = survey_go_on(&s);
	end_err = survey_end(&s);
	if (err == -ECANCELED)
		starting_obey();
	return end_err ?: err;
}

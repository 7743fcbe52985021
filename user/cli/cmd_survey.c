// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `memleakbpf survey`: which process of this machine leaks, and where. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/cli/commands.h"
#include "user/session/loop_events.h"
#include "user/survey/metrics_server.h"
#include "user/session/output.h"
#include "user/session/interruptible.h"
#include "user/survey/survey_drill.h"
#include "user/export/survey_output.h"
#include "user/process/memory.h"
#include "user/kernel/privilege.h"
#include "user/survey/survey_reader.h"

#define TICK_MS 100 /* between two looks at the probes' cost */

struct survey {
	const struct survey_config *config;
	struct survey_reader *reader;
	struct history *history;
	struct scope *scope;
	struct drill *drill;
	struct survey_output output;	 /* text and json */
	struct output *page, *recording; /* other formats; --record; NULL: not wanted */
	struct metrics_server *metrics;	 /* NULL: not wanted */
	struct survey_row *rows;	 /* those of the last report */
	size_t row_room;
	uint64_t start_ns, start_cpu_ns; /* of the first look: what loading took is over */
	uint64_t looks, exits_lost;
	bool stop;
};

/* ---- the report --------------------------------------------------------------------------- */

static const char *or_null(const char *text)
{
	return *text ? text : NULL;
}

/* Only for what grows: nothing else has an end in sight. */
static void fill_limit(struct survey_row *row, const struct cgroup *cgroup)
{
	uint64_t left, machine;
	bool known;

	if (row->trend.kind != TREND_GROWING || row->trend.growth <= 0 || row->ended)
		return;
	known = !cgroup_memory_left(cgroup, &left);
	if (!machine_memory_left(&machine) && (!known || machine < left)) {
		left = machine;
		known = true;
	}
	row->limit_known = known;
	if (known)
		row->limit_s = (double)left / row->trend.growth;
}

static void fill_row(struct survey_row *row, const struct history_process *p,
		     const struct survey_process *data)
{
	*row = (struct survey_row){
		.process = p->now,
		.trend = p->trend,
		.of_children = p->of_children,
		.ended = p->ended,
		.samples = p->samples,
		.children_exited = p->children_exited,
		.children_peak = p->children_peak,
		.low_then = p->low_then,
		.low_now = p->low_now,
		.cgroup = or_null(data->cgroup.path),
		.unit = or_null(data->cgroup.unit),
		.container = or_null(data->container),
		.runtime = or_null(data->cgroup.runtime),
		.pod = or_null(data->cgroup.pod),
		.drill = data->drilled || data->drill.open ? &data->drill : NULL,
	};
	row->spark_count = history_values(p, row->spark, SURVEY_SPARK);
	fill_limit(row, &data->cgroup);
}

static void add_rest(struct survey_rest *rest, const struct process_sample *process)
{
	rest->count++;
	rest->anon += process->anon;
	rest->swap += process->swap;
	rest->shmem += process->shmem;
}

/* Who a report is for. */
enum reader {
	FOR_PEOPLE,  /* the top N, and last lines of what has exited */
	FOR_FILES,   /* everything; comes before the one for people */
	FOR_METRICS, /* the top N of those that live */
};

/*
 * One that has exited has a last line, once, if it was shown before or there is something to say.
 */
static bool has_last_line(const struct history_process *process, struct survey_process *data,
			  enum reader reader)
{
	if (reader == FOR_METRICS || data->told ||
	    (!data->shown && !data->drilled && process->trend.kind != TREND_GROWING))
		return false;
	data->told = reader == FOR_PEOPLE;
	return true;
}

static int fill_rows(struct survey *s, size_t top, enum reader reader, struct survey_report *report)
{
	struct history_process *const *ranked;
	size_t count, shown = 0;

	ranked = history_ranked(s->history, &count);
	if (!ranked)
		return -ENOMEM;
	if (count > s->row_room) {
		struct survey_row *grown = reallocarray(s->rows, count, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		s->rows = grown;
		s->row_room = count;
	}
	report->rows = s->rows;
	for (size_t i = 0; i < count; i++) {
		struct survey_process *data = survey_process_of(ranked[i]);

		if (!data)
			return -ENOMEM;
		if (!scope_has(s->scope, ranked[i], data))
			continue;
		if (ranked[i]->ended) {
			if (!has_last_line(ranked[i], data, reader))
				continue;
		} else {
			bool fits = shown++ < top;

			report->process_count++;
			report->growing_count += ranked[i]->trend.kind == TREND_GROWING;
			if (reader == FOR_PEOPLE)
				data->shown = fits;
			if (!fits) {
				add_rest(&report->rest, &ranked[i]->now);
				continue;
			}
		}
		fill_row(&s->rows[report->row_count++], ranked[i], data);
	}
	return 0;
}

static void fill_totals(const struct survey *s, struct survey_totals *totals)
{
	uint64_t anon;

	drill_totals(s->drill, totals);
	totals->looks = s->looks;
	totals->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	totals->left_out = history_left_out(s->history);
	totals->exits_lost = s->exits_lost;
	/* What cannot be read is 0: unknown. */
	proc_memory(getpid(), &totals->resident, &anon);
}

static int make_report(struct survey *s, size_t top, enum reader reader,
		       struct survey_report *report)
{
	uint64_t elapsed = monotonic_ns() - s->start_ns;

	*report = (struct survey_report){
		.time_ns = clock_ns(CLOCK_REALTIME),
		.elapsed_ns = elapsed,
		.source = survey_reader_source(s->reader) == SURVEY_BPF ? "bpf" : "proc",
		.watched_count = drill_watched(s->drill),
		.probe_share = drill_share(s->drill),
		.budget_share = s->config->probes.wanted ? s->config->probes.budget / 1000.0 : 0,
		.sample_bytes = drill_sample_bytes(s->drill),
		.tool_known = elapsed >= NS_PER_S,
	};
	fill_totals(s, &report->totals);
	if (report->tool_known)
		report->tool_share =
			(double)(report->totals.cpu_ns - s->start_cpu_ns) / (double)elapsed;
	return fill_rows(s, top, reader, report);
}

static int write_files(struct survey *s, bool final)
{
	struct survey_report report;
	int err = 0;

	if (!s->page && !s->recording)
		return 0;
	err = make_report(s, SIZE_MAX, FOR_FILES, &report);
	report.final = final;
	if (!err && s->recording)
		err = output_survey(s->recording, &report);
	if (!err && s->page)
		err = output_survey(s->page, &report);
	return err;
}

static int print_report(struct survey *s, bool final)
{
	struct survey_report report;
	int err = write_files(s, final);

	if (err == -EPIPE)
		s->stop = true;
	if (err)
		return err == -EPIPE ? 0 : err;
	err = make_report(s, s->config->show.top, FOR_PEOPLE, &report);
	report.final = final;
	interruptible_begin();
	if (!err && !s->page)
		err = s->config->show.format->show_survey(&s->output, &report);
	interruptible_end();
	if (err == -EPIPE) { /* a reader that has had enough is no error */
		s->stop = true;
		return 0;
	}
	return err ? log_errno(err, "cannot write to %s",
			       s->config->show.output ? s->config->show.output : "standard output")
		   : 0;
}

static int publish_metrics(struct survey *s)
{
	struct survey_report report;
	int err;

	if (!s->metrics)
		return 0;
	err = make_report(s, s->config->metrics.processes, FOR_METRICS, &report);
	for (int i = 0; i < METRICS_SYNTAXES && !err; i++) {
		enum metrics_syntax syntax = (enum metrics_syntax)i;
		char *text;
		size_t size;

		err = survey_format_metrics(&report, syntax, &text, &size);
		if (!err)
			err = metrics_server_publish(s->metrics, syntax, text, size);
	}
	return err ? log_errno(err, "cannot make the metrics") : 0;
}

/* ---- the loop ----------------------------------------------------------------------------- */

static int look(struct survey *s)
{
	const struct process_list *list;
	int err = survey_reader_read(s->reader, &list);

	if (err)
		return err;
	s->exits_lost = list->exits_lost;
	err = history_update(s->history, monotonic_ns(), list);
	if (err)
		return log_errno(err, "cannot keep the processes' history");
	if (history_left_out(s->history) && !s->looks)
		log_warn("%zu processes are left out: more than %d are not followed",
			 history_left_out(s->history), HISTORY_MAX);
	err = drill_tick(s->drill);
	s->looks++;
	if (!err)
		err = publish_metrics(s);
	if (!err && s->config->pace.count && s->looks >= s->config->pace.count) {
		s->stop = true;
		return 0;
	}
	return err ? err : print_report(s, false);
}

static int on_signal(struct survey *s, const struct loop_events *events)
{
	struct signalfd_siginfo info;
	int err = 0;

	while (loop_events_signal(events, &info)) {
		if (info.ssi_signo == SIGUSR1)
			err = print_report(s, false);
		else if (info.ssi_signo != SIGCHLD)
			s->stop = true;
	}
	return err;
}

static int turn(struct survey *s, const struct loop_events *events)
{
	struct pollfd fds[] = {
		{.fd = events->signals, .events = POLLIN},
		{.fd = events->timer, .events = POLLIN},
		{.fd = drill_fd(s->drill), .events = POLLIN}, /* -1 is ignored */
	};
	int err;

	if (poll(fds, ARRAY_SIZE(fds), drill_open(s->drill) ? TICK_MS : -1) < 0)
		return errno == EINTR ? 0 : log_errno(errno, "poll");
	err = drill_process(s->drill);
	if (!err && fds[0].revents)
		err = on_signal(s, events);
	if (!err && fds[1].revents && loop_events_interval(events))
		return look(s);
	return !err && drill_open(s->drill) ? drill_tick(s->drill) : err;
}

static int run(struct survey *s)
{
	struct loop_events events;
	int err = loop_events_open(s->config->pace.interval_ns, &events);

	s->start_ns = monotonic_ns();
	s->start_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (!err)
		err = look(s);
	while (!err && !s->stop)
		err = turn(s, &events);
	loop_events_close(&events);
	if (err)
		return err;
	drill_close(s->drill);
	return print_report(s, true);
}

/* ---- beginning and end -------------------------------------------------------------------- */

static int open_recording(struct survey *s)
{
	struct show_config show = s->config->show;

	if (!s->config->record)
		return 0;
	show.format = &export_recording;
	show.output = s->config->record;
	return output_open(&show, false, 0, false, &s->recording);
}

static int open_output(struct survey *s)
{
	const struct survey_config *o = s->config;
	struct survey_output *out = &s->output;
	int err = open_recording(s);

	if (err || !o->show.format->show_survey)
		return err ? err : output_open(&o->show, false, 0, true, &s->page);
	out->out = o->show.output ? interruptible_open(o->show.output) : stdout;
	if (!out->out)
		return log_errno(errno, "cannot open %s for writing", o->show.output);
	output_survey_options(&o->show, out);
	return 0;
}

static int prepare(struct survey *s)
{
	int err = open_output(s);

	if (!err)
		err = survey_reader_new(SURVEY_AUTO, &s->reader);
	if (err)
		return err;
	s->history = history_new(survey_process_free);
	s->scope = scope_new(s->config);
	if (s->history && s->scope)
		s->drill = drill_new(s->config, s->history, s->scope);
	if (!s->drill)
		return log_errno(ENOMEM, "survey");
	return s->config->metrics.wanted
		       ? metrics_server_new(&s->config->metrics.address, &s->metrics)
		       : 0;
}

static int finish(struct survey *s)
{
	int err = 0;

	metrics_server_free(s->metrics);
	drill_free(s->drill);
	history_free(s->history);
	scope_free(s->scope);
	survey_reader_free(s->reader);
	free(s->rows);
	if (output_close(s->page) || output_close(s->recording))
		err = -EIO;
	interruptible_begin();
	if (s->config->show.output && s->output.out && fclose(s->output.out))
		err = log_errno(errno, "cannot write to %s", s->config->show.output);
	interruptible_end();
	return err;
}

int cmd_survey(const union command_config *command)
{
	const struct survey_config *config = &command->survey;
	struct survey s = {.config = config};
	struct rlimit old_files;
	sigset_t old;
	int err, close_err;

	if (loop_block_signals(&old))
		return 1;
	loop_raise_file_limit(&old_files);
	err = prepare(&s);
	/*
	 * Each window loads programs anew, and has the kernel count their run time: that takes
	 * CAP_SYS_ADMIN.
	 */
	if (!err && privilege_drop(true))
		log_debug("cannot drop privileges");
	if (!err)
		err = run(&s);
	close_err = finish(&s);
	return err || close_err ? 1 : 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/live/surveyor.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/log.h"
#include "user/base/parse.h"
#include "user/base/util.h"
#include "user/export/export.h"
#include "user/export/growth_text.h"
#include "user/survey/survey.h"

/* Decades are no limit. */
#define FAR_S 1e9

struct surveyor {
	struct survey_config config;
	struct survey_viewer viewer;
	struct mailbox *mailbox;
	struct live_request request; /* the last one */
	bool answered;
	pthread_t thread;
	bool started;
	int err; /* the thread's, when it has ended */
};

/* ---- the list ----------------------------------------------------------------------------- */

static uint64_t surveyor_bytes(const struct survey_row *row)
{
	return row->process.anon + row->process.swap;
}

static const char *surveyor_where(const struct survey_row *row)
{
	return row->container ?: row->pod ?: row->unit ?: row->cgroup;
}

static bool surveyor_wants(const struct survey_row *row, const char *part)
{
	const char *const texts[] = {row->process.comm, row->unit,     row->container,
				     row->pod,		row->pod_name, row->cgroup};
	char pid[16];

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (texts[i] && strcasestr(texts[i], part))
			return true;
	}
	snprintf(pid, sizeof(pid), "%d", (int)row->process.pid);
	return !strcmp(pid, part);
}

static int surveyor_compare_doubles(double a, double b)
{
	return a > b ? -1 : a < b;
}

static double surveyor_growth(const struct survey_row *row)
{
	return row->trend.growth_known ? row->trend.growth : 0;
}

static double surveyor_limit(const struct survey_row *row)
{
	return row->limit_known ? row->limit_s : INFINITY;
}

/* The report's rows are in the survey's order: of two equal ones the first stays first. */
static int surveyor_compare(const void *a, const void *b, void *ctx)
{
	const struct survey_row *x = *(const struct survey_row *const *)a;
	const struct survey_row *y = *(const struct survey_row *const *)b;
	const struct live_request *request = ctx;
	int order = 0;

	switch ((enum survey_order)request->sort) {
	case SURVEY_BY_MEMORY:
		order = surveyor_compare_doubles((double)surveyor_bytes(x),
						 (double)surveyor_bytes(y));
		break;
	case SURVEY_BY_RSS:
		order = surveyor_compare_doubles((double)x->process.rss, (double)y->process.rss);
		break;
	case SURVEY_BY_GROWTH:
		order = surveyor_compare_doubles(surveyor_growth(x), surveyor_growth(y));
		break;
	case SURVEY_BY_LIMIT:
		order = surveyor_compare_doubles(surveyor_limit(y), surveyor_limit(x));
		break;
	case SURVEY_BY_PID:
		order = x->process.pid < y->process.pid ? -1 : x->process.pid > y->process.pid;
		break;
	case SURVEY_BY_NAME:
		order = strcmp(x->process.comm, y->process.comm);
		break;
	case SURVEY_BY_SUSPICION:
	case SURVEY_ORDERS:
		break;
	}
	return order ?: x < y ? -1 : x > y;
}

static int surveyor_fill_process(const struct survey_row *row, uint64_t now_ns,
				 struct live_process *p)
{
	const char *where = surveyor_where(row);

	*p = (struct live_process){
		.id = live_process_id(row->process.pid, row->process.start_ticks),
		.pid = row->process.pid,
		.bytes = surveyor_bytes(row),
		.rss = row->process.rss,
		.trend = row->trend,
		.spark_count = row->spark_count,
		.ended = row->ended,
		.limit_known = row->limit_known,
		.limit_s = row->limit_s,
		.watched = row->drill && row->drill->open,
		.found = row->drill && !row->drill->open,
	};
	if (row->growth.state == GROWTH_GOES_ON && row->growth.since_ns < now_ns)
		p->grows_for_ns = now_ns - row->growth.since_ns;
	if (row->limit_known && row->limit_s < FAR_S)
		growth_text_time(p->full_at, now_ns + (uint64_t)(row->limit_s * 1e9), now_ns);
	memcpy(p->comm, row->process.comm, sizeof(p->comm));
	memcpy(p->spark, row->spark, sizeof(p->spark));
	p->where = where ? strdup(where) : NULL;
	return where && !p->where ? -ENOMEM : 0;
}

static int surveyor_fill_list(struct surveyor *s, const struct survey_report *report,
			      struct live_view *view)
{
	const struct live_request *request = &s->request;
	_cleanup_free_ const struct survey_row **rows =
		calloc(report->row_count + 1, sizeof(struct survey_row *));
	int err = rows ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < report->row_count; i++) {
		if (!*request->filter || surveyor_wants(&report->rows[i], request->filter))
			rows[view->ranked++] = &report->rows[i];
	}
	if (err)
		return err;
	qsort_r(rows, view->ranked, sizeof(struct survey_row *), surveyor_compare, &s->request);
	view->first = request->first < view->ranked ? request->first : view->ranked;
	while (!err && view->row_count < request->count &&
	       view->first + view->row_count < view->ranked) {
		err = surveyor_fill_process(rows[view->first + view->row_count], report->time_ns,
					    &view->processes[view->row_count]);
		view->row_count++;
	}
	return err;
}

/* ---- the page of a process ---------------------------------------------------------------- */

static const struct survey_row *surveyor_find(const struct survey_report *report, uint64_t id)
{
	for (size_t i = 0; i < report->row_count; i++) {
		const struct process_sample *p = &report->rows[i].process;

		if (live_process_id(p->pid, p->start_ticks) == id)
			return &report->rows[i];
	}
	return NULL;
}

static void surveyor_put_process(const struct survey_row *row, uint64_t now_ns, FILE *out)
{
	char bytes[FORMAT_BYTES_MAX];

	fprintf(out, "%d (%s)  %s", (int)row->process.pid, row->process.comm,
		format_bytes(bytes, surveyor_bytes(row)));
	if (row->trend.growth_known)
		fprintf(out, ", %s an hour",
			format_bytes_signed(bytes, saturate_i64(row->trend.growth * 3600)));
	if (row->growth.state != GROWTH_NONE)
		fputs(": ", out);
	if (!growth_text_put(out, row, now_ns) && row->trend.kind != TREND_UNKNOWN &&
	    row->trend.reason)
		fprintf(out, ": %s", row->trend.reason);
	fputc('\n', out);
}

static void surveyor_put_drill(const struct surveyor *s, const struct survey_report *report,
			       const struct survey_drill *drill, FILE *out)
{
	const struct export_options options = {
		.width = s->request.cols,
		.sites = report->sites ? *report->sites : (struct site_rules){0},
	};
	char bytes[FORMAT_BYTES_MAX], window[FORMAT_DURATION_MAX];

	if (drill->report)
		fprintf(out,
			"\nIn %s of sampled probes its memory changed by %s, and this was kept:\n",
			format_duration(window, drill->window_ns),
			format_bytes_signed(bytes, drill->grown));
	if (drill->note)
		fprintf(out, "\n%s\n", drill->note);
	for (size_t i = 0; drill->report && i < drill->shown_count; i++)
		export_put_stack(out, &options, drill->report, drill->shown[i]);
}

static void surveyor_put_page(const struct surveyor *s, const struct survey_report *report,
			      FILE *out)
{
	const struct survey_row *row = surveyor_find(report, s->request.stack);

	if (!row) {
		fputs("This process has ended.\n", out);
		return;
	}
	surveyor_put_process(row, report->time_ns, out);
	if (row->drill && row->drill->open)
		fputs("\nProbes are on it now; what they find is here when they are off again.\n",
		      out);
	else if (!s->config.probes.wanted)
		fputs("\nNo probes are wanted (--no-drill).\n", out);
	else if (!row->drill)
		fputs("\nProbes come to it as soon as their budget allows.\n", out);
	if (row->drill)
		surveyor_put_drill(s, report, row->drill, out);
	fprintf(out, "\nAll of it, for as long as you like: memleakbpf top -p %d\n",
		(int)row->process.pid);
}

static int surveyor_fill_page(const struct surveyor *s, const struct survey_report *report,
			      struct live_view *view)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return -ENOMEM;
	surveyor_put_page(s, report, out);
	return close_memstream(out) ?: live_text_set(&view->text, text, s->request.cols);
}

/* ---- the survey's callbacks --------------------------------------------------------------- */

static void surveyor_fill_head(const struct survey_report *report, struct live_view *view)
{
	view->state = LIVE_RUNNING;
	view->elapsed_ns = report->elapsed_ns;
	view->stacks = report->process_count;
	view->survey = (struct live_survey){
		.processes = report->process_count,
		.growing = report->growing_count,
		.watched = report->watched_count,
		.tool_known = report->tool_known,
		.probes = report->probe_share,
		.budget = report->budget_share,
		.tool = report->tool_share,
	};
}

static void surveyor_on_look(void *ctx, const struct survey_report *report)
{
	struct surveyor *s = ctx;
	struct live_request request;
	struct live_view *view;
	int err;

	mailbox_request(s->mailbox, &request);
	/* Paused, the picture stays until another one is asked for. */
	if (request.paused && s->answered && live_request_same(&request, &s->request))
		return;
	s->request = request;
	s->answered = true;
	view = live_view_new(s->request.count, true);
	err = view ? surveyor_fill_list(s, report, view) : -ENOMEM;
	if (!err) {
		view->request = s->request;
		surveyor_fill_head(report, view);
	}
	if (!err && s->request.page == LIVE_PAGE_STACK)
		err = surveyor_fill_page(s, report, view);
	if (!err) {
		mailbox_publish(s->mailbox, view);
		return;
	}
	live_view_free(view);
	log_errno(err, "top");
}

static bool surveyor_on_asked(void *ctx, pid_t *pid, uint64_t *start_ticks)
{
	struct live_request request;
	struct surveyor *s = ctx;

	mailbox_asked(s->mailbox);
	mailbox_rest(s->mailbox);
	mailbox_request(s->mailbox, &request);
	if (request.page == LIVE_PAGE_STACK) {
		*pid = live_process_pid(request.stack);
		*start_ticks = live_process_start(request.stack);
	}
	return !mailbox_stopped(s->mailbox);
}

/* ---- the thread --------------------------------------------------------------------------- */

struct surveyor *surveyor_new(const struct survey_config *config, struct mailbox *mailbox)
{
	struct surveyor *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->config = *config;
	s->mailbox = mailbox;
	s->viewer = (struct survey_viewer){.ctx = s,
					   .asked = mailbox_asked_fd(mailbox),
					   .on_asked = surveyor_on_asked,
					   .look = surveyor_on_look};
	s->config.viewer = &s->viewer;
	return s;
}

static void *surveyor_run(void *ctx)
{
	struct surveyor *s = ctx;

	s->err = survey_run(&s->config);
	mailbox_end(s->mailbox);
	return NULL;
}

int surveyor_start(struct surveyor *s)
{
	int err = pthread_create(&s->thread, NULL, surveyor_run, s);

	s->started = !err;
	return err ? log_errno(err, "cannot start a thread") : 0;
}

int surveyor_free(struct surveyor *s)
{
	int err;

	if (!s)
		return 0;
	if (s->started)
		pthread_join(s->thread, NULL);
	err = s->err;
	free(s);
	return err;
}

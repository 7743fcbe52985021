// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the page of a survey shows: the memory of every process over time, its trend, and as targets
 * what drills have found.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/export/html.h"
#include "user/export/json_parts.h"

/* As often as a process's memory is kept; thinned out as the points of targets are. */
#define MAX_TIMES  256
#define MIN_TIMES  4
#define MAX_VALUES (16u << 20) /* of times and processes; 8 bytes each */
#define MAX_ENDED  1024 /* processes that have exited, beyond which only those are kept that grew */
#define ABSENT	   UINT64_MAX

static void process_free(struct html_process *p)
{
	free(p->where);
	free(p->values);
	html_misuses_release(&p->bad_accesses);
}

void html_survey_release(struct html_survey *v)
{
	for (size_t i = 0; i < v->process_count; i++)
		process_free(&v->processes[i]);
	free(v->processes);
	free(v->times);
	id_map_free(&v->process_of);
	id_map_free(&v->windows);
}

static void thin(struct html_survey *v)
{
	size_t kept = (v->time_count + 1) / 2;

	for (size_t i = 0; i < kept; i++)
		v->times[i] = v->times[2 * i];
	for (size_t k = 0; k < v->process_count; k++) {
		struct html_process *p = &v->processes[k];
		size_t from = (p->from + 1) / 2;

		for (size_t i = from; i < kept; i++)
			p->values[i - from] = p->values[2 * i - p->from];
		p->from = from;
	}
	v->time_count = kept;
	v->stride *= 2;
}

static size_t most_times(const struct html_survey *v)
{
	size_t most = v->process_count ? MAX_VALUES / v->process_count : MAX_TIMES;

	return most < MIN_TIMES ? MIN_TIMES : most < MAX_TIMES ? most : MAX_TIMES;
}

/* The last time is that of the last report; it stays if it is one of every n-th. */
static int add_time(struct html_survey *v, uint64_t time_ns)
{
	v->stride = v->stride ? v->stride : 1;
	if (v->time_count && (v->reports - 1) % v->stride)
		v->time_count--;
	while (v->time_count >= most_times(v))
		thin(v);
	if (!RESERVE_ITEM(v->times, v->time_count, v->time_room, MIN_TIMES))
		return -ENOMEM;
	for (size_t k = 0; k < v->process_count; k++) {
		struct html_process *p = &v->processes[k];

		if (!RESERVE_ITEM(p->values, v->time_count - p->from, p->room, 1))
			return -ENOMEM;
		p->values[v->time_count - p->from] = ABSENT;
	}
	v->times[v->time_count++] = time_ns;
	v->reports++;
	return 0;
}

static struct html_process *html_process_of(struct html_survey *v,
					    const struct process_sample *sample)
{
	struct html_process *grown, *p;
	uint32_t at;

	/* In a report with the end of one program the process goes on as another. */
	if (id_map_get(&v->process_of, (uint64_t)sample->pid, &at) &&
	    v->processes[at].sample.start_ticks == sample->start_ticks &&
	    !(v->processes[at].ended && v->processes[at].listed))
		return &v->processes[at];
	grown = reallocarray(v->processes, v->process_count + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	v->processes = grown;
	p = &grown[v->process_count];
	*p = (struct html_process){.from = v->time_count - 1};
	if (!RESERVE_ITEM(p->values, 0, p->room, 1) ||
	    id_map_put(&v->process_of, (uint64_t)sample->pid, (uint32_t)v->process_count)) {
		free(p->values);
		return NULL;
	}
	p->values[0] = ABSENT;
	v->process_count++;
	return p;
}

static int take_where(struct html_process *p, const struct survey_row *row)
{
	const char *where = row->container ? row->container
			    : row->pod	   ? row->pod
			    : row->unit	   ? row->unit
					   : row->cgroup;

	if (!where || (p->where && !strcmp(p->where, where)))
		return 0;
	free(p->where);
	p->where = strdup(where);
	return p->where ? 0 : -ENOMEM;
}

static int take_drill(struct html *h, const struct survey_drill *drill)
{
	const struct snapshot *s = drill ? drill->snapshot : NULL;
	uint32_t known;

	if (!s || id_map_get(&h->survey.windows, s->target_id, &known))
		return 0;
	if (id_map_put(&h->survey.windows, s->target_id, 1))
		return -ENOMEM;
	return html_take(h, drill->report);
}

/* Of one that has ended its last ones stay. */
static int take_bad(struct html *h, struct html_process *p, const struct survey_kept *kept)
{
	int err;

	if (!kept || !kept->guards.state.asked)
		return 0;
	err = html_take_misuses(h, &p->bad_accesses, kept->bad_accesses, kept->bad_access_count);
	p->bad_accesses.suppressed += kept->bad_accesses_suppressed_beside;
	p->bad_left_out = kept->bad_accesses_left_out;
	return err;
}

static int take_row(struct html *h, const struct survey_row *row, uint64_t rank)
{
	struct html_survey *v = &h->survey;
	struct html_process *p = html_process_of(v, &row->process);

	if (!p || take_where(p, row))
		return -ENOMEM;
	p->sample = row->process;
	p->trend = row->trend;
	p->ended = row->ended;
	p->rank = rank;
	p->listed = true;
	if (!row->ended)
		p->values[v->time_count - 1 - p->from] = row->process.anon + row->process.swap;
	return take_bad(h, p, row->kept) ?: take_drill(h, row->drill);
}

/* Of those that come and go there may be any number. */
static int forget_ended(struct html_survey *v)
{
	size_t ended = 0, kept = 0;
	int err = 0;

	for (size_t i = 0; i < v->process_count; i++)
		ended += v->processes[i].ended;
	if (ended <= MAX_ENDED)
		return 0;
	id_map_free(&v->process_of);
	for (size_t i = 0; i < v->process_count; i++) {
		struct html_process *p = &v->processes[i];

		if (p->ended && p->trend.kind != TREND_GROWING && !p->bad_accesses.count) {
			process_free(p);
			continue;
		}
		if (!p->ended)
			err = id_map_put(&v->process_of, (uint64_t)p->sample.pid, (uint32_t)kept);
		v->processes[kept++] = *p;
	}
	v->process_count = kept;
	return err;
}

int html_take_survey(struct html *h, const struct survey_report *report)
{
	struct html_survey *v = &h->survey;
	int err = add_time(v, report->time_ns);

	for (size_t i = 0; i < v->process_count; i++)
		v->processes[i].listed = false;
	for (size_t i = 0; i < report->row_count && !err; i++)
		err = take_row(h, &report->rows[i], i);
	for (size_t i = 0; i < v->process_count; i++)
		v->processes[i].ended |= !v->processes[i].listed;
	err = err ? err : forget_ended(v);
	h->taken = true;
	return err;
}

static void html_put_process(struct json *to, const struct html_survey *v,
			     const struct html_process *p)
{
	const struct trend *t = &p->trend;
	char comm[sizeof(p->sample.comm) + 1];

	snprintf(comm, sizeof(comm), "%.*s", (int)sizeof(p->sample.comm), p->sample.comm);
	json_line(to);
	json_object(to, NULL);
	json_signed(to, "pid", p->sample.pid);
	json_number(to, "rank", p->rank);
	json_bool(to, "ended", p->ended);
	json_text(to, "comm", *comm ? comm : "?");
	json_text(to, "where", p->where);
	if (trend_name(t->kind)) {
		json_text(to, "trend", trend_name(t->kind));
		json_bool(to, "leaking", t->leaking);
	}
	json_text(to, "reason", t->reason);
	if (t->growth_known)
		json_put_rate(to, "growth", t->growth);
	json_array(to, "bytes");
	for (size_t i = 0; i < v->time_count; i++) {
		if (i < p->from || p->values[i - p->from] == ABSENT)
			json_null(to, NULL);
		else
			json_number(to, NULL, p->values[i - p->from]);
	}
	json_end(to);
	html_put_misuses(to, &p->bad_accesses, MISUSE_BY_GUARD);
	if (p->bad_left_out)
		json_number(to, "bad_accesses_left_out", p->bad_left_out);
	json_end(to);
}

void html_put_survey(struct json *to, const struct html_survey *v)
{
	json_line(to);
	json_object(to, "survey");
	json_array(to, "time");
	for (size_t i = 0; i < v->time_count; i++)
		json_number(to, NULL, v->times[i] / NS_PER_MS);
	json_end(to);
	json_array(to, "processes");
	for (size_t i = 0; i < v->process_count; i++)
		html_put_process(to, v, &v->processes[i]);
	json_end(to);
	json_end(to);
}

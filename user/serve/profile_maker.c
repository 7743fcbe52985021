// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/serve/profile_maker.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/export/pprof_profile.h"

#define REST 3

enum { OK = 200, BAD_REQUEST = 400, NOT_FOUND = 404, UNAVAILABLE = 503 };

/* The process that is meant; strings of its own. */
struct maker_process {
	pid_t asked;   /* 0: the only one */
	size_t others; /* that are sampled, too; of asked 0 */
	pid_t pid;     /* 0: none was found */
	bool gated;
	char *unit, *container, *pod, *pod_name, *build_id, *reason;
};

static void maker_release(struct maker_process *p)
{
	free(p->unit);
	free(p->container);
	free(p->pod);
	free(p->pod_name);
	free(p->build_id);
	free(p->reason);
}

/* What is lost for want of memory is a label. */
static char *maker_copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

static int maker_visit(void *ctx, const struct kept_process *p)
{
	struct maker_process *found = ctx;

	if (found->asked ? p->pid != found->asked : !p->gated)
		return 0;
	if (found->pid) {
		found->others++;
		return 0;
	}
	found->pid = p->pid;
	found->gated = p->gated;
	found->unit = maker_copy(p->unit);
	found->container = maker_copy(p->container);
	found->pod = maker_copy(p->pod);
	found->pod_name = maker_copy(p->pod_name);
	found->build_id = maker_copy(p->build_id);
	found->reason = maker_copy(p->reason);
	return 0;
}

/* ---- answers ------------------------------------------------------------------------------ */

static __attribute__((format(printf, 3, 4))) void maker_refuse(struct profile_answer *answer,
							       unsigned status, const char *format,
							       ...)
{
	va_list args;
	int n;

	*answer = (struct profile_answer){.status = status, .text = "out of memory\n"};
	va_start(args, format);
	n = vasprintf(&answer->data, format, args);
	va_end(args);
	if (n < 0)
		answer->data = NULL;
	else
		answer->size = (size_t)n;
}

/* Is there such a process? */
static bool maker_find(const struct profile_source *source, const struct profile_ask *ask,
		       struct maker_process *found, struct profile_answer *answer)
{
	*found = (struct maker_process){.asked = ask->pid};
	if (source->each(source->ctx, maker_visit, found))
		maker_refuse(answer, UNAVAILABLE, "the processes cannot be listed\n");
	else if (!ask->pid && found->others)
		maker_refuse(answer, BAD_REQUEST,
			     "%zu processes are kept: say which with ?pid=PID; /targets lists "
			     "them\n",
			     found->others + 1);
	else if (!ask->pid && !found->pid)
		maker_refuse(answer, NOT_FOUND,
			     "no process is sampled so far; /targets lists those that are\n");
	else if (!found->pid)
		maker_refuse(answer, NOT_FOUND,
			     "process %d is not one that --keep names; /targets lists those\n",
			     (int)ask->pid);
	else if (!found->gated)
		maker_refuse(answer, NOT_FOUND, "process %d is not sampled: %s\n", (int)found->pid,
			     found->reason ?: "it has just come");
	return !answer->status;
}

static void maker_fail(struct profile_answer *answer, pid_t pid, int err)
{
	if (err == -ESRCH)
		maker_refuse(answer, NOT_FOUND, "process %d is not sampled any more\n", (int)pid);
	else
		maker_refuse(answer, UNAVAILABLE, "no profile of process %d: %s\n", (int)pid,
			     strerror(-err));
}

static void maker_make(const struct profile_ask *ask, const struct maker_process *process,
		       struct report *report, struct profile_answer *answer)
{
	const struct pprof_about about = {
		.default_type = ask->allocs ? "alloc_space" : "inuse_space",
		.build_id = process->build_id,
		.difference = ask->seconds != 0,
	};
	uint8_t *data;
	size_t size;
	int err;

	report->place = (struct report_place){process->unit, process->container, process->pod,
					      process->pod_name};
	err = pprof_profile(report, &about, &data, &size);
	if (err)
		maker_fail(answer, process->pid, err);
	else
		*answer = (struct profile_answer){.status = OK, .data = (char *)data, .size = size};
}

/* True: it has been put back, to be gone on with later. */
static bool maker_put_back(struct profile_maker *m, struct profile_job *job, pid_t pid,
			   const struct report *report, struct profile_answer *answer)
{
	struct profile_base *base = profile_base_new(report);

	if (!base || !profile_queue_put_back(m->queue, job, base)) {
		profile_base_free(base);
		maker_refuse(answer, UNAVAILABLE,
			     "too much memory is taken by other requests with seconds=\n");
		return false;
	}
	log_debug("profile of process %d: the difference begins", (int)pid);
	return true;
}

static bool maker_answer(struct profile_maker *m, struct profile_job *job,
			 struct profile_answer *answer)
{
	const struct profile_ask *ask = profile_job_ask(job);
	const struct profile_base *base = profile_job_base(job);
	struct maker_process process;
	struct report *report = NULL;
	bool put_back = false;
	int err;

	if (maker_find(m->source, ask, &process, answer)) {
		err = m->source->snapshot(m->source->ctx, process.pid, &report);
		if (err)
			maker_fail(answer, process.pid, err);
		else if (ask->seconds && !base)
			put_back = maker_put_back(m, job, process.pid, report, answer);
		else if (base && !profile_base_subtract(base, report))
			maker_refuse(answer, NOT_FOUND,
				     "process %d has become another program meanwhile\n",
				     (int)process.pid);
		else
			maker_make(ask, &process, report, answer);
	}
	report_free(report);
	maker_release(&process);
	return !put_back;
}

/* ---- its share ---------------------------------------------------------------------------- */

int profile_maker_fd(const struct profile_maker *m)
{
	return monotonic_ns() < m->rest_until_ns ? -1 : profile_queue_fd(m->queue);
}

uint64_t profile_maker_due_ns(struct profile_maker *m)
{
	uint64_t due = profile_queue_due_ns(m->queue);

	return due != UINT64_MAX && due < m->rest_until_ns ? m->rest_until_ns : due;
}

void profile_maker_work(struct profile_maker *m)
{
	uint64_t start = monotonic_ns(), end, cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct profile_answer answer = {0};
	struct profile_job *job = start < m->rest_until_ns ? NULL : profile_queue_take(m->queue);

	if (!job)
		return;
	if (maker_answer(m, job, &answer))
		profile_queue_finish(m->queue, job, &answer);
	end = monotonic_ns();
	cpu = REST * (clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu);
	/* Where others have the CPU it takes longer: then half of our time is the survey's. */
	m->rest_until_ns = end + (cpu > end - start ? cpu : end - start);
	log_debug("a profile took %llu us", (unsigned long long)((end - start) / 1000));
}

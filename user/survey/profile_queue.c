// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/survey/profile_queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/base/log.h"

static const char late_text[] = "the survey has not come to it in time; try again\n";
static const char ends_text[] = "the survey ends\n";
#define UNAVAILABLE 503

struct profile_job {
	struct profile_ask ask;
	void *owner;
	uint64_t due_ns, deadline_ns;
	struct profile_base *base;
	struct profile_answer answer;
	bool working;  /* the survey has it */
	bool told;     /* its owner has been ready */
	bool released; /* and whoever has it frees it */
};

struct profile_queue {
	pthread_mutex_t lock;
	struct profile_job *jobs[PROFILE_QUEUE_MAX]; /* in the order in which they came */
	size_t count;
	bool closed;
	uint64_t wait_ns;
	int added; /* an eventfd */
	void (*wake)(void *ctx);
	void *ctx;
};

static void job_free(struct profile_job *job)
{
	profile_base_free(job->base);
	free(job->answer.data);
	free(job);
}

struct profile_queue *profile_queue_new(uint64_t wait_ns, void (*wake)(void *ctx), void *ctx)
{
	struct profile_queue *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->wait_ns = wait_ns;
	q->wake = wake;
	q->ctx = ctx;
	q->added = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (q->added < 0) {
		free(q);
		return NULL;
	}
	pthread_mutex_init(&q->lock, NULL);
	return q;
}

void profile_queue_free(struct profile_queue *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < q->count; i++)
		job_free(q->jobs[i]);
	close(q->added);
	pthread_mutex_destroy(&q->lock);
	free(q);
}

/* ---- of the serving thread ---------------------------------------------------------------- */

static void queue_tell_added(struct profile_queue *q)
{
	const uint64_t one = 1;

	if (write(q->added, &one, sizeof(one)) < 0 && errno != EAGAIN)
		log_debug("profiles: eventfd: %s", strerror(errno));
}

struct profile_job *profile_queue_add(struct profile_queue *q, const struct profile_ask *ask,
				      void *owner)
{
	struct profile_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->ask = *ask;
	job->owner = owner;
	job->due_ns = monotonic_ns();
	job->deadline_ns = job->due_ns + q->wait_ns;
	pthread_mutex_lock(&q->lock);
	if (q->closed || q->count == PROFILE_QUEUE_MAX) {
		free(job);
		job = NULL;
	} else {
		q->jobs[q->count++] = job;
	}
	pthread_mutex_unlock(&q->lock);
	if (job)
		queue_tell_added(q);
	return job;
}

uint64_t profile_queue_collect(struct profile_queue *q, void (*ready)(void *ctx, void *owner),
			       void *ctx)
{
	uint64_t now = monotonic_ns(), next = UINT64_MAX;

	pthread_mutex_lock(&q->lock);
	for (size_t i = 0; i < q->count; i++) {
		struct profile_job *job = q->jobs[i];

		if (job->told)
			continue;
		if (!job->answer.status && now >= job->deadline_ns)
			job->answer =
				(struct profile_answer){.status = UNAVAILABLE, .text = late_text};
		if (job->answer.status) {
			job->told = true;
			ready(ctx, job->owner);
		} else if (job->deadline_ns < next) {
			next = job->deadline_ns;
		}
	}
	pthread_mutex_unlock(&q->lock);
	return next;
}

struct profile_answer profile_queue_answer(struct profile_queue *q, struct profile_job *job)
{
	struct profile_answer answer;

	pthread_mutex_lock(&q->lock);
	answer = job->answer;
	job->answer.data = NULL;
	pthread_mutex_unlock(&q->lock);
	return answer;
}

void profile_queue_release(struct profile_queue *q, struct profile_job *job)
{
	bool working;

	pthread_mutex_lock(&q->lock);
	for (size_t i = 0; i < q->count; i++) {
		if (q->jobs[i] != job)
			continue;
		memmove(&q->jobs[i], &q->jobs[i + 1], (--q->count - i) * sizeof(q->jobs[0]));
		break;
	}
	working = job->working;
	job->released = true;
	pthread_mutex_unlock(&q->lock);
	if (!working)
		job_free(job);
}

void profile_queue_close(struct profile_queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->closed = true;
	for (size_t i = 0; i < q->count; i++) {
		if (!q->jobs[i]->answer.status)
			q->jobs[i]->answer =
				(struct profile_answer){.status = UNAVAILABLE, .text = ends_text};
	}
	pthread_mutex_unlock(&q->lock);
}

/* ---- of the survey's ---------------------------------------------------------------------- */

int profile_queue_fd(const struct profile_queue *q)
{
	return q->added;
}

static bool job_waits(const struct profile_job *job)
{
	return !job->working && !job->answer.status;
}

/* The lock is held. */
static struct profile_job *queue_first(const struct profile_queue *q)
{
	struct profile_job *first = NULL;

	for (size_t i = 0; i < q->count; i++) {
		if (job_waits(q->jobs[i]) && (!first || q->jobs[i]->due_ns < first->due_ns))
			first = q->jobs[i];
	}
	return first;
}

uint64_t profile_queue_due_ns(struct profile_queue *q)
{
	const struct profile_job *first;
	uint64_t due;

	pthread_mutex_lock(&q->lock);
	first = queue_first(q);
	due = first ? first->due_ns : UINT64_MAX;
	pthread_mutex_unlock(&q->lock);
	return due;
}

struct profile_job *profile_queue_take(struct profile_queue *q)
{
	struct profile_job *first;
	uint64_t count;

	if (read(q->added, &count, sizeof(count)) < 0 && errno != EAGAIN)
		log_debug("profiles: eventfd: %s", strerror(errno));
	pthread_mutex_lock(&q->lock);
	first = queue_first(q);
	if (first && first->due_ns > monotonic_ns())
		first = NULL;
	if (first)
		first->working = true;
	pthread_mutex_unlock(&q->lock);
	return first;
}

const struct profile_ask *profile_job_ask(const struct profile_job *job)
{
	return &job->ask;
}

const struct profile_base *profile_job_base(const struct profile_job *job)
{
	return job->base;
}

/* The lock is held: it is let go. */
static void queue_unlock_and_drop(struct profile_queue *q, struct profile_job *job)
{
	bool released = job->released;

	job->working = false;
	pthread_mutex_unlock(&q->lock);
	if (released)
		job_free(job);
}

void profile_queue_put_back(struct profile_queue *q, struct profile_job *job,
			    struct profile_base *base)
{
	pthread_mutex_lock(&q->lock);
	job->base = base;
	job->due_ns = monotonic_ns() + job->ask.seconds * NS_PER_S;
	job->deadline_ns = job->due_ns + q->wait_ns;
	queue_unlock_and_drop(q, job);
}

void profile_queue_finish(struct profile_queue *q, struct profile_job *job,
			  const struct profile_answer *answer)
{
	pthread_mutex_lock(&q->lock);
	if (!job->answer.status && !job->released) {
		job->answer = *answer;
	} else {
		free(answer->data);
	}
	profile_base_free(job->base);
	job->base = NULL;
	queue_unlock_and_drop(q, job);
	q->wake(q->ctx);
}

size_t profile_queue_base_bytes(struct profile_queue *q)
{
	size_t bytes = 0;

	pthread_mutex_lock(&q->lock);
	for (size_t i = 0; i < q->count; i++)
		bytes += q->jobs[i]->base ? profile_base_bytes(q->jobs[i]->base) : 0;
	pthread_mutex_unlock(&q->lock);
	return bytes;
}

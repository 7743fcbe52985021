// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/serve/profile_queue.h"

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
static const char crowded_text[] = "others have asked for profiles, too; try again\n";
#define UNAVAILABLE 503

struct profile_job {
	struct profile_ask ask;
	void *owner;
	struct share_owner asker;
	uint64_t due_ns, deadline_ns;
	struct profile_base *base;
	struct profile_answer answer;
	bool working;  /* the survey has it */
	bool told;     /* its owner has been ready */
	bool left;     /* its place is another's */
	bool released; /* and whoever has it frees it */
};

struct profile_queue {
	pthread_mutex_t lock;
	struct profile_job *jobs[PROFILE_QUEUE_JOBS_MAX]; /* in the order in which they came */
	size_t count;
	struct share_turns turns;
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

/* ---- shares; the lock is held --------------------------------------------------------------- */

/* It is answered, and holds nothing any more. The survey may have it. */
static void job_give_way(struct profile_job *job)
{
	job->answer = (struct profile_answer){.status = UNAVAILABLE, .text = crowded_text};
	job->left = true;
	if (!job->working) {
		profile_base_free(job->base);
		job->base = NULL;
	}
}

/* Has whoever has the most places lose his last. False: that is the asker; or all that he has is being read. */
static bool queue_make_place(struct profile_queue *q, const struct share_owner *asker)
{
	struct share_owner owners[PROFILE_QUEUE_MAX], most;
	size_t count = 0;

	for (size_t i = 0; i < q->count; i++) {
		if (!q->jobs[i]->left)
			owners[count++] = q->jobs[i]->asker;
	}
	if (count < PROFILE_QUEUE_MAX)
		return true;
	shares_sort(owners, count);
	most = shares_most(owners, count, asker);
	if (share_same_owner(&most, asker))
		return false;
	for (size_t i = q->count; i-- > 0;) {
		struct profile_job *job = q->jobs[i];

		if (job->left || job->answer.status || !share_same_owner(&job->asker, &most))
			continue;
		job_give_way(job);
		return true;
	}
	return false;
}

static size_t queue_base_bytes(const struct profile_queue *q, const struct share_owner *of)
{
	size_t bytes = 0;

	for (size_t i = 0; i < q->count; i++) {
		const struct profile_job *job = q->jobs[i];

		if (job->base && (!of || share_same_group(&job->asker, of)))
			bytes += profile_base_bytes(job->base);
	}
	return bytes;
}

/* The last of whose bases take most memory, and more than the asker's with `more` bytes. NULL: nobody's. */
static struct profile_job *queue_largest_of_others(const struct profile_queue *q,
						   const struct share_owner *asker, size_t more)
{
	size_t most = queue_base_bytes(q, asker) + more, bytes;
	struct profile_job *last = NULL;

	for (size_t i = 0; i < q->count; i++) {
		struct profile_job *job = q->jobs[i];

		if (!job->base || job->working || share_same_group(&job->asker, asker))
			continue;
		bytes = queue_base_bytes(q, &job->asker);
		if (bytes > most || (last && bytes == most)) {
			most = bytes;
			last = job;
		}
	}
	return last;
}

/* True where others lost theirs: they are to be told. */
static bool queue_make_memory(struct profile_queue *q, const struct profile_job *job, size_t more,
			      bool *enough)
{
	struct profile_job *other;
	bool some = false;

	while (!(*enough = queue_base_bytes(q, NULL) < PROFILE_BASES_MAX) &&
	       (other = queue_largest_of_others(q, &job->asker, more))) {
		job_give_way(other);
		some = true;
	}
	return some;
}

/* ---- of the serving thread ---------------------------------------------------------------- */

static void queue_tell_added(struct profile_queue *q)
{
	const uint64_t one = 1;

	if (write(q->added, &one, sizeof(one)) < 0 && errno != EAGAIN)
		log_debug("profiles: eventfd: %s", strerror(errno));
}

struct profile_job *profile_queue_add(struct profile_queue *q, const struct profile_ask *ask,
				      const struct share_owner *asker, void *owner)
{
	struct profile_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->ask = *ask;
	job->asker = *asker;
	job->owner = owner;
	job->due_ns = monotonic_ns();
	job->deadline_ns = job->due_ns + q->wait_ns;
	pthread_mutex_lock(&q->lock);
	if (q->closed || q->count == PROFILE_QUEUE_JOBS_MAX || !queue_make_place(q, asker)) {
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
	job->left = true;
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

static bool queue_is_before(const struct profile_queue *q, const struct profile_job *job,
			    const struct profile_job *other)
{
	int order = share_turns_compare(&q->turns, &job->asker, &other->asker);

	return order ? order < 0 : job->due_ns < other->due_ns;
}

/* The lock is held. What is due by then, and its turn; NULL: nothing is. */
static struct profile_job *queue_first(const struct profile_queue *q, uint64_t now)
{
	struct profile_job *first = NULL;

	for (size_t i = 0; i < q->count; i++) {
		struct profile_job *job = q->jobs[i];

		if (job_waits(job) && job->due_ns <= now &&
		    (!first || queue_is_before(q, job, first)))
			first = job;
	}
	return first;
}

uint64_t profile_queue_due_ns(struct profile_queue *q)
{
	uint64_t due = UINT64_MAX;

	pthread_mutex_lock(&q->lock);
	for (size_t i = 0; i < q->count; i++) {
		if (job_waits(q->jobs[i]) && q->jobs[i]->due_ns < due)
			due = q->jobs[i]->due_ns;
	}
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
	first = queue_first(q, monotonic_ns());
	if (first) {
		first->working = true;
		share_turns_note(&q->turns, &first->asker);
	}
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

bool profile_queue_put_back(struct profile_queue *q, struct profile_job *job,
			    struct profile_base *base)
{
	bool some, enough;

	pthread_mutex_lock(&q->lock);
	some = queue_make_memory(q, job, profile_base_bytes(base), &enough);
	if (enough) {
		job->base = base;
		job->due_ns = monotonic_ns() + job->ask.seconds * NS_PER_S;
		job->deadline_ns = job->due_ns + q->wait_ns;
		queue_unlock_and_drop(q, job);
	} else {
		pthread_mutex_unlock(&q->lock);
	}
	if (some)
		q->wake(q->ctx);
	return enough;
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
	size_t bytes;

	pthread_mutex_lock(&q->lock);
	bytes = queue_base_bytes(q, NULL);
	pthread_mutex_unlock(&q->lock);
	return bytes;
}

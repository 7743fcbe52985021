/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests for profiles, between the thread that serves and the survey's, which makes them when it comes to it: neither
 * waits for the other. Each request has a deadline, and is answered by then, whatever the survey is at. Those who ask have
 * equal shares, by user/serve/shares.h: of places, of the memory of what is kept for seconds=, and of turns.
 */
#ifndef MEMLEAKBPF_SERVE_PROFILE_QUEUE_H
#define MEMLEAKBPF_SERVE_PROFILE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/serve/profile_base.h"
#include "user/serve/shares.h"

#define PROFILE_QUEUE_MAX      128 /* requests that wait for their answers */
#define PROFILE_QUEUE_JOBS_MAX 512 /* those that have them, too, and are not released */
#define PROFILE_BASES_MAX      ((size_t)64 * 1024 * 1024) /* bytes */

struct profile_ask {
	pid_t pid;	  /* 0: the only one there is */
	bool allocs;	  /* and not the heap */
	unsigned seconds; /* what changes in that time; 0: all since it is sampled */
};

struct profile_answer {
	unsigned status;  /* of HTTP; 0: none yet */
	const char *text; /* for people; or */
	char *data;	  /* malloc'ed, of `size` bytes */
	size_t size;
};

struct profile_job;
struct profile_queue;

/* `wake` is called when there is something to collect, in the survey's thread. NULL when out of memory. */
struct profile_queue *profile_queue_new(uint64_t wait_ns, void (*wake)(void *ctx), void *ctx);
void profile_queue_free(struct profile_queue *queue); /* with all that is in it; NULL is fine */

/* ---- of the serving thread ---- */

/*
 * `owner` comes back when there is an answer. Where too many wait whoever has asked for the most loses his last: it is
 * answered with 503. NULL: that is this one, or it is closed.
 */
struct profile_job *profile_queue_add(struct profile_queue *queue, const struct profile_ask *ask,
				      const struct share_owner *asker, void *owner);

/*
 * Calls ready with the owner of each job that has been answered, or should have been by now, since the last time. Returns
 * when it is to be called again at the latest, by monotonic_ns().
 */
uint64_t profile_queue_collect(struct profile_queue *queue, void (*ready)(void *ctx, void *owner),
			       void *ctx);

/* Of a job whose owner was ready; data is taken from it, and its place is free. */
struct profile_answer profile_queue_answer(struct profile_queue *queue, struct profile_job *job);

/* Answered, or given up. */
void profile_queue_release(struct profile_queue *queue, struct profile_job *job);

/* What waits is answered with 503, and nothing is added any more. */
void profile_queue_close(struct profile_queue *queue);

/* ---- of the survey's ---- */

/* Readable: something has been added since the last profile_queue_take(). */
int profile_queue_fd(const struct profile_queue *queue);

/* When there is something to take, by monotonic_ns(); UINT64_MAX: nothing is there. */
uint64_t profile_queue_due_ns(struct profile_queue *queue);

/*
 * Of what is due: of those who ask each one's turn after the other's. NULL: nothing is. It comes back by one of the next
 * two.
 */
struct profile_job *profile_queue_take(struct profile_queue *queue);
const struct profile_ask *profile_job_ask(const struct profile_job *job);
/* What it was put back with; NULL: it was not. */
const struct profile_base *profile_job_base(const struct profile_job *job);

/*
 * Due again after its seconds; the base is the job's. Where all bases would take too much memory whoever has most of it
 * loses his last: it is answered with 503. False: that is this one, and nothing has been done.
 */
bool profile_queue_put_back(struct profile_queue *queue, struct profile_job *job,
			    struct profile_base *base);
/* The answer's data is the queue's. */
void profile_queue_finish(struct profile_queue *queue, struct profile_job *job,
			  const struct profile_answer *answer);

/* How much memory all bases take. */
size_t profile_queue_base_bytes(struct profile_queue *queue);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Threads that set something up and then wait for good. */
#ifndef MEMLEAKBPF_TESTS_VERDICT_THREAD_H
#define MEMLEAKBPF_TESTS_VERDICT_THREAD_H

#include <pthread.h>
#include <semaphore.h>

#include "verdict.h"

static sem_t thread_set_up;
static int thread_pipe[2];

/* Tells who started this thread that all is set up. */
SITE static void thread_tells(void)
{
	sem_post(&thread_set_up);
}

/* Never returns. Nothing that the thread's frames hold is overwritten. */
SITE static void thread_waits(void)
{
	char c;

	thread_tells();
	while (read(thread_pipe[0], &c, 1) <= 0)
		;
	NOT_A_TAIL_CALL();
}

static inline void *thread_main(void *body)
{
	((void (*)(void))body)();
	return NULL;
}

/* Runs `body` in a thread; returns once it has told that it is set up. The thread. */
static inline pthread_t thread_start(void (*body)(void))
{
	pthread_t thread;

	if (!thread_pipe[1] && (pipe(thread_pipe) || sem_init(&thread_set_up, 0, 0)))
		truth_die("pipe");
	if (pthread_create(&thread, NULL, thread_main, (void *)body))
		truth_die("pthread_create");
	while (sem_wait(&thread_set_up))
		;
	return thread;
}

#endif

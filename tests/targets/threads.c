// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Eight threads that allocate and free each other's blocks as fast as they can. Usage: threads
 * [MILLISECONDS]
 */
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "truth.h"

#define THREADS 8
#define SLOTS	4096

struct block {
	struct truth_site *site;
	size_t size;
};

static struct block *slots[SLOTS];
static sem_t start[THREADS], done;
static int run_ms = 5000;

SITE static struct block *site_small(size_t size)
{
	struct block *b = malloc(size);

	truth_count(THIS_SITE(), b, size);
	b->site = THIS_SITE();
	b->size = size;
	return b;
}

SITE static struct block *site_zeroed(size_t size)
{
	struct block *b = calloc(1, size);

	truth_count(THIS_SITE(), b, size);
	b->site = THIS_SITE();
	b->size = size;
	return b;
}

SITE static struct block *site_resized(struct block *old, size_t size)
{
	struct truth_site *was = old->site;
	size_t was_size = old->size;
	struct block *b = realloc(old, size);

	truth_uncount(was, was_size);
	truth_count(THIS_SITE(), b, size);
	b->site = THIS_SITE();
	b->size = size;
	return b;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void step(unsigned int *seed)
{
	unsigned int r = (unsigned int)rand_r(seed);
	size_t size = sizeof(struct block) + (r >> 8) % 2000;
	struct block *mine, *old;

	mine = r % 3 ? site_small(size) : site_zeroed(size);
	if (r % 5 == 0)
		mine = site_resized(mine, size * 2);
	old = __atomic_exchange_n(&slots[r % SLOTS], mine, __ATOMIC_ACQ_REL);
	if (old) {
		truth_uncount(old->site, old->size);
		free(old);
	}
}

static void *work(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg + 1;

	for (;;) {
		int64_t end;

		sem_wait(&start[(uintptr_t)arg]);
		end = now_ms() + run_ms;
		while (now_ms() < end)
			for (int i = 0; i < 100; i++)
				step(&seed);
		sem_post(&done);
	}
	return NULL;
}

static const char *obey(const char *command)
{
	if (!strcmp(command, "go")) {
		for (int i = 0; i < THREADS; i++)
			sem_post(&start[i]);
		for (int i = 0; i < THREADS; i++)
			sem_wait(&done);
	} else if (!strcmp(command, "free")) {
		for (int i = 0; i < SLOTS; i++) {
			if (slots[i]) {
				truth_uncount(slots[i]->site, slots[i]->size);
				free(slots[i]);
			}
			slots[i] = NULL;
		}
	} else {
		return NULL;
	}
	return "";
}

int main(int argc, char **argv)
{
	if (argc > 1)
		run_ms = atoi(argv[1]);
	sem_init(&done, 0, 0);
	for (uintptr_t i = 0; i < THREADS; i++) {
		pthread_t thread;

		sem_init(&start[i], 0, 0);
		if (pthread_create(&thread, NULL, work, (void *)i))
			truth_die("pthread_create");
	}
	return truth_serve(obey);
}

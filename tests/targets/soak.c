// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Long work of a known mix, in threads: blocks that leak, that come and go, that grow and shrink by
 * realloc; threads that come and go and leave a block behind; storms of children. "hold" lets every
 * thread finish what it is at, and prints the truth; "on" lets them go on.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "truth.h"

#define WORKERS	       3
#define SLOTS	       128
#define LEAK_EVERY     1000 /* turns of a worker */
#define SHORT_THREADS  5    /* at a time */
#define STORM	       20   /* children */
#define TURNS_PER_HOLD 50   /* after so many a worker looks whether it is to wait */

static pthread_rwlock_t work = PTHREAD_RWLOCK_INITIALIZER;
static uint64_t turns, threads, children, failed_children;

SITE static void *soak_leak(size_t size)
{
	return truth_count(THIS_SITE(), malloc(size), size);
}

SITE static void *soak_churn(size_t size)
{
	return truth_count(THIS_SITE(), malloc(size), size);
}

SITE static void *soak_first(size_t size)
{
	return truth_count(THIS_SITE(), calloc(1, size), size);
}

/* The new block counts to this site, the old one as freed of the site that made it. */
SITE static void *soak_resize(void *old, struct truth_site *from, size_t old_size, size_t size)
{
	void *p = realloc(old, size);

	NOT_A_TAIL_CALL();
	if (!p)
		truth_die("soak: realloc failed");
	truth_uncount(from, old_size);
	return truth_count(THIS_SITE(), p, size);
}

SITE static void *soak_thread_leak(size_t size)
{
	return truth_count(THIS_SITE(), malloc(size), size);
}

static void release(struct truth_site *site, void *p, size_t size)
{
	if (!p)
		return;
	truth_uncount(site, size);
	free(p);
}

static void turn(unsigned int *seed, void **table, size_t *sizes)
{
	unsigned int i = (unsigned int)rand_r(seed) % SLOTS;
	size_t first = 16 + i, second = 16 + (size_t)rand_r(seed) % 4000;
	void *p;

	release(truth_site("soak_churn"), table[i], sizes[i]);
	sizes[i] = 16 + (size_t)rand_r(seed) % 2000;
	table[i] = soak_churn(sizes[i]);
	p = soak_first(first);
	p = soak_resize(p, truth_site("soak_first"), first, second);
	release(truth_site("soak_resize"), p, second);
	if (__atomic_add_fetch(&turns, 1, __ATOMIC_RELAXED) % LEAK_EVERY == 0)
		soak_leak(64);
}

static void *worker(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg + 11;
	void *table[SLOTS] = {NULL};
	size_t sizes[SLOTS] = {0};

	for (;;) {
		pthread_rwlock_rdlock(&work);
		for (int i = 0; i < TURNS_PER_HOLD; i++)
			turn(&seed, table, sizes);
		pthread_rwlock_unlock(&work);
	}
	return NULL;
}

static void *short_thread(void *arg)
{
	void *p = soak_churn(300);

	(void)arg;
	soak_thread_leak(24);
	release(truth_site("soak_churn"), p, 300);
	return NULL;
}

static void thread_storm(void)
{
	pthread_t ids[SHORT_THREADS];

	for (int i = 0; i < SHORT_THREADS; i++)
		if (pthread_create(&ids[i], NULL, short_thread, NULL))
			truth_die("soak: pthread_create");
	for (int i = 0; i < SHORT_THREADS; i++)
		pthread_join(ids[i], NULL);
	threads += SHORT_THREADS;
}

static void fork_storm(void)
{
	pid_t pids[STORM];

	for (int i = 0; i < STORM; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			_exit(malloc(40) ? 7 : 8);
	}
	for (int i = 0; i < STORM; i++) {
		int status;

		if (pids[i] < 0 || waitpid(pids[i], &status, 0) != pids[i] || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != 7)
			failed_children++;
	}
	children += STORM;
}

static void *storms(void *arg)
{
	(void)arg;
	for (unsigned int round = 0;; round++) {
		pthread_rwlock_rdlock(&work);
		thread_storm();
		if (round % 50 == 0)
			fork_storm();
		pthread_rwlock_unlock(&work);
		usleep(20000);
	}
	return NULL;
}

static const char *obey(const char *command)
{
	static char extra[160];

	if (!strcmp(command, "hold"))
		pthread_rwlock_wrlock(&work);
	else if (!strcmp(command, "on"))
		pthread_rwlock_unlock(&work);
	else
		return NULL;
	snprintf(extra, sizeof(extra),
		 ",\"turns\":%llu,\"threads\":%llu,\"children\":%llu,\"failed_children\":%llu",
		 (unsigned long long)turns, (unsigned long long)threads,
		 (unsigned long long)children, (unsigned long long)failed_children);
	return extra;
}

/* Held at first: nothing has been allocated when the tool attaches. */
int main(void)
{
	pthread_rwlockattr_t attributes;
	pthread_t thread;

	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&work, &attributes);
	pthread_rwlock_wrlock(&work);
	for (uintptr_t i = 0; i < WORKERS; i++)
		if (pthread_create(&thread, NULL, worker, (void *)i))
			truth_die("soak: pthread_create");
	if (pthread_create(&thread, NULL, storms, NULL))
		truth_die("soak: pthread_create");
	return truth_serve(obey);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An allocator that samples by itself and tells, as OpenTelemetry's contract has it: sample points
 * fall on the stream of allocated bytes as a Poisson process, INTERVAL bytes apart in the mean; a
 * block that has n of them is told with a weight of n * INTERVAL, and so is its end. The answers have
 * what was told so far, in bytes, and both semaphores. Commands: go and free (the workload of
 * mixed.c), plain (blocks of malloc's, which nobody tells of), threads, fork, look.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "otel_memory.h"
#include "truth.h"

#ifndef INTERVAL
#define INTERVAL 32768
#endif
#define SMALL	20000
#define MEDIUM	2000
#define LARGE	60
#define THREADS 4
#define ROUNDS	200000
#define SAMPLES 65536 /* at a time */

/* ---- the allocator ------------------------------------------------------------------------ */

static struct sample {
	void *block;
	uint64_t weighed;
} samples[SAMPLES];
static size_t sample_count;
static pthread_mutex_t sample_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t told_alloc, told_free, told_samples;

static __thread uint64_t random_state;
static __thread double left;

/* xorshift64*; Marsaglia 2003, Vigna 2016. In (0, 1). */
static double uniform(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return ((double)((random_state * 0x2545f4914f6cdd1dull) >> 12) + 0.5) / 4503599627370496.0;
}

/* Of mean 1: von Neumann 1951, "Various techniques used in connection with random digits". */
static double exponential(void)
{
	for (double whole = 0;; whole++) {
		double first = uniform(), last = first, next;
		unsigned run = 1;

		while ((next = uniform()) < last) {
			last = next;
			run++;
		}
		if (run % 2)
			return whole + first;
	}
}

/* How many sample points fall into the next `size` bytes of this thread. */
static uint64_t points(size_t size)
{
	uint64_t n = 0;

	if (!random_state) {
		static uint64_t threads;
		const char *seed = getenv("MEMLEAKBPF_SEED");

		random_state =
			__atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED) * 0x9e3779b97f4a7c15ull ^
			(seed ? strtoull(seed, NULL, 10) : 1);
		left = exponential() * INTERVAL;
	}
	for (left -= (double)size; left < 0; n++)
		left += exponential() * INTERVAL;
	return n;
}

__attribute__((noinline)) static void tell_alloc(void *block, size_t size, uint64_t weighed)
{
	pthread_mutex_lock(&sample_lock);
	if (sample_count == SAMPLES)
		truth_die("too many samples");
	samples[sample_count++] = (struct sample){block, weighed};
	told_alloc += weighed;
	told_samples++;
	OTEL_ALLOC(block, size, weighed);
	pthread_mutex_unlock(&sample_lock);
}

__attribute__((noinline)) static void tell_free(void *block)
{
	pthread_mutex_lock(&sample_lock);
	for (size_t i = sample_count; i-- > 0;) {
		if (samples[i].block != block)
			continue;
		told_free += samples[i].weighed;
		samples[i] = samples[--sample_count];
		OTEL_FREE(block);
		break;
	}
	pthread_mutex_unlock(&sample_lock);
}

static void *allocate(size_t size)
{
	void *block = malloc(size);
	uint64_t n;

	if (!OTEL_WANTED(alloc))
		return block;
	n = points(size);
	if (n)
		tell_alloc(block, size, n * INTERVAL);
	return block;
}

static void release(void *block)
{
	if (OTEL_WANTED(free))
		tell_free(block);
	free(block);
}

/* ---- the program -------------------------------------------------------------------------- */

static void *blocks[SMALL + MEDIUM + LARGE];
static size_t kept;

SITE static void *leak_small(size_t size)
{
	return truth_count(THIS_SITE(), allocate(size), size);
}

SITE static void *leak_medium(size_t size)
{
	return truth_count(THIS_SITE(), allocate(size), size);
}

SITE static void *leak_large(size_t size)
{
	return truth_count(THIS_SITE(), allocate(size), size);
}

SITE static void *leak_plain(size_t size)
{
	void *block = malloc(size);

	NOT_A_TAIL_CALL();
	return block;
}

static void fill(void)
{
	for (size_t i = 0; i < SMALL; i++)
		blocks[kept++] = leak_small(16 + i % 113);
	for (size_t i = 0; i < MEDIUM; i++)
		blocks[kept++] = leak_medium(1000 + i % 7001);
	for (size_t i = 0; i < LARGE; i++)
		blocks[kept++] = leak_large(50000 + i * 4999);
}

static void empty(void)
{
	static const char *const names[] = {"leak_small", "leak_medium", "leak_large"};

	while (kept)
		release(blocks[--kept]);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct truth_site *site = truth_site(names[i]);

		site->free_bytes = site->alloc_bytes;
		site->free_count = site->alloc_count;
	}
}

/* Allocates and frees, and keeps one block of 1000. */
SITE static void *churn(void *arg)
{
	void *ring[64] = {0};

	for (size_t i = 0; i < ROUNDS; i++) {
		size_t size = 16 + (i * 7919) % 2000;

		release(ring[i % 64]);
		ring[i % 64] = allocate(size);
		if (i % 1000 == 0)
			truth_count(truth_site("churn"), allocate(512), 512);
	}
	for (size_t i = 0; i < 64; i++)
		release(ring[i]);
	return arg;
}

static void churn_in_threads(void)
{
	pthread_t threads[THREADS];

	for (size_t i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, churn, NULL))
			truth_die("pthread_create");
	}
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* A child that waits for a line, allocates, says what it has told, and ends with the next line. */
static void child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		truth_die("fork");
	if (pid) {
		int status;

		waitpid(pid, &status, 0);
		if (status)
			truth_die("the child failed");
		return;
	}
	truth_reset();
	told_alloc = told_free = told_samples = 0;
	sample_count = kept = 0;
	truth_ready();
	while (truth_command() && strcmp(truth_line, "child-quit") != 0) {
		char extra[128];

		if (!strcmp(truth_line, "child-go"))
			fill();
		snprintf(extra, sizeof(extra), ",\"told_live\":%llu",
			 (unsigned long long)(told_alloc - told_free));
		truth_print(truth_line, extra);
	}
	_exit(0);
}

static const char *told(void)
{
	static char text[256];
	unsigned alloc = 1, end = 1;

#ifndef NO_SEMAPHORES
	alloc = otel_memory_alloc_semaphore;
	end = otel_memory_free_semaphore;
#endif
	snprintf(text, sizeof(text),
		 ",\"semaphores\":[%u,%u],\"samples\":%llu,\"told_alloc\":%llu,\"told_free\":%llu,"
		 "\"told_live\":%llu",
		 alloc, end, (unsigned long long)told_samples, (unsigned long long)told_alloc,
		 (unsigned long long)told_free, (unsigned long long)(told_alloc - told_free));
	return text;
}

static const char *obey(const char *command)
{
	if (!strcmp(command, "go"))
		fill();
	else if (!strcmp(command, "free"))
		empty();
	else if (!strcmp(command, "threads"))
		churn_in_threads();
	else if (!strcmp(command, "fork"))
		child();
	else if (!strcmp(command, "plain"))
		for (int i = 0; i < 100; i++)
			leak_plain(100000);
	else if (strcmp(command, "look") != 0)
		return NULL;
	return told();
}

int main(void)
{
	return truth_serve(obey);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the benchmark measures: pairs of malloc and free, DEPTH calls deep, in THREADS threads.
 * Reads commands from standard input, one a line, and answers each with one line, so that a tool
 * can be attached in between:
 *     run SECONDS     "NS PAIRS": nanoseconds of processor time per pair, in which being preempted
 *     by others on a busy machine does
 *                     not count, and pairs per second of all threads by the clock on the wall
 *     fill COUNT      allocates COUNT blocks in 1024 different stacks and keeps them; "COUNT"
 *     drop            frees them all; "0"
 *     touch SECONDS   "NS FAULTS": nanoseconds of processor time per page fault, and how many there were
 * Usage: loop [THREADS [DEPTH [SIZE]]]
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define MAX_THREADS 64
#define BATCH	    256 /* pairs between two looks at the clock */
#define STACK_BITS  10

static unsigned depth = 10;
static size_t size = 32;
static double seconds;

struct worker {
	pthread_t thread;
	uint64_t pairs;
	double elapsed, cpu; /* seconds */
};

static double clock_now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Keeps the compiler from removing a pair, and a call from becoming a jump. */
static inline void keep(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

/* What --scope is given: a call for so many pairs. */
static __attribute__((noinline)) void batch(struct worker *w)
{
	for (int i = 0; i < BATCH; i++) {
		void *p = malloc(size);

		keep(p);
		free(p);
	}
	keep(w);
}

static __attribute__((noinline)) void work(struct worker *w)
{
	double start = clock_now(CLOCK_MONOTONIC), end = start + seconds, t;
	double cpu = clock_now(CLOCK_THREAD_CPUTIME_ID);

	do {
		batch(w);
		w->pairs += BATCH;
		t = clock_now(CLOCK_MONOTONIC);
	} while (t < end);
	w->elapsed = t - start;
	w->cpu = clock_now(CLOCK_THREAD_CPUTIME_ID) - cpu;
}

static __attribute__((noinline)) void descend(struct worker *w, unsigned levels)
{
	if (levels > 1)
		descend(w, levels - 1);
	else
		work(w);
	keep(w);
}

static void *worker_main(void *arg)
{
	/* worker_main, descend * n, work, batch, malloc: with the thread's start about `depth` frames */
	descend(arg, depth > 5 ? depth - 5 : 1);
	return NULL;
}

static void run(unsigned threads)
{
	struct worker workers[MAX_THREADS] = {0};
	double ns = 0, rate = 0;

	for (unsigned i = 0; i < threads; i++) {
		if (pthread_create(&workers[i].thread, NULL, worker_main, &workers[i])) {
			perror("pthread_create");
			exit(1);
		}
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		ns += workers[i].cpu * 1e9 / (double)workers[i].pairs / threads;
		rate += (double)workers[i].pairs / workers[i].elapsed;
	}
	printf("%.2f %.0f\n", ns, rate);
}

static void **blocks;
static size_t block_count;

/* Each bit of `path` takes one of two call sites: 2^STACK_BITS different stacks. */
static __attribute__((noinline)) void *alloc_by_path(unsigned path, unsigned bits)
{
	void *p;

	if (!bits)
		p = malloc(size);
	else if (path & 1)
		p = alloc_by_path(path >> 1, bits - 1);
	else
		p = alloc_by_path(path >> 1, bits - 1);
	keep(p);
	return p;
}

static void drop(void)
{
	while (block_count)
		free(blocks[--block_count]);
	free(blocks);
	blocks = NULL;
}

static void fill(size_t count)
{
	drop();
	blocks = calloc(count, sizeof(*blocks));
	if (!blocks) {
		perror("calloc");
		exit(1);
	}
	for (; block_count < count; block_count++)
		blocks[block_count] =
			alloc_by_path((unsigned)block_count & ((1u << STACK_BITS) - 1), STACK_BITS);
}

#define TOUCHED (16ul << 20)

static void touch(void)
{
	double cpu = clock_now(CLOCK_THREAD_CPUTIME_ID), end = clock_now(CLOCK_MONOTONIC) + seconds;
	char *pages =
		mmap(NULL, TOUCHED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t faults = 0;

	if (pages == MAP_FAILED || madvise(pages, TOUCHED, MADV_NOHUGEPAGE)) {
		perror("mmap");
		exit(1);
	}
	do {
		for (size_t at = 0; at < TOUCHED; at += 4096, faults++)
			pages[at] = 1;
		madvise(pages, TOUCHED, MADV_DONTNEED);
	} while (clock_now(CLOCK_MONOTONIC) < end);
	munmap(pages, TOUCHED);
	printf("%.1f %llu\n", (clock_now(CLOCK_THREAD_CPUTIME_ID) - cpu) * 1e9 / (double)faults,
	       (unsigned long long)faults);
}

int main(int argc, char *argv[])
{
	unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	char line[128];
	size_t count;

	if (argc > 2)
		depth = (unsigned)atoi(argv[2]);
	if (argc > 3)
		size = (size_t)atol(argv[3]);
	if (!threads || threads > MAX_THREADS || !depth) {
		fprintf(stderr, "Usage: loop [THREADS [DEPTH [SIZE]]]\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "run %lf", &seconds) == 1) {
			run(threads);
		} else if (sscanf(line, "touch %lf", &seconds) == 1) {
			touch();
		} else if (sscanf(line, "fill %zu", &count) == 1) {
			fill(count);
			printf("%zu\n", block_count);
		} else if (!strcmp(line, "drop\n")) {
			drop();
			printf("0\n");
		} else {
			fprintf(stderr, "loop: unknown command %s", line);
			return 2;
		}
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A program at work: it allocates, fills, checks and frees without pause, and leaks nothing beyond
 * its table. "stat" says how many blocks it has done and how much CPU time it took; a block whose
 * contents changed ends it. Usage: busy [THREADS]
 */
#include <pthread.h>
#include <time.h>

#include "truth.h"

#define SLOTS 256

static uint64_t done_blocks;

SITE static unsigned char *busy_alloc(size_t size)
{
	unsigned char *p = malloc(size);

	NOT_A_TAIL_CALL();
	return p;
}

static void *work(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg + 7;
	unsigned char *table[SLOTS] = {NULL};
	unsigned char fill[SLOTS] = {0};
	size_t sizes[SLOTS] = {0};

	for (;;) {
		unsigned int i = (unsigned int)rand_r(&seed) % SLOTS;

		if (table[i] && (table[i][0] != fill[i] || table[i][sizes[i] - 1] != fill[i]))
			truth_die("busy: a block's contents changed");
		free(table[i]);
		sizes[i] = 16 + i * 4;
		fill[i] = (unsigned char)(seed >> 8);
		table[i] = busy_alloc(sizes[i]);
		if (!table[i])
			truth_die("busy: malloc failed");
		memset(table[i], fill[i], sizes[i]);
		__atomic_add_fetch(&done_blocks, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static const char *obey(const char *command)
{
	static char extra[128];
	struct timespec now;

	if (strcmp(command, "stat"))
		return NULL;
	/* CPU time: what else runs on the machine is not this program's throughput. */
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	snprintf(extra, sizeof(extra), ",\"blocks\":%llu,\"ns\":%lld",
		 (unsigned long long)__atomic_load_n(&done_blocks, __ATOMIC_RELAXED),
		 now.tv_sec * 1000000000LL + now.tv_nsec);
	return extra;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;

	for (uintptr_t i = 0; i < (uintptr_t)threads; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, work, (void *)i))
			truth_die("pthread_create");
	}
	return truth_serve(obey);
}

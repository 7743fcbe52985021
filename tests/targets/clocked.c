// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Has as many MiB as its argument says, which take a while to be read, and knows by its own clock
 * for how long it has stood still: "longest" answers with the longest time between two turns of a
 * thread that should make one each half millisecond, and begins anew.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 4096

static uint64_t longest_ns, turns;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void *turn(void *arg)
{
	uint64_t last = now_ns();

	/* Before others, or on a busy machine it would be their doing. */
	sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1});
	for (;;) {
		uint64_t now = now_ns();

		if (now - last > __atomic_load_n(&longest_ns, __ATOMIC_RELAXED))
			__atomic_store_n(&longest_ns, now - last, __ATOMIC_RELAXED);
		last = now;
		__atomic_add_fetch(&turns, 1, __ATOMIC_RELAXED);
		nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
	}
	return arg;
}

int main(int argc, char **argv)
{
	size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) * ((1 << 20) / BLOCK) : 0;
	void **blocks = calloc(count + 1, sizeof(*blocks));
	char line[64];
	pthread_t thread;

	for (size_t i = 0; blocks && i < count; i++) {
		blocks[i] = malloc(BLOCK);
		if (!blocks[i])
			return 1;
		memset(blocks[i], 1, BLOCK);
	}
	pthread_create(&thread, NULL, turn, NULL);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t longest = __atomic_load_n(&longest_ns, __ATOMIC_RELAXED);

		line[strcspn(line, "\n")] = '\0';
		if (!strcmp(line, "longest"))
			__atomic_store_n(&longest_ns, 0, __ATOMIC_RELAXED);
		printf("{\"phase\":\"%s\",\"longest_ms\":%llu,\"turns\":%llu}\n", line,
		       (unsigned long long)longest / 1000000,
		       (unsigned long long)__atomic_load_n(&turns, __ATOMIC_RELAXED));
		fflush(stdout);
		if (!strcmp(line, "quit"))
			break;
	}
	for (size_t i = 0; blocks && i < count; i++)
		free(blocks[i]);
	free(blocks);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * churn DIRECTORY SECONDS: opens and closes plugins 100 times a second, and they allocate right away. Prints how many allocations were made so.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PERIOD_NS 10000000 /* 100 a second */

static void *volatile sink;

static void run(const char *directory, char name, int depth)
{
	void (*function)(int, void *volatile *);
	char path[4096];
	void *handle;

	snprintf(path, sizeof(path), "%s/libchurn_%c.so", directory, name);
	handle = dlopen(path, RTLD_NOW);
	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	function = (void (*)(int, void *volatile *))dlsym(handle, "churn_allocate");
	function(depth, &sink);
	dlclose(handle);
}

int main(int argc, char **argv)
{
	struct timespec next;
	long count = 0, rounds;

	if (argc < 3)
		return 2;
	rounds = atol(argv[2]) * 100;
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (long i = 0; i < rounds; i++) {
		int depth = (int)(i % 7);

		/* The second one takes another address when the first is still there, and its place when it is not. */
		run(argv[1], i % 3 ? 'a' : 'b', depth);
		count++;
		next.tv_nsec += PERIOD_NS;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	printf("%ld\n", count);
	return 0;
}

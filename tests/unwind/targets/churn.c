// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * churn DIRECTORY ROUNDS PERIOD: opens and closes plugins, one every PERIOD microseconds (0: as
 * fast as it goes), and they allocate right away. Prints how many allocations each of the two has
 * made.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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
	long count[2] = {0}, rounds, period;
	struct timespec next;

	if (argc < 4)
		return 2;
	rounds = atol(argv[2]);
	period = 1000 * atol(argv[3]);
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (long i = 0; i < rounds; i++) {
		bool second = i % 3 == 0;

		/*
		 * The second one takes another address when the first is still there, and its place
		 * when it is not.
		 */
		run(argv[1], second ? 'b' : 'a', (int)(i % 7));
		count[second]++;
		if (!period)
			continue;
		next.tv_nsec += period;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	printf("%ld %ld\n", count[0], count[1]);
	return 0;
}

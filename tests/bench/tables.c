// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * tables FILE: builds the unwind tables of an object, as the tool does when a target maps it, into
 * plain memory. Prints milliseconds of CPU time (the second time, when the file is in memory),
 * rows, and the bytes that the kernel would hold.
 */
#include <stdio.h>
#include <time.h>

#include "tests/unwind/memory.h"
#include "user/process/object.h"

#define TARGET 1

static double cpu_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
	static struct unwind_memory memory;
	struct unwind_backend backend = memory_backend(&memory);
	struct object_cache *cache = object_cache_new();
	struct unwind_publisher_stats stats = {0};
	double start = 0, end = 0;
	struct object *object;

	if (argc != 2 || !cache || object_cache_open(cache, argv[1], &object))
		return 2;
	for (int round = 0; round < 2; round++) {
		struct unwind_publisher *publisher;

		start = cpu_ms();
		if (unwind_publisher_new(&backend, &publisher))
			return 1;
		unwind_publisher_hold(publisher, TARGET, object);
		end = cpu_ms();
		unwind_publisher_stats(publisher, &stats);
		unwind_publisher_free(publisher);
	}
	object_unref(object);
	object_cache_free(cache);
	printf("%.1f %zu %zu\n", end - start, stats.rows, stats.bytes);
	return !stats.rows;
}

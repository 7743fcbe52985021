// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * children COUNT: so many children, a few at a time, that allocate for 20 ms each; every second one
 * becomes a new program first. Prints how many allocations they made.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AT_A_TIME 4
#define LIFE_NS	  20000000

static void *volatile sink;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

__attribute__((noinline)) static int nest(int depth)
{
	volatile int local = depth;

	if (depth)
		return nest(depth - 1) + local;
	sink = malloc(100);
	free(sink);
	return local;
}

/* What a child does; tells its count on descriptor 3. */
static void live(void)
{
	uint64_t end = now_ns() + LIFE_NS;
	uint32_t count = 0;

	while (now_ns() < end) {
		struct timespec pause = {.tv_nsec = 100000};

		for (int i = 0; i < 10; i++, count++)
			nest(i);
		nanosleep(&pause, NULL);
	}
	if (write(3, &count, sizeof(count)) != sizeof(count))
		_exit(1);
	_exit(0);
}

static uint64_t take(int fd)
{
	uint32_t count;

	if (read(fd, &count, sizeof(count)) != sizeof(count))
		exit(1);
	return count;
}

int main(int argc, char **argv)
{
	int wanted = argc > 1 ? atoi(argv[1]) : 0, started, ended = 0, fds[2];
	uint64_t allocations = 0;

	if (argc > 1 && !wanted)
		live();
	/* The reading end must not be number 3. */
	if (pipe(fds) || (fds[0] = fcntl(fds[0], F_DUPFD, 10)) < 0 || dup2(fds[1], 3) != 3)
		return 1;
	for (started = 0; ended < wanted;) {
		if (started < wanted && started - ended < AT_A_TIME) {
			if (!fork()) {
				if (started % 2)
					live();
				execl(argv[0], argv[0], "child", (char *)NULL);
				_exit(1);
			}
			started++;
			continue;
		}
		if (wait(NULL) > 0)
			ended++;
		allocations += take(fds[0]);
	}
	printf("%llu\n", (unsigned long long)allocations);
	return 0;
}

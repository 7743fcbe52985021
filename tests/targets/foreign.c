// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Somebody else's probes: at each place of a file, by a process for each, a breakpoint comes and
 * goes ROUNDS times, in all processes that map the file; now at the entry, now at the return as
 * well. It stays until somebody has come there, or not for a moment. Prints how many hits were
 * seen. Usage: foreign FILE ROUNDS OFFSET…
 */
#include <linux/perf_event.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CPUS_MAX 256

static long type;
static uint64_t *hits; /* of all processes */

static int open_probe(const char *file, uint64_t offset, int at_return, int cpu)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = (uint32_t)type,
				       .config = (uint64_t)at_return,
				       .config1 = (uintptr_t)file,
				       .config2 = offset};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0) {
		perror("foreign: perf_event_open");
		_exit(1);
	}
	return fd;
}

static uint64_t count(const int *fds, long cpus)
{
	uint64_t sum = 0, n;

	for (long i = 0; i < cpus; i++)
		if (read(fds[i], &n, sizeof(n)) == sizeof(n))
			sum += n;
	return sum;
}

static void come_and_go(const char *file, uint64_t offset, long rounds, long cpus)
{
	int fds[CPUS_MAX];

	for (long r = 0; r < rounds; r++) {
		for (long i = 0; i < cpus; i++)
			fds[i] = open_probe(file, offset, (int)(r & 1), (int)i);
		for (int looks = 0; !count(fds, cpus) && looks < 5; looks++)
			poll(NULL, 0, 1);
		__atomic_add_fetch(hits, count(fds, cpus), __ATOMIC_RELAXED);
		for (long i = 0; i < cpus; i++)
			close(fds[i]);
	}
}

int main(int argc, char **argv)
{
	FILE *source = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int status, failed = 0;

	if (argc < 4 || !source || fscanf(source, "%ld", &type) != 1 || cpus > CPUS_MAX)
		return 1;
	hits = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 3; i < argc; i++) {
		if (fork())
			continue;
		come_and_go(argv[1], strtoull(argv[i], NULL, 16), atol(argv[2]), cpus);
		_exit(0);
	}
	while (wait(&status) > 0)
		failed |= status;
	printf("%llu\n", (unsigned long long)*hits);
	return failed ? 1 : 0;
}

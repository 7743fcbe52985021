// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A machine's other processes, for the survey's benchmark: crowd N forks N of 1 MiB; each tenth
 * takes and gives back 2 MiB every second, the others sleep. It says "ready"; its end, and that of
 * standard input, is theirs.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MIB (1024 * 1024)

static char *take(size_t size)
{
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		_exit(1);
	memset(memory, 1, size);
	return memory;
}

static void live(int number)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	take(MIB);
	while (number % 10)
		pause();
	for (;;) {
		char *more = take(2 * MIB);

		sleep(1);
		munmap(more, 2 * MIB);
		sleep(1);
	}
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 500;
	char c;

	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("crowd");
			return 1;
		}
		if (pid == 0)
			live(i);
	}
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return 0;
}

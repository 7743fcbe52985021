// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Allocates seven blocks of 100 bytes and ends at once. `brief forks N`: N children do that, one after
 * the other, forked without exec. `brief thread`: a thread other than the first execs `brief`.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *volatile last;

static __attribute__((noinline)) void leak(void)
{
	for (int i = 0; i < 7; i++)
		last = malloc(100);
}

static void *exec_brief(void *path)
{
	execl(path, "brief", NULL);
	_exit(1);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc == 2 && !strcmp(argv[1], "thread")) {
		pthread_create(&thread, NULL, exec_brief, argv[0]);
		pause();
	}
	if (argc == 3) {
		for (int n = atoi(argv[2]); n > 0; n--) {
			pid_t child = fork();

			if (child == 0) {
				leak();
				_exit(0);
			}
			waitpid(child, NULL, 0);
		}
		return 0;
	}
	leak();
	_exit(0);
}

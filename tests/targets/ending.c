// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Ends in the way that its first argument names, and leaves behind: 50 lost blocks of lose(), one
 * held by a global variable of hold(), and one that only another thread's stack holds, of
 * thread_main(). With a second argument it first waits for a line on standard input.
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SITE __attribute__((noipa, used))
#define LOST 50

void *volatile held;
static sem_t ready;

static SITE void lose(int i)
{
	void *volatile block = malloc(100 + (size_t)i);

	block = NULL;
	(void)block;
}

static SITE void hold(void)
{
	held = malloc(4096);
}

static SITE void *thread_main(void *arg)
{
	void *volatile block = malloc(777);

	sem_post(&ready);
	for (;;)
		pause();
	free(block);
	return arg;
}

/* Old pointers in what the calls before have left on the stack. */
static SITE void scrub(void)
{
	volatile char area[16384];

	memset((char *)area, 0, sizeof(area));
}

static SITE void leave_behind(void)
{
	for (int i = 0; i < LOST; i++)
		lose(i);
	scrub();
	hold();
}

static void end(const char *how)
{
	if (!strcmp(how, "exit"))
		exit(3);
	if (!strcmp(how, "_exit"))
		_exit(4);
	if (!strcmp(how, "quick_exit"))
		quick_exit(5);
	if (!strcmp(how, "syscall"))
		syscall(SYS_exit_group, 6);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "term"))
		raise(SIGTERM);
}

static SITE void child(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		leave_behind();
		_exit(8);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 8)
		_exit(99);
}

int main(int argc, char *argv[])
{
	const char *how = argc > 1 ? argv[1] : "return";
	pthread_t thread;
	char line[16];

	if (argc > 2) {
		dprintf(1, "ready %d\n", (int)getpid());
		if (read(0, line, sizeof(line)) < 0)
			return 98;
	}
	if (!strcmp(how, "fork")) {
		child();
		return 9;
	}
	if (!strcmp(how, "threads")) {
		sem_init(&ready, 0, 0);
		if (pthread_create(&thread, NULL, thread_main, NULL))
			return 97;
		sem_wait(&ready);
	}
	leave_behind();
	scrub();
	end(how);
	return 2;
}

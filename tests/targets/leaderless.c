// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A process whose main thread ends (pthread_exit) while others go on. A second thread obeys:
 *	leave	the main thread ends
 *	next	the thread that obeys ends, and a new one goes on
 *	exec	it becomes the same program anew
 *	crowd	so many more threads, which do nothing, that their end takes a while
 *	go	blocks that are held, that are lost, and that are freed
 * Usage: leaderless [first]; first: the main thread has ended before it is ready.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>

#include "truth.h"

#define BLOCKS 50
#define CROWD  2000

static sem_t leave;
static void *volatile held[BLOCKS];
static volatile uintptr_t hidden[BLOCKS]; /* no addresses */

SITE static void leak_held(void)
{
	for (int i = 0; i < BLOCKS; i++)
		held[i] = truth_count(THIS_SITE(), malloc(100), 100);
}

SITE static void leak_lost(void)
{
	for (int i = 0; i < BLOCKS; i++)
		hidden[i] = ~(uintptr_t)truth_count(THIS_SITE(), malloc(200), 200);
}

SITE static void freed_again(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		void *volatile p = truth_count(THIS_SITE(), malloc(300), 300);

		free(p);
		truth_uncount(truth_site(__func__), 300);
	}
}

/* Nothing of the words that led there is left on this stack. */
SITE static void scrub(void)
{
	volatile char dead[16 << 10];

	for (size_t i = 0; i < sizeof(dead); i++)
		dead[i] = 0;
}

static int main_has_ended(void)
{
	char path[64], text[256] = "";
	const char *end;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
	fd = open(path, O_RDONLY);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	end = n > 0 ? strrchr(text, ')') : NULL;
	return end && end[1] == ' ' && end[2] == 'Z';
}

static void main_leaves(void)
{
	sem_post(&leave);
	while (!main_has_ended())
		usleep(1000);
}

static void *serve(void *arg);

static void start_serving(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, serve, NULL))
		truth_die("pthread_create");
	pthread_detach(thread);
}

static void *idle(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void start_crowd(void)
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (int i = 0; i < CROWD; i++) {
		if (pthread_create(&thread, &small, idle, NULL))
			truth_die("pthread_create");
	}
	pthread_attr_destroy(&small);
}

static void *serve(void *arg)
{
	const char *command;

	(void)arg;
	while ((command = truth_command())) {
		if (!strcmp(command, "leave")) {
			main_leaves();
		} else if (!strcmp(command, "go")) {
			leak_held();
			leak_lost();
			freed_again();
			scrub();
		} else if (!strcmp(command, "crowd")) {
			start_crowd();
		} else if (!strcmp(command, "next")) {
			start_serving();
			return NULL;
		} else if (!strcmp(command, "exec")) {
			execl("/proc/self/exe", "leaderless", (char *)NULL);
			truth_die("exec");
		} else if (strcmp(command, "quit")) {
			truth_die("unknown command");
		}
		truth_print(command, "");
		if (!strcmp(command, "quit"))
			exit(0);
	}
	exit(0);
}

static void *serve_first(void *arg)
{
	if (arg)
		main_leaves();
	truth_ready();
	return serve(NULL);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	(void)argv;
	sem_init(&leave, 0, 0);
	if (pthread_create(&thread, NULL, serve_first, argc > 1 ? &leave : NULL))
		truth_die("pthread_create");
	pthread_detach(thread);
	while (sem_wait(&leave))
		;
	pthread_exit(NULL);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A parent that lives while many thousands of children come and go. Usage: children
 *	unknown	frees 8 blocks from before it was ready, which a tracer cannot know
 *	go	leaks from three sites
 *	fork N	N children that do nothing, one after the other
 *	fork-allocate N	the same, and each leaks a block
 *	sleepy MS N	N children that live for so many milliseconds, and leak a block first
 */
#include <sys/wait.h>

#include "truth.h"

#define UNKNOWN 8

static void *from_before[UNKNOWN];

SITE static void leak_red(void)
{
	truth_keep(THIS_SITE(), malloc(100), 100);
}

SITE static void leak_green(void)
{
	truth_keep(THIS_SITE(), malloc(200), 200);
}

SITE static void leak_blue(void)
{
	truth_keep(THIS_SITE(), malloc(300), 300);
}

SITE static void *leak_in_child(size_t size)
{
	void *p = malloc(size);

	NOT_A_TAIL_CALL();
	return p;
}

/* Vanishes without the exit handlers: the fewest pages are copied. */
static void fork_one(int allocate, long ms)
{
	pid_t pid = fork();

	if (pid < 0)
		truth_die("fork");
	if (!pid) {
		int failed = allocate && !leak_in_child(64);

		if (ms)
			usleep((useconds_t)ms * 1000);
		_exit(failed);
	}
	if (waitpid(pid, NULL, 0) != pid)
		truth_die("waitpid");
}

static const char *obey(const char *command)
{
	char *end;

	if (!strcmp(command, "unknown")) {
		for (int i = 0; i < UNKNOWN; i++) {
			free(from_before[i]);
			truth_unknown_frees++;
		}
	} else if (!strcmp(command, "go")) {
		for (int i = 0; i < 10; i++) {
			leak_red();
			leak_green();
			leak_blue();
		}
	} else if (!strncmp(command, "fork", 4)) {
		int allocate = !strncmp(command, "fork-allocate", 13);
		long count = strtol(strrchr(command, ' ') + 1, &end, 10);

		while (count-- > 0)
			fork_one(allocate, 0);
	} else if (!strncmp(command, "sleepy ", 7)) {
		long ms = strtol(command + 7, &end, 10), count = strtol(end, NULL, 10);

		while (count-- > 0)
			fork_one(1, ms);
	} else {
		return NULL;
	}
	return "";
}

int main(void)
{
	for (int i = 0; i < UNKNOWN; i++)
		from_before[i] = malloc(100);
	return truth_serve(obey);
}

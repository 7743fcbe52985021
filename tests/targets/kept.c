// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kept NAME: names itself so, and keeps books of what it was told to do:
 *     leak N SIZE     N blocks of SIZE bytes, in leak_kept()
 *     storm N SIZE    N blocks of SIZE bytes in four threads, each freed at once but for every 64th, of leak_storm()
 *     become NAME     executes itself anew under that name
 *     through PROGRAM NAME    executes that program, with what it is to execute itself then: the same as become
 */
#include <pthread.h>
#include <stdbool.h>
#include <sys/prctl.h>

#include "truth.h"

#define THREADS 4
#define KEPT	64

static char *program;
static unsigned storm_blocks, storm_size;

SITE static void leak_kept(size_t size)
{
	truth_count(THIS_SITE(), malloc(size), size);
}

SITE static void leak_storm(size_t size)
{
	truth_count(THIS_SITE(), malloc(size), size);
}

SITE static void *churn(size_t size)
{
	void *block = malloc(size);

	NOT_A_TAIL_CALL();
	return block;
}

static void *storm(void *unused)
{
	for (unsigned i = 0; i < storm_blocks / THREADS; i++) {
		if (i % KEPT == 0)
			leak_storm(storm_size);
		else
			free(churn(storm_size));
	}
	return unused;
}

static const char *obey(const char *command)
{
	char name[16], through[256];
	unsigned n, size;

	if (sscanf(command, "leak %u %u", &n, &size) == 2) {
		while (n--)
			leak_kept(size);
	} else if (sscanf(command, "storm %u %u", &storm_blocks, &storm_size) == 2) {
		pthread_t threads[THREADS];

		for (int i = 0; i < THREADS; i++) {
			if (pthread_create(&threads[i], NULL, storm, NULL))
				truth_die("kept: no thread");
		}
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	} else if (sscanf(command, "become %15s", name) == 1) {
		execl(program, program, name, (char *)NULL);
		truth_die("kept: exec");
	} else if (sscanf(command, "through %255s %15s", through, name) == 2) {
		execl(through, through, program, name, (char *)NULL);
		truth_die("kept: exec");
	} else {
		truth_die("kept: what?");
	}
	return "";
}

int main(int argc, char **argv)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (argc != 2 || n < 0)
		truth_die("kept NAME");
	program = path;
	prctl(PR_SET_NAME, argv[1]);
	return truth_serve(obey);
}

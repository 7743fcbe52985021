// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Very many live blocks at once. Usage: million COUNT [beside]: with much other memory, too, and a
 * thread that waits in a call that a stop does not cut short.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "truth.h"

#define MAX_BLOCKS 4000000
#define BESIDE	   (256 << 20)

static void *blocks[MAX_BLOCKS];
static size_t count, kept;

SITE static void *leak_24(void)
{
	return truth_count(THIS_SITE(), malloc(24), 24);
}

static const char *obey(const char *command)
{
	if (!strcmp(command, "go")) {
		while (kept < count)
			blocks[kept++] = leak_24();
	} else if (!strcmp(command, "free")) {
		while (kept) {
			truth_uncount(truth_site("leak_24"), 24);
			free(blocks[--kept]);
		}
	} else {
		return NULL;
	}
	return "";
}

static void *idle(void *arg)
{
	for (;;)
		pause();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1300000;
	if (count > MAX_BLOCKS)
		truth_die("million: too many");
	if (argc > 2) {
		char *area = mmap(NULL, BESIDE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0);

		if (area == MAP_FAILED || pthread_create(&thread, NULL, idle, NULL))
			truth_die("mmap, pthread_create");
		memset(area, 1, BESIDE);
	}
	return truth_serve(obey);
}

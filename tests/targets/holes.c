// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Heaps with free memory between blocks in use, and what the allocator gives back when it is asked to: by
 * malloc_trim(0), or as another allocator has it. On standard input:
 *
 *     fill     keepers of 248 bytes, one behind ten of 1,000 that are freed
 *     fast     one block in 97 of 104 bytes stays, and of the others most are in fast bins
 *     top      only the last of many blocks stays
 *     arenas   threads with arenas of their own
 *     large    blocks of 100 kB, one in eight stays; then a mapping is freed, which raises thresholds
 *     give     asks the allocator
 *
 * It answers each with a line of JSON: {"phase":"fill","kept":BLOCKS of it that stay}; {"phase":"give","gave":BYTES that
 * are not resident any more}.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 4

struct keeper {
	long id;
	char name[240];
};

/* They hold what stays, and nobody reads it. */
static void *volatile kept[100000];
static int count;
static pthread_barrier_t filled;

static void *block(size_t size)
{
	void *p = malloc(size);

	if (!p)
		abort();
	memset(p, 1, size);
	return p;
}

__attribute__((noinline)) static void keep(void)
{
	kept[count++] = block(sizeof(struct keeper));
}

static int churn(int every, size_t bytes, int total, void **local, int room)
{
	void **all = malloc(sizeof(*all) * (size_t)total);
	int stay = 0;

	if (!all)
		abort();
	for (int i = 0; i < total; i++) {
		all[i] = block(bytes);
		if (i % every)
			continue;
		if (local && stay < room)
			local[stay++] = block(sizeof(struct keeper));
		else
			keep();
	}
	for (int i = 0; i < total; i++)
		free(all[i]);
	free(all);
	return stay;
}

/* Of many blocks one in so many stays. */
static void thin(size_t bytes, int every, int total)
{
	void **all = malloc(sizeof(*all) * (size_t)total);

	if (!all)
		abort();
	for (int i = 0; i < total; i++)
		all[i] = block(bytes);
	for (int i = 0; i < total; i++) {
		if (i % every)
			free(all[i]);
		else
			kept[count++] = all[i];
	}
	free(all);
}

static void *own_arena(void *held)
{
	churn(40, 3000, 2000, held, 50);
	pthread_barrier_wait(&filled);
	pause();
	return NULL;
}

static int arenas(void)
{
	static void *held[THREADS][50];

	pthread_barrier_init(&filled, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, own_arena, held[i]))
			abort();
	}
	pthread_barrier_wait(&filled);
	return THREADS * 50;
}

/* What the page tables have, in bytes: RssAnon is told by counters that lag behind. */
static long long resident(void)
{
	static char text[4096];
	int fd = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	const char *at;

	if (n <= 0)
		abort();
	close(fd);
	text[n] = '\0';
	at = strstr(text, "\nAnonymous:");
	return at ? 1024 * atoll(at + strlen("\nAnonymous:")) : 0;
}

static void ask(void)
{
	void (*release)(void) =
		(void (*)(void))dlsym(RTLD_DEFAULT, "MallocExtension_ReleaseFreeMemory");
	int (*ctl)(const char *, void *, size_t *, void *, size_t) =
		(int (*)(const char *, void *, size_t *, void *, size_t))dlsym(RTLD_DEFAULT,
									       "mallctl");

	if (release)
		release();
	else if (ctl)
		ctl("arena.4096.purge", NULL, NULL, NULL, 0);
	else
		malloc_trim(0);
}

static void give(void)
{
	const long long before = resident();

	ask();
	printf("{\"phase\":\"give\",\"gave\":%lld}\n", before - resident());
}

/* How many blocks of the shape stay; -1: there is none of that name. */
static int shape(const char *name)
{
	const int before = count;

	if (!strcmp(name, "arenas"))
		return arenas();
	if (!strcmp(name, "fill"))
		churn(10, 1000, 20000, NULL, 0);
	else if (!strcmp(name, "fast"))
		thin(100, 97, 50000);
	else if (!strcmp(name, "top"))
		thin(2000, 10000, 10000);
	else if (!strcmp(name, "large"))
		thin(100000, 8, 400);
	else
		return -1;
	if (!strcmp(name, "large"))
		free(block(20 << 20));
	return count - before;
}

int main(void)
{
	static char line[64], written[BUFSIZ];

	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, written, _IOLBF, sizeof(written));
	/* What a first call takes for itself. */
	ask();
	resident();
	printf("ready %d\n", (int)getpid());
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strcmp(line, "give"))
			give();
		else
			printf("{\"phase\":\"%s\",\"kept\":%d}\n", line, shape(line));
	}
	return 0;
}

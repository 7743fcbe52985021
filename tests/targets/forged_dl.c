// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A program that opens what looks like a library with CPython in it (tests/targets/forged_python.c), and
 * closes it. Says "ready PID", and "done" after each line on its standard input: "open"; "go": allocates in it;
 * "close", after which it is opened somewhere else.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *library;
static bool (*call)(const char *how, size_t size);

static bool open_library(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 100);
	bool (*begin)(void);

	if (n < 0)
		return false;
	path[n] = 0;
	strcpy(strrchr(path, '/'), "/forged_python.so");
	library = dlopen(path, RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return false;
	}
	begin = (bool (*)(void))dlsym(library, "forged_begin");
	call = (bool (*)(const char *, size_t))dlsym(library, "forged_call");
	return begin && call && begin();
}

/* And nothing else comes to its place. */
static bool close_library(void)
{
	void *page = (void *)((uintptr_t)call & ~4095ul);

	return !dlclose(library) &&
	       mmap(page, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
		    0) == page;
}

int main(void)
{
	size_t size = 5001;
	char line[32];
	bool good = true;

	printf("ready %d\n", getpid());
	fflush(stdout);
	while (good && fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "open\n"))
			good = open_library();
		else if (!strcmp(line, "close\n"))
			good = close_library();
		else
			good = call("plain\n", size++);
		printf("done\n");
		fflush(stdout);
	}
	return !good;
}

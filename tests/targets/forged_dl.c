// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A program that opens what looks like a library with CPython in it (tests/targets/forged_python.c), and
 * closes it. Says "ready PID", and "done" after each line on its standard input: "open FILE"; "go": allocates in
 * the one that was opened last; "close", after which it is opened somewhere below; "up": the next one is
 * opened above all before; "haunt": closes it, and what it had in its variables stays where it was.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *library;
static uintptr_t highest;
static bool upward;
static bool (*call)(const char *how, size_t size);

/* Whole pages. */
struct span {
	uintptr_t start, end;
	uint32_t flags; /* PF_* that they have */
};

static int find_span(struct dl_phdr_info *info, size_t size, void *data)
{
	struct span *span = data;
	struct link_map *map = library;

	(void)size;
	if (info->dlpi_addr != map->l_addr)
		return 0;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = map->l_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD || (segment->p_flags & span->flags) != span->flags)
			continue;
		if (!span->end)
			span->start = start & ~4095ul;
		span->end = (start + segment->p_memsz + 4095) & ~4095ul;
	}
	return 1;
}

static bool map_at(const struct span *span, int protection)
{
	void *start = (void *)span->start;

	return mmap(start, span->end - span->start, protection,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == start;
}

static bool load_library(const char *name)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 100);

	if (n < 0)
		return false;
	path[n] = 0;
	strcpy(strrchr(path, '/') + 1, name);
	library = dlopen(path, RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return false;
	}
	return true;
}

static bool open_library(const char *name)
{
	bool (*begin)(void), above;

	if (!load_library(name))
		return false;
	begin = (bool (*)(void))dlsym(library, "forged_begin");
	call = (bool (*)(const char *, size_t))dlsym(library, "forged_call");
	above = (uintptr_t)call > highest;
	if (above)
		highest = (uintptr_t)call;
	if (above != upward) {
		fprintf(stderr, "%s is not where it was to be\n", name);
		return false;
	}
	upward = false;
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

static bool haunt(void)
{
	struct span span = {.flags = PF_W};
	size_t size;
	void *copy;

	dl_iterate_phdr(find_span, &span);
	size = span.end - span.start;
	copy = size ? malloc(size) : NULL;
	if (!copy)
		return false;
	memcpy(copy, (void *)span.start, size);
	if (!close_library() || !map_at(&span, PROT_READ | PROT_WRITE))
		return false;
	memcpy((void *)span.start, copy, size);
	free(copy);
	return true;
}

/* Where the loader puts it first is kept free of it. */
static bool reserve(struct span *hole)
{
	if (!load_library("forged_python.so"))
		return false;
	dl_iterate_phdr(find_span, hole);
	return !dlclose(library) && map_at(hole, PROT_NONE);
}

int main(void)
{
	size_t size = 5001;
	char line[64];
	struct span hole = {0};
	bool good = true;

	if (!reserve(&hole))
		return 1;
	upward = true;
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (good && fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "open ", 5))
			good = open_library(line + 5);
		else if (!strcmp(line, "close"))
			good = close_library();
		else if (!strcmp(line, "up"))
			good = upward = !munmap((void *)hole.start, hole.end - hole.start);
		else if (!strcmp(line, "haunt"))
			good = haunt();
		else
			good = call("plain\n", size++);
		if (good)
			printf("done\n");
		fflush(stdout);
	}
	return !good;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A program of musl's C library, into which test_musl.c puts the gate while it waits for a command. It
 * keeps the books, and compares what it is told with what it does.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "tests/unit/gate/books.h"
#include "tests/unit/gate/musl_side.h"

static void *by_malloc(size_t size)
{
	return malloc(size);
}

static void *by_calloc(size_t size)
{
	return calloc(8, size / 8);
}

static void *by_realloc_null(size_t size)
{
	void *volatile nothing = NULL;

	return realloc(nothing, size);
}

static void *by_memalign_8(size_t size)
{
	return memalign(8, size);
}

static void *by_memalign_4096(size_t size)
{
	return memalign(4096, size);
}

static void *by_aligned_alloc(size_t size)
{
	return aligned_alloc(64, size);
}

static void *by_posix_memalign(size_t size)
{
	void *block;

	return posix_memalign(&block, 64, size) ? NULL : block;
}

static const struct {
	const char *name;
	void *(*get)(size_t size);
} ways[] = {
	{"malloc", by_malloc},
	{"calloc", by_calloc},
	{"realloc(NULL)", by_realloc_null},
	{"memalign(8)", by_memalign_8},
	{"memalign(4096)", by_memalign_4096},
	{"aligned_alloc", by_aligned_alloc},
	{"posix_memalign", by_posix_memalign},
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static void *volatile kept;

static int told(uint64_t allocated, uint64_t freed, size_t size)
{
	return books.allocated == allocated + 1 && books.freed == freed &&
	       books.last_block == (uintptr_t)kept && books.last_size == size;
}

/* How many calls were told otherwise than once. */
static unsigned each(void)
{
	unsigned wrong = 0;

	kept = malloc(100);
	free(kept);
	for (size_t size = 64; size < 1 << 22; size *= 4) {
		for (size_t way = 0; way < WAYS; way++) {
			uint64_t allocated = books.allocated, freed = books.freed;

			kept = ways[way].get(size);
			if (!told(allocated, freed, size)) {
				wrong++;
				fprintf(stderr, "%s(%zu): told %lu times\n", ways[way].name, size,
					(unsigned long)(books.allocated - allocated));
			}
			allocated = books.allocated;
			kept = realloc(kept, 3 * size);
			wrong += !told(allocated, freed + 1, 3 * size);
			freed = books.freed;
			free(kept);
			wrong += books.freed != freed + 1;
		}
	}
	return wrong + (unsigned)(books.unknown + books.twice);
}

static void rate(size_t way)
{
	uint64_t before;

	kept = malloc(100);
	free(kept);
	before = books.allocated;
	for (unsigned i = 0; i < MUSL_CALLS; i++) {
		kept = ways[way].get(MUSL_SIZE);
		free(kept);
	}
	printf("%lu %s\n", (unsigned long)(books.allocated - before), ways[way].name);
}

static void *map_gate(void)
{
	uintptr_t at = ((uintptr_t)dlsym(RTLD_DEFAULT, "malloc") & ~0xfffull) - (64 << 20);
	void *code;

	for (;; at -= 1 << 20) {
		code = mmap((void *)at, GATE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (code == (void *)at || code == MAP_FAILED)
			return code;
		munmap(code, GATE_SIZE);
	}
}

int main(void)
{
	static const char *const names[] = {MUSL_FUNCTIONS};
	char line[64];

	prctl(PR_SET_PDEATHSIG, 9);
	printf("%lx %lx %lx %lx\n", (unsigned long)map_gate(), (unsigned long)hook_allocated,
	       (unsigned long)hook_freed, (unsigned long)hook_kept);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		printf("%lx\n", (unsigned long)dlsym(RTLD_DEFAULT, names[i]));
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "each\n"))
			printf("%u\n", each());
		else
			rate((size_t)atoi(line) % WAYS);
		fflush(stdout);
	}
	return 0;
}

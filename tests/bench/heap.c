// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A heap for the benchmarks of verdicts and inspections: a million blocks of 1000 bytes, each with five pointers to
 * earlier ones; or BLOCKS of SIZE bytes, if these are given; or with SIZE 0 so many GiB of address space in blocks of
 * 128 MiB, of which one page in 64 has been touched. Makes it when a line comes on standard input, says "done",
 * and ends with the input.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POINTERS 5
#define HUGE	 (128ul << 20)
#define STEP	 (64 * 4096ul)

static int make_sparse(size_t gib)
{
	static volatile char *volatile all[1024] __attribute__((used));

	for (size_t i = 0; i < gib * 8 && i < 1024; i++) {
		volatile char *block = malloc(HUGE);

		if (!block)
			return 1;
		all[i] = block;
		for (size_t at = 0; at < HUGE; at += STEP)
			block[at] = 1;
	}
	return 0;
}

static int make_blocks(uint64_t blocks, size_t size)
{
	size_t pointers = size / sizeof(void *) < POINTERS ? size / sizeof(void *) : POINTERS;
	/* What holds them all: a block of its own. */
	static void ***all;
	uint64_t seed = 1;

	all = calloc(blocks, sizeof(void **));
	if (!all)
		return 1;
	for (uint64_t i = 0; i < blocks; i++) {
		all[i] = malloc(size);
		if (!all[i])
			return 1;
		memset(all[i], 1, size);
		for (size_t k = 0; k < pointers; k++) {
			/* Knuth's MMIX generator. */
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			all[i][k] = i ? all[(seed >> 33) % i] : NULL;
		}
	}
	return 0;
}

int main(int argc, char *argv[])
{
	uint64_t blocks = argc > 2 ? strtoull(argv[1], NULL, 10) : 1000000;
	size_t size = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
	char line[16];

	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	if (size ? make_blocks(blocks, size) : make_sparse(blocks))
		return 1;
	puts("done");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}

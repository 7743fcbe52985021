// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A heap for the verdict's benchmark: a million blocks of 1000 bytes, each with five pointers to
 * earlier ones. Makes it when a line comes on standard input, says "done", and ends with the input.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS	 1000000
#define POINTERS 5

static void **all[BLOCKS];

int main(void)
{
	uint64_t seed = 1;
	char line[16];

	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (uint64_t i = 0; i < BLOCKS; i++) {
		all[i] = malloc(1000);
		if (!all[i])
			return 1;
		memset(all[i], 1, 1000);
		for (int k = 0; k < POINTERS; k++) {
			/* Knuth's MMIX generator. */
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			all[i][k] = i ? all[(seed >> 33) % i] : NULL;
		}
	}
	puts("done");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}

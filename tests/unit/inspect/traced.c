// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A program with blocks of four kinds, for test_traced.c, which builds it: "old" and "traced" ones of malloc, some of
 * them mappings of their own; "other" ones, of a pool of its own in memory of its own; and freed ones, of
 * which it says nothing. Then it says "ready", and stands still until its standard input ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EACH 500

static void *held[8 * EACH];
static unsigned count;

/*
 * Nothing of it is allocated by stdio: dprintf() has a block as well, until after what it prints has been read,
 * which one of two looks would find.
 */
static void say(const char *line, int length)
{
	if (write(STDOUT_FILENO, line, (size_t)length) != length)
		_exit(1);
}

/* `stack`: the number of who asked. */
static void *tell(void *block, size_t size, const char *kind, int stack)
{
	char line[80];

	say(line, snprintf(line, sizeof(line), "block %lx %zu %s %d\n", (unsigned long)block, size,
			   kind, stack));
	return held[count++] = memset(block, 0x11, size);
}

int main(void)
{
	char line[16], *pool = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *freed[EACH];

	if (pool == MAP_FAILED)
		return 1;
	for (int i = 0; i < EACH; i++) {
		tell(malloc(100), 100, "old", -1);
		tell(malloc(100), 100, "traced", i % 5 == 0);
		freed[i] = malloc(3000);
		tell(malloc(41), 41, "traced", 2);
		tell(pool + 128 * i, 90, "other", 3);
	}
	for (int i = 0; i < EACH; i++)
		free(freed[i]);
	tell(malloc(5000000), 5000000, "traced", 4);
	tell(malloc(6000000), 6000000, "old", -1);
	say("ready\n", 6);
	return read(STDIN_FILENO, line, sizeof(line)) != 0;
}

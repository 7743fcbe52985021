// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An interpreter whose frames lie in a list in memory. Says "ready PID", and for each line on its
 * standard input runs a program and says "done". The program: outer, in line 11, calls leaf, which in
 * line 21 calls a function of C; that calls back, which in line 31 allocates. The number of bytes is
 * the line; of "lost" it is 5000, and the outermost frame is in no memory.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORTED __attribute__((used, visibility("default")))
/* The compiler knows of malloc() that it looks at none of our memory. */
#define FRAMES_ARE_THERE() __asm__ volatile("" ::: "memory")

struct toy_function {
	char name[24];
};

struct toy_frame {
	const struct toy_frame *outer;
	const struct toy_function *function;
	uint64_t line, entry;
};

EXPORTED const struct toy_frame *toy_top;

static const struct toy_function outer = {"outer"}, leaf = {"leaf"}, back = {"back"};
static void *volatile kept[64];
static size_t count;

void sort_by(size_t size);
void toy_run(const struct toy_function *first, uint64_t line, const struct toy_frame *from,
	     size_t size);

/* A function of C that calls one of the language's. */
EXPORTED __attribute__((noinline)) void sort_by(size_t size)
{
	toy_run(&back, 31, toy_top, size);
	FRAMES_ARE_THERE();
}

/* What runs the language's functions; C has called it. */
EXPORTED __attribute__((noinline)) void toy_run(const struct toy_function *first, uint64_t line,
						const struct toy_frame *from, size_t size)
{
	struct toy_frame frame = {from, first, line, 1}, inner = {&frame, &leaf, 21, 0};
	const struct toy_frame *before = toy_top;

	if (first == &outer) {
		toy_top = &inner;
		sort_by(size);
	} else {
		toy_top = &frame;
		FRAMES_ARE_THERE();
		kept[count++ % 64] = malloc(size);
	}
	toy_top = before;
}

int main(void)
{
	char line[32];

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready %d\n", getpid());
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "lost\n"))
			toy_run(&outer, 11, (void *)0x1234567000, 5000);
		else
			toy_run(&outer, 11, NULL, (size_t)atol(line));
		printf("done\n");
	}
	return 0;
}

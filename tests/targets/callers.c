// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A program that allocates through a function of its own, from 64 callers in a random order, each
 * with a frame of another size. "go" keeps a block for each call.
 */
#include "truth.h"

#define CALLS 20000
#define BLOCK 24

SITE static void take(volatile char *frame)
{
	frame[0] = 1;
	if (!malloc(BLOCK))
		truth_die("malloc");
	NOT_A_TAIL_CALL();
}

#define CALLER(n)                                    \
	SITE static void caller_##n(void)            \
	{                                            \
		volatile char frame[16 + 16 * 0##n]; \
                                                     \
		take(frame);                         \
		NOT_A_TAIL_CALL();                   \
	}
#define EIGHT(of, n) of(n##0) of(n##1) of(n##2) of(n##3) of(n##4) of(n##5) of(n##6) of(n##7)
#define ALL(of)      \
	EIGHT(of, 0) \
	EIGHT(of, 1) EIGHT(of, 2) EIGHT(of, 3) EIGHT(of, 4) EIGHT(of, 5) EIGHT(of, 6) EIGHT(of, 7)
#define NAME(n) caller_##n,

ALL(CALLER)

static void (*const callers[])(void) = {ALL(NAME)};

static void go(void)
{
	unsigned int random = 1;

	for (int i = 0; i < CALLS; i++) {
		random = random * 1664525 + 1013904223;
		callers[random >> 26]();
	}
}

int main(void)
{
	const char *command;

	truth_ready();
	while ((command = truth_command()) && !strcmp(command, "go")) {
		go();
		truth_print("go", "");
	}
	truth_print("quit", "");
	return 0;
}

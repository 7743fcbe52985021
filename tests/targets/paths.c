// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Stacks that are hard to tell apart: 64 call paths through twin functions whose frames have one
 * size, so that the stack pointer and the innermost return address at malloc are the same for many
 * of them; only words further up differ. Taken in a random order by turns. "go" keeps a block for
 * each call, and leaves the truth as one JSON line: {"phase":"go","paths":{"left/right/…":count}},
 * innermost first.
 */
#include <stdbool.h>

#include "truth.h"

#define TURNS 6
#define PATHS (1u << TURNS)
#define CALLS 20000
#define BLOCK 24
#define BELOW 40 /* frames between the turns and malloc, for those that take that way */

static uint64_t counts[2][PATHS];

SITE static void leak(void)
{
	if (!malloc(BLOCK))
		truth_die("malloc");
	NOT_A_TAIL_CALL();
}

SITE static void below(unsigned int levels)
{
	if (levels)
		below(levels - 1);
	else
		leak();
	NOT_A_TAIL_CALL();
}

SITE static void left(unsigned int path, unsigned int turns, bool deep);
SITE static void right(unsigned int path, unsigned int turns, bool deep);

static inline __attribute__((always_inline)) void turn(unsigned int path, unsigned int turns,
						       bool deep)
{
	if (!turns && deep)
		below(BELOW);
	else if (!turns)
		leak();
	else if (path & 1)
		right(path >> 1, turns - 1, deep);
	else
		left(path >> 1, turns - 1, deep);
	NOT_A_TAIL_CALL();
}

SITE static void left(unsigned int path, unsigned int turns, bool deep)
{
	turn(path, turns, deep);
}

SITE static void right(unsigned int path, unsigned int turns, bool deep)
{
	turn(path, turns, deep);
}

static size_t put_path(char *line, bool deep, unsigned int path)
{
	size_t at = (size_t)sprintf(line, "\"%s", deep ? "below" : "leak");

	/* The last turn taken is the innermost. */
	for (int i = TURNS - 1; i >= 0; i--)
		at += (size_t)sprintf(line + at, "/%s", path >> i & 1 ? "right" : "left");
	return at + (size_t)sprintf(line + at, "\":%llu", (unsigned long long)counts[deep][path]);
}

static void say(void)
{
	static char line[2 * PATHS * 64];
	size_t at = (size_t)sprintf(line, "{\"phase\":\"go\",\"paths\":{");

	for (unsigned int i = 0; i < 2 * PATHS; i++) {
		if (i)
			line[at++] = ',';
		at += put_path(line + at, i >= PATHS, i % PATHS);
	}
	at += (size_t)sprintf(line + at, "}}\n");
	truth_write(line, at);
}

static void go(void)
{
	unsigned int random = 1;

	for (unsigned int i = 0; i < CALLS; i++) {
		unsigned int path;
		bool deep;

		random = random * 1664525 + 1013904223;
		path = random >> 26;
		deep = random >> 25 & 1;
		counts[deep][path]++;
		turn(path, TURNS, deep);
	}
}

int main(void)
{
	const char *command;

	truth_ready();
	while ((command = truth_command()) && !strcmp(command, "go")) {
		go();
		say();
	}
	truth_print("quit", "");
	return 0;
}

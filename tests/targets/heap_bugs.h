/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs with one bug each, in the manner of NIST's Juliet suite: a case is a function that does it when asked for
 * it, and the same without when not. "good N" does the latter of all of them N times, "bad N" the former: no
 * more than that is different, so what is told of is found by name: the case's function, called by good() or bad().
 * They are for --guard=1, AddressSanitizer and memcheck: without any of them the process would not live for long.
 */
#ifndef MEMLEAKBPF_TESTS_HEAP_BUGS_H
#define MEMLEAKBPF_TESTS_HEAP_BUGS_H

#include <stdbool.h>
#include <sys/wait.h>

#include "truth.h"

typedef void heap_case(bool wrong);

/* Nobody can know what comes of it. */
#define HIDE(x) __asm__ volatile("" : "+r"(x)::"memory")

static volatile char heap_sink;

#define SIZE 64 /* a multiple of 16 */

SITE static char *get(size_t size)
{
	char *p = (char *)malloc(size);

	if (!p)
		truth_die("no memory");
	for (size_t i = 0; i < size; i++)
		p[i] = 'a';
	NOT_A_TAIL_CALL();
	return p;
}

SITE static void put(void *p)
{
	free(p);
	NOT_A_TAIL_CALL();
}

SITE static void good(heap_case *run)
{
	run(false);
	NOT_A_TAIL_CALL();
}

SITE static void bad(heap_case *run)
{
	run(true);
	NOT_A_TAIL_CALL();
}

/* In a process of its own where what a case leaves may be the end: AddressSanitizer writes to what has been freed. */
static void heap_run(heap_case *run, bool wrong)
{
#ifdef __SANITIZE_ADDRESS__
	pid_t child = fork();

	if (child) {
		waitpid(child, NULL, 0);
		return;
	}
#endif
	(wrong ? bad : good)(run);
#ifdef __SANITIZE_ADDRESS__
	_exit(0);
#endif
}

static const char *heap_obey(const char *command, heap_case *const *cases, size_t count)
{
	bool wrong = !strncmp(command, "bad ", 4);
	int rounds;

	if (sscanf(command, wrong ? "bad %d" : "good %d", &rounds) != 1)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		for (int round = 0; round < rounds; round++)
			heap_run(cases[i], wrong);
	}
	return "";
}

#endif

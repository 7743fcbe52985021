// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "truth.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_FRAMES 400
#define OWN_FRAMES 2 /* truth_probe and malloc */

#ifdef __GLIBC__
#include <execinfo.h>

extern void *__libc_malloc(size_t size);
#else
#include "truth_musl.h"
#endif

static _Thread_local int armed __attribute__((tls_model("initial-exec")));
static atomic_ulong next_sequence;

static char *put_hex(char *to, uint64_t value)
{
	char digits[17];
	int n = snprintf(digits, sizeof(digits), "%lx", (unsigned long)value);

	memcpy(to, digits, (size_t)n);
	return to + n;
}

static void put_all(const char *text, size_t size)
{
	while (size) {
		ssize_t n = write(STDOUT_FILENO, text, size);

		if (n <= 0)
			_exit(3);
		text += n;
		size -= (size_t)n;
	}
}

/*
 * The place to probe. Not inlined and without a tail call, so that its caller's frame is malloc's.
 */
__attribute__((noinline)) void *truth_probe(size_t size, unsigned long sequence)
{
	void *frames[MAX_FRAMES];
	char line[32 + MAX_FRAMES * 17], *p = line;
	int count;

	armed = 0; /* what backtrace() allocates is not part of the test */
	count = backtrace(frames, MAX_FRAMES);
	memcpy(p, "truth ", 6);
	p = put_hex(p + 6, sequence);
	for (int i = OWN_FRAMES; i < count; i++) {
		*p++ = ' ';
		p = put_hex(p, (uint64_t)(uintptr_t)frames[i]);
	}
	*p++ = '\n';
	put_all(line, (size_t)(p - line));
	armed = 1;
	return __libc_malloc(size);
}

void *malloc(size_t size)
{
	void *block;

	if (!armed)
		return __libc_malloc(size);
	block = truth_probe(size, atomic_fetch_add(&next_sequence, 1) + 1);
	__asm__ volatile("" : "+r"(block)); /* no tail call */
	return block;
}

void truth_ready(void)
{
	void *warm[4];
	char c;

	backtrace(warm, 4); /* loads libgcc_s.so */
	put_all("ready\n", 6);
	while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n')
		;
}

void truth_arm(void)
{
	armed = 1;
}

void truth_disarm(void)
{
	armed = 0;
}

void truth_done(void)
{
	armed = 0;
	put_all("done\n", 5);
	_exit(0);
}

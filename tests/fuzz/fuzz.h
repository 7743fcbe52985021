/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the harnesses share. Each defines LLVMFuzzerTestOneInput():
 * https://llvm.org/docs/LibFuzzer.html
 */
#ifndef MEMLEAKBPF_TESTS_FUZZ_H
#define MEMLEAKBPF_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "user/base/util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold, whatever the input. */
#define MUST(condition)                                                                         \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                                \
		}                                                                               \
	} while (0)

/* The input with a NUL behind it, in memory of exactly that size; the caller frees it. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		abort();
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

/* The input as a file; the caller closes it. */
static inline int fuzz_file(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || (size && write(fd, data, size) != (ssize_t)size))
		abort();
	return fd;
}

/* Strings as the output formats rely on them: no control characters, less than 4096 bytes. */
static inline void fuzz_must_be_clean(const char *text)
{
	if (!text)
		return;
	MUST(strlen(text) < 4096);
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		MUST(*c >= 0x20 && *c != 0x7f);
		MUST(c[0] != 0xc2 || c[1] >= 0xa0); /* C1 */
	}
}

#endif

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/gate/pairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/util.h"

#define PIECE (256 << 10)

/* gperftools 2.10 src/debugallocation.cc; compiler-rt asan_flags.inc, scudo/standalone/report.cpp. */
static const char *const pairs_words[] = {
	"memory allocation/deallocation mismatch",
	"alloc_dealloc_mismatch",
	"allocation type mismatch when",
};
#define WORDS_MAX 64 /* none is longer: the end of a piece is looked at again with the next one */

static int pairs_has_words(const char *piece, size_t size)
{
	for (size_t i = 0; i < ARRAY_SIZE(pairs_words); i++) {
		if (memmem(piece, size, pairs_words[i], strlen(pairs_words[i])))
			return 1;
	}
	return 0;
}

int gate_pairs_checked(int fd)
{
	_cleanup_free_ char *piece = malloc(WORDS_MAX + PIECE);
	size_t kept = 0;
	off_t at = 0;
	ssize_t n;

	if (!piece)
		return -ENOMEM;
	while ((n = pread(fd, piece + kept, PIECE, at)) > 0) {
		size_t size = kept + (size_t)n;

		if (pairs_has_words(piece, size))
			return 1;
		at += n;
		kept = size < WORDS_MAX ? size : WORDS_MAX;
		memmove(piece, piece + size - kept, kept);
	}
	return n < 0 ? -errno : 0;
}

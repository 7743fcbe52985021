// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which allocators remember how a block was made: of those that are installed, and of a file made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/gate/pairs.h"

static void installed(void **state)
{
	static const struct {
		const char *name;
		int checked;
	} libraries[] = {
		{"libc.so.6", 0},
		{"libjemalloc.so.2", 0},
		{"libtcmalloc_minimal.so.4", 0},
		{"libtcmalloc_minimal_debug.so.4", 1},
		{"libmimalloc.so.2", 0},
		{"libasan.so.8", 1},
	};
	char path[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++) {
		int fd;

		snprintf(path, sizeof(path), "/usr/lib/x86_64-linux-gnu/%s", libraries[i].name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0) {
			print_message("%s: %s\n", path, strerror(errno));
			continue;
		}
		assert_int_equal(gate_pairs_checked(fd), libraries[i].checked);
		close(fd);
	}
}

/* Wherever the words are, across what is read at once too. */
static void made_up(void **state)
{
	static const char words[] = "memory allocation/deallocation mismatch";
	int fd = memfd_create("pairs", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(gate_pairs_checked(fd), 0);
	for (off_t at = (256 << 10) - 80; at < (256 << 10) + 80; at++) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(ftruncate(fd, 1 << 20), 0);
		assert_int_equal(pwrite(fd, words, sizeof(words) - 2, at), sizeof(words) - 2);
		assert_int_equal(gate_pairs_checked(fd), 0);
		assert_int_equal(pwrite(fd, words, sizeof(words) - 1, at), sizeof(words) - 1);
		assert_int_equal(gate_pairs_checked(fd), 1);
	}
	close(fd);
	assert_int_equal(gate_pairs_checked(fd), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(installed),
		cmocka_unit_test(made_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What becomes of --gate and --attach gate on kernels that lack what a gate needs. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "user/patch/patches.h"

#define SAID_MAX 1024

/* *gate: are there to be gates; *said: what is logged. */
static int prepare(const struct patch_options *options, bool *gate, char said[static SAID_MAX])
{
	int saved = dup(STDERR_FILENO), file = memfd_create("stderr", MFD_CLOEXEC), err;
	struct patches *patches = NULL;

	assert_true(saved >= 0 && file >= 0);
	fflush(stderr);
	assert_int_equal(dup2(file, STDERR_FILENO), STDERR_FILENO);
	err = patches_new(options, &patches);
	fflush(stderr);
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	memset(said, 0, SAID_MAX);
	assert_true(pread(file, said, SAID_MAX - 1, 0) >= 0);
	close(saved);
	close(file);
	*gate = patches && patches_want_gate(patches);
	patches_free(patches);
	return err;
}

static size_t lines(const char *said)
{
	size_t n = 0;

	for (; *said; said++)
		n += *said == '\n';
	return n;
}

static void test_before_cookies(void **state)
{
	struct patch_options options = {.old = true, .gate = true};
	bool gate;
	char said[SAID_MAX];

	(void)state;
	assert_int_equal(prepare(&options, &gate, said), 0);
	assert_false(gate);
	assert_non_null(strstr(said, "probes, and not the gate: kernels before 5.15"));
	assert_int_equal(lines(said), 1);

	options.gate_only = true;
	assert_int_equal(prepare(&options, &gate, said), -EOPNOTSUPP);
	assert_non_null(strstr(said, "--attach gate: kernels before 5.15"));
	assert_int_equal(lines(said), 1);
}

static void test_not_asked_for(void **state)
{
	const struct patch_options options = {.old = true};
	bool gate;
	char said[SAID_MAX];

	(void)state;
	assert_int_equal(prepare(&options, &gate, said), 0);
	assert_string_equal(said, "");
}

/* No probe may be made by who has no privilege: the choice of the nop fails as on a kernel that makes none there. */
static void test_no_probes(void **state)
{
	struct patch_options options = {.gate = true};
	bool gate;
	char said[SAID_MAX];

	(void)state;
	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
	assert_int_equal(seteuid(65534), 0);
	assert_int_equal(prepare(&options, &gate, said), 0);
	assert_false(gate);
	assert_non_null(strstr(said, "probes, and not the gate: no probes in memory of a process"));
	assert_int_equal(lines(said), 1);

	options.gate_only = true;
	assert_true(prepare(&options, &gate, said) < 0);
	assert_non_null(strstr(said, "--attach gate: no probes in memory of a process"));
	assert_int_equal(lines(said), 1);
	assert_int_equal(seteuid(0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_before_cookies),
		cmocka_unit_test(test_not_asked_for),
		cmocka_unit_test(test_no_probes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

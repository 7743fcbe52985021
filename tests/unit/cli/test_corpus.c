/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The harnesses of tests/fuzz over their corpora, compiled as the tool is: what was found once stays
 * mended. Sanitizers and new inputs are for `make test-nightly` and `make fuzz`. A harness aborts
 * where something does not hold.
 */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/base/util.h"

/* HARNESSES is HARNESS(name) for each (tests/fuzz/rules.mk). */
#define HARNESS(name) int fuzz_##name(const uint8_t *data, size_t size);
HARNESSES
#undef HARNESS

struct harness {
	const char *name;
	int (*run)(const uint8_t *data, size_t size);
};

#define HARNESS(name) {#name, fuzz_##name},
static struct harness harnesses[] = {HARNESSES};
#undef HARNESS

enum { INPUT_MAX = 1 << 16 };

/* The bytes are in memory of just that size, so that a sanitized build sees what lies beyond it. */
static void run_input(const struct harness *harness, int directory, const char *file)
{
	_cleanup_free_ uint8_t *read_into = malloc(INPUT_MAX), *data = NULL;
	int fd = openat(directory, file, O_RDONLY | O_CLOEXEC);
	ssize_t size;

	assert_true(fd >= 0 && read_into);
	size = read(fd, read_into, INPUT_MAX);
	close(fd);
	assert_true(size >= 0);
	data = malloc(size ? size : 1);
	assert_non_null(data);
	for (ssize_t i = 0; i < size; i++)
		data[i] = read_into[i];
	harness->run(data, size);
}

/* What parsers print of an input is no result of a test. */
static int silence(void)
{
	int saved, null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	assert_true(null >= 0 && saved >= 0 && dup2(null, STDOUT_FILENO) >= 0);
	close(null);
	return saved;
}

static void speak(int saved)
{
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
}

static void test_corpus(void **state)
{
	const struct harness *harness = *state;
	struct dirent *entry;
	int inputs = 0, saved;
	char path[256];
	DIR *corpus;

	snprintf(path, sizeof(path), "tests/fuzz/corpus/%s", harness->name);
	corpus = opendir(path);
	assert_non_null(corpus);
	saved = silence();
	while ((entry = readdir(corpus))) {
		if (entry->d_name[0] == '.')
			continue;
		run_input(harness, dirfd(corpus), entry->d_name);
		inputs++;
	}
	speak(saved);
	closedir(corpus);
	assert_true(inputs > 0);
}

int main(void)
{
	struct CMUnitTest tests[ARRAY_SIZE(harnesses)];

	for (size_t i = 0; i < ARRAY_SIZE(harnesses); i++)
		tests[i] = (struct CMUnitTest){.name = harnesses[i].name,
					       .test_func = test_corpus,
					       .initial_state = &harnesses[i]};
	return cmocka_run_group_tests_name("corpus", tests, NULL, NULL);
}

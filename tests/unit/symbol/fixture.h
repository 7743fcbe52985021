/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the tests of symbols share: a temporary directory, running tools in it, looking up addresses
 * of a file.
 */
#ifndef MEMLEAKBPF_TESTS_UNIT_SYMBOL_FIXTURE_H
#define MEMLEAKBPF_TESTS_UNIT_SYMBOL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/sides.h"
#include "user/process/object.h"
#include "user/symbol/symbol.h"

struct fixture {
	struct sides sides;
	struct object_cache *cache;
	struct symbolizer *symbolizer;
};

struct names {
	const struct frame *const *frames;
	size_t count;
};

static inline int fixture_setup(void **state)
{
	struct symbolizer_options options = {.inlines = true};
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	sides_open(&fixture->sides, __FILE__);
	fixture->cache = object_cache_new();
	fixture->symbolizer = symbolizer_new(&options);
	assert_non_null(fixture->cache);
	assert_non_null(fixture->symbolizer);
	*state = fixture;
	return 0;
}

/* As sides_try(). */
#define try_run(fixture, ...) sides_try(&(fixture)->sides, __VA_ARGS__)

#define run(fixture, ...) assert_int_equal(try_run(fixture, __VA_ARGS__), 0)

/* The number (base 16) that a shell command prints. */
static inline __attribute__((format(printf, 2, 3))) uint64_t ask(struct fixture *fixture,
								 const char *format, ...)
{
	char command[4096];
	unsigned long long value;
	va_list args;
	FILE *pipe;
	int used = snprintf(command, sizeof(command), "cd '%s' && ", fixture->sides.directory);

	va_start(args, format);
	vsnprintf(command + used, sizeof(command) - (size_t)used, format, args);
	va_end(args);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_int_equal(fscanf(pipe, "%llx", &value), 1);
	pclose(pipe);
	return value;
}

static inline uint64_t address_of(struct fixture *fixture, const char *file, const char *symbol)
{
	return ask(fixture, "nm %s | awk '$3 == \"%s\" { print $1 }'", file, symbol);
}

static inline uint64_t size_of(struct fixture *fixture, const char *file, const char *symbol)
{
	return ask(fixture, "nm -S %s | awk '$4 == \"%s\" { print $2 }'", file, symbol);
}

static inline struct object *open_object(struct fixture *fixture, const char *file)
{
	char path[PATH_MAX];
	struct object *object = NULL;

	snprintf(path, sizeof(path), "%s/%s", fixture->sides.directory, file);
	assert_int_equal(object_cache_open(fixture->cache, path, &object), 0);
	return object;
}

/* Looks up a link-time address of a file, as `pid` sees it. */
static inline struct names look_up(struct fixture *fixture, const char *file, uint64_t vaddr,
				   bool is_return_address, pid_t pid)
{
	struct object *object = open_object(fixture, file);
	struct location location = {.object = object};
	struct names names = {NULL, 0};

	/* The end of a segment's last function is no address of the segment itself. */
	assert_int_equal(
		object_vaddr_to_offset(object, vaddr - is_return_address, &location.offset), 0);
	location.offset += is_return_address;
	assert_int_equal(symbolizer_resolve(fixture->symbolizer, &location, pid, is_return_address,
					    &names.frames, &names.count),
			 0);
	assert_true(names.count >= 1);
	object_unref(object);
	return names;
}

static inline const struct frame *look_up_last(struct fixture *fixture, const char *file,
					       uint64_t vaddr)
{
	struct names names = look_up(fixture, file, vaddr, false, getpid());

	return names.frames[names.count - 1];
}

static inline void assert_ends_with(const char *text, const char *end)
{
	assert_non_null(text);
	assert_true(strlen(text) >= strlen(end));
	assert_string_equal(text + strlen(text) - strlen(end), end);
}

static inline int fixture_teardown(void **state)
{
	struct fixture *fixture = *state;

	symbolizer_free(fixture->symbolizer);
	object_cache_free(fixture->cache);
	sides_close(&fixture->sides);
	free(fixture);
	return 0;
}

#define symbol_test(function) \
	cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

#endif

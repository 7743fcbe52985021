// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Whose thread-local variable an address is, for verdicts: this program's own, among so many threads that to ask each
 * of them would take too long.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/freeze/tls.h"
#include "user/heap/held_by.h"
#include "user/symbol/symbol.h"
#include "user/trace/target.h"
#include "user/trace/thread_variables.h"

#define MANY 100000

#define PATIENT (1000 * NS_PER_S)

static __thread uint64_t own_local __attribute__((used)) = 7;

struct fixture {
	struct trace trace;
	struct target target;
	struct memory_image memory;
};

static int set_up(void **state)
{
	static const struct symbolizer_options names = {.inlines = false};
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->trace.objects = object_cache_new();
	f->trace.symbolizer = symbolizer_new(&names);
	assert_non_null(f->trace.objects);
	assert_non_null(f->trace.symbolizer);
	f->target.pid = getpid();
	assert_int_equal(image_new(getpid(), f->trace.objects, &f->target.image), 0);
	/* Only the last one has any: its thread pointer is this thread's. */
	f->memory.thread_count = MANY;
	f->memory.threads = calloc(MANY, sizeof(*f->memory.threads));
	assert_non_null(f->memory.threads);
	f->memory.threads[MANY - 1] =
		(struct memory_thread){.tid = 42, .tls = (uintptr_t)__builtin_thread_pointer()};
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	free(f->memory.threads);
	thread_variables_free(&f->trace);
	image_free(f->target.image);
	symbolizer_free(f->trace.symbolizer);
	object_cache_free(f->trace.objects);
	free(f);
	return 0;
}

static int name_own(struct fixture *f, struct trace_tls_time *time, struct thread_variable *out)
{
	return trace_name_tls(&f->trace, &f->target, &f->memory, time, (uintptr_t)&own_local + 3,
			      out);
}

static void named(void **state)
{
	struct trace_tls_time time = {.left_ns = PATIENT};
	struct fixture *f = *state;
	struct thread_variable variable = {0};

	assert_int_equal(name_own(f, &time, &variable), 0);
	assert_int_equal(variable.tid, 42);
	assert_string_equal(variable.name, "own_local");
	assert_int_equal(variable.offset, 3);
	/* What it took is not there for the next question. */
	assert_true(time.left_ns < PATIENT);
	assert_false(time.over);
	assert_int_equal(trace_name_tls(&f->trace, &f->target, &f->memory, &time, 8, &variable),
			 -ENOENT);
	assert_false(f->target.variables_told);
}

/* Neither files are read without time, nor threads asked. */
static void no_time(void **state)
{
	struct trace_tls_time time = {.left_ns = 1}, next = {.left_ns = PATIENT};
	struct fixture *f = *state;
	struct thread_variable variable = {0};

	assert_int_equal(name_own(f, &time, &variable), -ENOENT);
	assert_true(time.over);
	assert_true(f->target.variables_told);
	assert_null(f->trace.layouts);
	assert_int_equal(name_own(f, &time, &variable), -ENOENT);
	/* The next verdict has its own. */
	assert_int_equal(name_own(f, &next, &variable), 0);
	assert_string_equal(variable.name, "own_local");
}

/* As many as there are; or none, where it is late already. */
static void threads(void **state)
{
	struct fixture *f = *state;
	const struct memory_thread *thread;
	struct tls_place place = {.layout = {.size = 64, .align = 8}, .is_program = true};
	uint64_t offset, own = (uintptr_t)__builtin_thread_pointer();
	uint64_t block = tls_block_of_program(&place.layout, own);

	assert_int_equal(
		tls_find_thread(&place, &f->memory, block + 5, UINT64_MAX, &thread, &offset), 0);
	assert_int_equal(thread->tid, 42);
	assert_int_equal(offset, 5);
	assert_int_equal(
		tls_find_thread(&place, &f->memory, block + 64, UINT64_MAX, &thread, &offset),
		-ENOENT);
	assert_int_equal(tls_find_thread(&place, &f->memory, block + 5, 1, &thread, &offset),
			 -ETIME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(named, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(threads, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The functions of allocators that are installed here, found in a process that runs, and guarded: every
 * one of them takes a guarded block. What cannot be guarded whole is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if !defined(__x86_64__) || defined(__SANITIZE_ADDRESS__)
int main(void)
{
	puts("1..0 # SKIP x86_64 only, and the C library's own malloc");
	return 0;
}
#else
#include "tests/unit/guard/guarded_target.h"
#include "tests/unit/sides.h"
#include "user/base/util.h"
#include "user/guard/guard.h"
#include "user/guard/guard_layout.h"
#include "user/patch/guarded_functions.h"

static struct gate_nop nop;
static struct object_cache *objects;

/* ---- a process ---------------------------------------------------------------------------- */

static struct {
	pid_t pid;
	FILE *to, *from;
	struct image *image;
} target;

static unsigned long answer(void)
{
	unsigned long number = 0;

	/* If it has died there is none. */
	assert_int_equal(fscanf(target.from, "%lu", &number), 1);
	return number;
}

static unsigned long ask(const char *command)
{
	fprintf(target.to, "%s\n", command);
	fflush(target.to);
	return answer();
}

static void start_target(const char *library)
{
	target.pid = target_start(library, &target.to, &target.from);
	assert_int_equal(answer(), 0);
	assert_int_equal(image_new(target.pid, objects, &target.image), 0);
}

static void end_target(void)
{
	int status;

	fclose(target.to);
	assert_int_equal(waitpid(target.pid, &status, 0), target.pid);
	assert_int_equal(status, 0);
	fclose(target.from);
	image_free(target.image);
}

static int find(struct guarded_functions *functions, char reason[static REASON_MAX])
{
	int err = guarded_functions_find(target.image, true, functions, reason);

	if (err)
		print_message("%s\n", reason);
	return err;
}

static const struct gate_wanted *named(const struct guarded_functions *functions, const char *name)
{
	for (size_t i = 0; i < functions->count; i++) {
		if (!strcmp(functions->items[i].name, name))
			return &functions->items[i];
	}
	return NULL;
}

/* ---- an allocator ------------------------------------------------------------------------- */

/* Threads use every function that the library of tests/unit/guard knows, and look at every byte. */
static void use_guards(const struct guarded_functions *functions, unsigned long news)
{
	struct guard_request request = {.in = {.pid = target.pid, .nop = &nop},
					.count = 512,
					.period = 20,
					.at_left = 64,
					.said = -1};
	struct guard_header header;
	char reason[REASON_MAX] = "";
	struct guard *guard;
	uint64_t live;

	guarded_functions_request(functions, &request);
	if (guard_open(&request, &guard, reason) || guard_start(guard, reason))
		fail_msg("%s", reason);
	assert_int_equal(ask("w"), 0);
	assert_int_equal(guard_read(guard, &header, &live), 0);
	assert_true(header.guarded > 100);
	assert_true(header.freed > 50);
	assert_true(header.resized > 10);
	assert_int_equal(header.double_freed + header.invalid_freed + header.changed, 0);
	assert_int_equal(ask("c"), 0);
	for (int i = 0; i < 20; i++)
		assert_int_equal(ask("o"), 0);
	/* Paused, it gives no more of them. */
	assert_int_equal(guard_pause(guard, reason), 0);
	assert_int_equal(ask("w"), 0);
	assert_int_equal(guard_read(guard, &header, &live), 0);
	live = header.guarded;
	assert_int_equal(ask("w"), 0);
	assert_int_equal(guard_read(guard, &header, &(uint64_t){0}), 0);
	/* One that a thread was at, which waits for its turn. */
	assert_in_range(header.guarded, live, live + TARGET_THREADS);
	assert_int_equal(ask("e"), 0);
	assert_int_equal(guard_close(guard, false, reason), 0);
	/* And each block, by each function that the allocator has. */
	request.period = 1;
	if (guard_open(&request, &guard, reason) || guard_start(guard, reason))
		fail_msg("%s", reason);
	assert_int_equal(ask("o"), 0);
	assert_int_equal(guard_read(guard, &header, &live), 0);
	assert_true(header.freed >= 10);
	assert_int_equal(header.double_freed + header.invalid_freed + header.changed, 0);
	assert_int_equal(ask("n"), news);
	assert_int_equal(ask("b"), 48);
	guard_close(guard, false, reason);
}

static void test_glibc(void **state)
{
	static const char *const names[] = {
		"malloc",	"free",	    "calloc",	      "realloc",
		"reallocarray", "memalign", "posix_memalign", "malloc_usable_size"};
	struct guarded_functions functions;
	char reason[REASON_MAX] = "";

	(void)state;
	start_target(NULL);
	if (find(&functions, reason))
		fail_msg("%s", reason);
	assert_string_equal(functions.allocator, "glibc");
	assert_string_equal(object_name(functions.object), "libc.so.6");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_non_null(named(&functions, names[i]));
	/* Another name of free's. */
	assert_null(named(&functions, "cfree"));
	for (size_t i = 0; i < functions.count; i++)
		assert_int_equal(functions.pcs[i], functions.items[i].address);
	assert_int_equal(guarded_functions_check(target.image, functions.object, reason), 0);
	use_guards(&functions, 0);
	guarded_functions_free(&functions);
	end_target();
}

/* False: it is not here. `news`: so many operators new, by all of their names. */
static bool try_library(const char *library, const char *allocator, size_t count,
			unsigned long news)
{
	struct guarded_functions functions;
	char reason[REASON_MAX] = "";
	bool here;

	start_target(library);
	if (find(&functions, reason))
		fail_msg("%s", reason);
	here = strcmp(functions.allocator, "glibc") != 0;
	if (!here) {
		print_message("no %s here\n", library);
		goto out;
	}
	assert_string_equal(functions.allocator, allocator);
	for (size_t i = 0; i < functions.count; i++)
		print_message("  %s\n", functions.items[i].name);
	assert_true(functions.count >= count);
	use_guards(&functions, news);
out:
	guarded_functions_free(&functions);
	end_target();
	return here;
}

static void test_jemalloc(void **state)
{
	(void)state;
	if (!try_library("libjemalloc.so.2", "jemalloc", 20, 8))
		skip();
}

static void test_tcmalloc(void **state)
{
	(void)state;
	if (!try_library("libtcmalloc_minimal.so.4", "tcmalloc", 14, 8))
		skip();
}

static void test_mimalloc(void **state)
{
	(void)state;
	if (!try_library("libmimalloc.so.2", "mimalloc", 14, 13))
		skip();
}

/* ---- what is refused ---------------------------------------------------------------------- */

static void assert_refused(const char *command, const char *why)
{
	struct guarded_functions functions;
	char reason[REASON_MAX] = "", line[64];
	struct sides sides;
	struct side side;

	sides_open(&sides, __FILE__);
	side_start(&side, &sides, command);
	while (side_says(&side, line, sizeof(line)))
		;
	target.pid = side.pid;
	assert_int_equal(image_new(side.pid, objects, &target.image), 0);
	assert_int_equal(find(&functions, reason), -EOPNOTSUPP);
	guarded_functions_free(&functions);
	if (!strstr(reason, why))
		fail_msg("%s", reason);
	image_free(target.image);
	side_end(&side);
	sides_close(&sides);
}

#define SIDE "cc -O1 $S/guarded_side.c -o side "

static void test_refused(void **state)
{
	(void)state;
	assert_refused(SIDE "-static && exec ./side", "static program");
	/* Whoever frees here has not allocated here. */
	assert_refused(SIDE "-DOWN_FREE -rdynamic && exec ./side", "side has a free of its own");
	assert_refused(SIDE "-DOWN_FREE -DOWN_MALLOC -rdynamic && exec ./side",
		       "side has an allocator linked into it");
	assert_refused(SIDE
		       "&& cc -shared -fPIC -DOWN_FREE -DOWN_MALLOC $S/guarded_side.c "
		       "-Wl,-soname,libown.so -o libown.so && LD_PRELOAD=./libown.so exec ./side",
		       "its allocator is in libown.so");
}

/* It comes by dlopen while the process runs. */
static void test_comes_later(void **state)
{
	struct guarded_functions functions;
	char reason[REASON_MAX] = "", line[64];
	struct sides sides;
	struct side side;

	(void)state;
	sides_open(&sides, __FILE__);
	side_start(&side, &sides,
		   SIDE
		   "&& cc -shared -fPIC -DOWN_FREE $S/guarded_side.c -o libown.so && exec ./side "
		   "./libown.so");
	assert_false(side_says(&side, line, sizeof(line)));
	assert_int_equal(image_new(side.pid, objects, &target.image), 0);
	if (find(&functions, reason))
		fail_msg("%s", reason);
	assert_int_equal(write(side.to, "l\n", 2), 2);
	assert_false(side_says(&side, line, sizeof(line)));
	assert_int_equal(image_refresh(target.image), 0);
	assert_int_equal(guarded_functions_check(target.image, functions.object, reason),
			 -EOPNOTSUPP);
	assert_non_null(strstr(reason, "libown.so has a free of its own"));
	guarded_functions_free(&functions);
	image_free(target.image);
	side_end(&side);
	sides_close(&sides);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_glibc),	 cmocka_unit_test(test_jemalloc),
		cmocka_unit_test(test_tcmalloc), cmocka_unit_test(test_mimalloc),
		cmocka_unit_test(test_refused),	 cmocka_unit_test(test_comes_later),
	};
	int failed;

	(void)argc;
	if (!target_test_begins(argv, &nop))
		return 0;
	objects = object_cache_new();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	object_cache_free(objects);
	return failed;
}
#endif

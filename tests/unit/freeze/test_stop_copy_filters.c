// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A process is made to fork by none of its threads whose seccomp filters might kill it for that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/freeze/remote_target.h"
#include "user/freeze/forkcopy.h"
#include "user/freeze/stop.h"

#if !defined(__x86_64__)
int main(void)
{
	puts("1..0 # SKIP x86_64 only");
	return 0;
}
#else
#define DEADLINE (10 * NS_PER_S)
#define COPIES	 10

/* Shared with the target: has it the filter, and is it to have it? */
static uint32_t *filtered, *filter_all;

static void filter(unsigned flags)
{
	if (!kill_for(SYS_clone, flags))
		books->bad_calls++;
	__atomic_store_n(filtered, 1, __ATOMIC_RELEASE);
}

static void *filtered_reader(void *arg)
{
	filter(0);
	return reader(arg);
}

/* The only one that waits, and so would be preferred, has a filter. */
static void *one_filtered(void *arg)
{
	start_thread(filtered_reader);
	return turn(arg);
}

static void *all_filtered_later(void *arg)
{
	start_thread(turn);
	while (!__atomic_load_n(filter_all, __ATOMIC_ACQUIRE))
		;
	filter(SECCOMP_FILTER_FLAG_TSYNC);
	return turn(arg);
}

static void wait_for_filter(void)
{
	while (!__atomic_load_n(filtered, __ATOMIC_ACQUIRE))
		assert_int_equal(waitpid(target, NULL, WNOHANG), 0);
}

static void begin(void *(*run)(void *))
{
	*filtered = *filter_all = 0;
	target_start(run);
}

/* How stop_copy() has ended. */
static int copy(const struct call_code *code, char why[static REASON_MAX])
{
	struct stop *stop;
	pid_t copied;
	int err = stop_begin(target, DEADLINE, NULL, &stop, why);

	if (err)
		fail_msg("%s", why);
	err = stop_copy(stop, code, monotonic_ns() + DEADLINE, &copied, why);
	stop_free(stop);
	return err;
}

static void by_another_thread(void **state)
{
	char why[REASON_MAX] = "";
	struct call_code code;

	(void)state;
	begin(one_filtered);
	wait_for_filter();
	assert_int_equal(forkcopy_prepare(target, &code, why), 0);
	for (int i = 0; i < COPIES; i++) {
		if (copy(&code, why))
			fail_msg("%s", why);
		assert_true(moves(&books->turns));
	}
	assert_int_equal(books->bad_calls, 0);
	target_end();
}

static void filtered_meanwhile(void **state)
{
	char why[REASON_MAX] = "";
	struct call_code code;

	(void)state;
	begin(all_filtered_later);
	assert_true(moves(&books->turns));
	assert_int_equal(forkcopy_prepare(target, &code, why), 0);
	__atomic_store_n(filter_all, 1, __ATOMIC_RELEASE);
	wait_for_filter();
	assert_int_equal(copy(&code, why), -EBUSY);
	assert_true(moves(&books->turns));
	assert_int_equal(waitpid(target, NULL, WNOHANG), 0);
	assert_int_equal(books->bad_calls, 0);
	target_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_another_thread),
		cmocka_unit_test(filtered_meanwhile),
	};

	filtered = mmap(NULL, 2 * sizeof(*filtered), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (filtered == MAP_FAILED || !books_open())
		return 1;
	filter_all = filtered + 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Guards of a process that has seccomp filters, or gets them: what these may stop is not called. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>

#if !defined(__x86_64__) || defined(__SANITIZE_ADDRESS__)
int main(void)
{
	puts("1..0 # SKIP x86_64 only, and the C library's own malloc");
	return 0;
}
#else
#include "tests/unit/guard/guard_of_target.h"

/* It must not call madvise: no use after free can be seen, and no bug is its end. */
static void filtered(void **state)
{
	struct guard *guard;

	(void)state;
	assert_int_equal(ask("e"), 0);
	assert_int_equal(ask("s"), 0);
	guard = start_guard(1);
	assert_true(guard_place(guard).keep_pages);
	assert_int_equal(ask("h"), 0);
	assert_int_equal(ask("b"), 48);
	assert_int_equal(ask("f"), 0);
	assert_int_equal(ask("c"), 0);
	close_guard(guard);
}

/* Filters that let it call madvise, before the guards and after: pages go. One more that kills for it, and they stay. */
static void filtered_and_allowed(void **state)
{
	char reason[REASON_MAX] = "";
	struct guard *guard;

	(void)state;
	assert_int_equal(ask("e"), 0);
	assert_int_equal(ask("a"), 0);
	assert_int_equal(ask("a"), 0);
	guard = start_guard(1);
	assert_false(guard_place(guard).keep_pages);
	assert_int_equal(guard_place(guard).filters, 2);
	assert_int_equal(ask("h"), 0);
	assert_int_equal(ask("f"), 0);
	assert_in_range(pages_there(guard, GUARD_DATA), 0, 20);
	assert_int_equal(ask("b"), 48);
	assert_int_equal(guard_watch(guard, reason), 0);
	assert_int_equal(ask("a"), 0);
	assert_int_equal(guard_watch(guard, reason), 0);
	assert_int_equal(guard_place(guard).filters, 3);
	assert_false(guard_place(guard).keep_pages);
	assert_int_equal(ask("s"), 0);
	assert_int_equal(guard_watch(guard, reason), GUARD_WATCH_KEEPS);
	assert_non_null(strstr(guard_place(guard).keep_reason, "might not let madvise pass"));
	assert_int_equal(ask("h"), 0);
	assert_int_equal(ask("f"), 0);
	assert_in_range(pages_there(guard, GUARD_DATA), 150, 512);
	assert_int_equal(ask("b"), 48);
	close_guard(guard);
}

/* A debugger, which has the target's first thread until `go` is closed. */
static pid_t start_debugger(int *go)
{
	int ready[2], end[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(end, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(end[1]);
		if (!ptrace(PTRACE_SEIZE, target.pid, NULL, NULL))
			byte = write(ready[1], "r", 1) == 1 && read(end[0], &byte, 1);
		_exit(0);
	}
	close(ready[1]);
	close(end[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	*go = end[1];
	return pid;
}

/* While somebody else traces it nobody can look at its filters: as soon as that is over they are, however often it was tried. */
static void filtered_and_debugged(void **state)
{
	char reason[REASON_MAX] = "";
	struct guard *guard;
	pid_t debugger;
	int go;

	(void)state;
	assert_int_equal(ask("e"), 0);
	guard = start_guard(1);
	debugger = start_debugger(&go);
	assert_int_equal(ask("a"), 0);
	assert_int_equal(guard_watch(guard, reason), GUARD_WATCH_KEEPS);
	assert_non_null(strstr(guard_place(guard).keep_reason, "traces it already"));
	for (int i = 0; i < 5; i++)
		assert_int_equal(guard_watch(guard, reason), 0);
	assert_true(guard_place(guard).keep_pages);
	close(go);
	assert_int_equal(waitpid(debugger, NULL, 0), debugger);
	assert_int_equal(guard_watch(guard, reason), GUARD_WATCH_DROPS);
	assert_false(guard_place(guard).keep_pages);
	close_guard(guard);
}

/* Guards that have been touched are dropped by one call, with all of their place: a filter may kill for that length only. */
static void filtered_by_length(void **state)
{
	struct guard *guard;
	char command[32];

	(void)state;
	assert_int_equal(ask("e"), 0);
	snprintf(command, sizeof(command), "l%d", GUARD_PLACE);
	assert_int_equal(ask(command), 0);
	guard = start_guard(1);
	assert_false(guard_place(guard).keep_pages);
	close_guard(guard);
	snprintf(command, sizeof(command), "l%d", GUARD_PLACE - 1);
	assert_int_equal(ask(command), 0);
	guard = start_guard(1);
	for (uint32_t place = 0; place < guard_place(guard).count; place++)
		guard_note_touch(guard, place, 0);
	assert_int_equal(ask("h"), 0);
	assert_true(guard_place(guard).keep_pages);
	assert_int_equal(ask("f"), 0);
	close_guard(guard);
}

/* Threads that do not have the same ones: a later filter would not be seen. */
static void some_filtered(void **state)
{
	char reason[REASON_MAX] = "";
	struct guard *guard;

	(void)state;
	assert_int_equal(ask("a"), 0);
	guard = start_guard(1);
	assert_true(guard_place(guard).keep_pages);
	assert_non_null(strstr(guard_place(guard).keep_reason, "different"));
	assert_int_equal(ask("w"), 0);
	/* All others have gone: now it is known. */
	assert_int_equal(ask("e"), 0);
	assert_int_equal(guard_watch(guard, reason), GUARD_WATCH_DROPS);
	assert_false(guard_place(guard).keep_pages);
	assert_int_equal(ask("b"), 48);
	close_guard(guard);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(filtered, start_target, end_target),
		cmocka_unit_test_setup_teardown(filtered_and_allowed, start_target, end_target),
		cmocka_unit_test_setup_teardown(filtered_and_debugged, start_target, end_target),
		cmocka_unit_test_setup_teardown(filtered_by_length, start_target, end_target),
		cmocka_unit_test_setup_teardown(some_filtered, start_target, end_target),
	};

	(void)argc;
	if (!target_test_begins(argv, &nop))
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A tool that makes a process do system calls, and is killed or stopped at any moment of it: the
 * process goes on and notices nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "tests/unit/freeze/remote_target.h"
#include "tests/unit/freeze/stopped_tool.h"
#include "tests/unit/rounds.h"
#include "user/freeze/remote.h"

#define KILLS 100 /* of each kind; 300 have been run */
#define STOPS 60
#define PLACE 0x2000000000ull /* far from all that programs have mapped */
#define PAGE  4096

/* Which processes are killed. */
enum {
	TOOL,
	TOOL_AND_CHILD,
	CHILD, /* the one that holds the thread */
};

/* In tests/vm everything takes ten times as long. */
static bool emulated;

static int clean(void **state)
{
	(void)state;
	if (target)
		target_end();
	return 0;
}

/* ---- the tool ------------------------------------------------------------------------------ */

/* Calls of which one builds on the other; given up when one cannot be made. */
static void session(struct remote *r)
{
	static const char name[] = "killed";
	char why[REASON_MAX];
	const struct {
		long number;
		uint64_t arguments[CALL_ARGUMENTS];
	} calls[] = {
		{SYS_munmap, {PLACE, PAGE}},
		{SYS_memfd_create, {remote_scratch(r), MFD_CLOEXEC}},
		{SYS_socket, {AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC}},
		{SYS_mmap,
		 {PLACE, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE, 0, 0}},
		{SYS_madvise, {PLACE, PAGE, MADV_DONTNEED}},
		{SYS_close, {0}},
		{SYS_close, {1}},
		{SYS_munmap, {PLACE, PAGE}},
	};
	long result, made[2] = {-1, -1};

	if (remote_write(r, name, sizeof(name), why))
		return;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		uint64_t arguments[CALL_ARGUMENTS];

		memcpy(arguments, calls[i].arguments, sizeof(arguments));
		if (calls[i].number == SYS_mmap)
			arguments[4] = (uint64_t)made[0];
		if (calls[i].number == SYS_close)
			arguments[0] = (uint64_t)made[arguments[0]];
		if (remote_call(r, calls[i].number, arguments, &result, why))
			return;
		/* Nobody who was killed before has changed what they do. */
		if (result < 0 || (calls[i].number == SYS_mmap && (uint64_t)result != PLACE)) {
			fprintf(stderr, "the tool: call %zu: %ld\n", i, result);
			_exit(1);
		}
		if (calls[i].number == SYS_memfd_create || calls[i].number == SYS_socket)
			made[calls[i].number == SYS_socket] = result;
	}
}

static _Noreturn void run_tool(int ready, uint64_t hold_ns)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		char why[REASON_MAX] = "";
		struct remote *r = NULL;
		int err;

		if (write(ready, "", 1) != 1)
			_exit(1);
		err = remote_begin(target, hold_ns, &r, why);
		if (!err)
			session(r);
		else if (err != -EBUSY && err != -ECANCELED && err != -ETIMEDOUT) {
			fprintf(stderr, "the tool: %s: %s\n", strerror(-err), why);
			_exit(1);
		}
		remote_end(r);
	}
}

static pid_t start_tool(int *ready, uint64_t hold_ns)
{
	int ends[2];
	pid_t tool;
	char c;

	assert_int_equal(pipe(ends), 0);
	tool = fork();
	if (tool == 0)
		run_tool(ends[1], hold_ns);
	close(ends[1]);
	assert_int_equal(read(ends[0], &c, 1), 1);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	*ready = ends[0];
	return tool;
}

/* ---- the tests ----------------------------------------------------------------------------- */

static void goes_on(const uint64_t *counter, int i, uint64_t signals)
{
	int status;

	if (waitpid(target, &status, WNOHANG) == target) {
		target = 0;
		fail_msg("kill number %d: the target has ended, status %#x", i + 1,
			 (unsigned)status);
	}
	if (!moves(counter))
		fail_msg("after kill number %d it does not go on", i + 1);
	if (!nobody_traces())
		fail_msg("after kill number %d it is traced", i + 1);
	for (int tries = 0; tries < 20000 && books->signals < signals; tries++)
		usleep(100);
	assert_int_equal(books->signals, signals);
}

/* `signals`: one is on its way each time. */
static void killed(void *(*run)(void *), const uint64_t *counter, int whom, bool signals)
{
	unsigned seed = (unsigned)whom + 1;
	int before, holding = 0;

	target_start(run);
	assert_true(moves(counter));
	before = open_descriptors();
	for (int i = 0; rounds_left(i, KILLS, holding); i++) {
		int status, ready;
		pid_t tool = start_tool(&ready, 10 * NS_PER_S), child;

		usleep((unsigned)rand_r(&seed) % (emulated ? 40000 : 3000));
		if (signals)
			kill(target, SIGUSR1);
		child = whom == TOOL ? 0 : tool_child(tool);
		holding += in_status("TracerPid: %ld") != 0;
		if (child)
			kill(child, SIGKILL);
		if (whom == CHILD) {
			/* The tool is told, and begins anew. */
			goes_on(counter, i, signals ? (uint64_t)i + 1 : 0);
			assert_int_equal(waitpid(tool, NULL, WNOHANG), 0);
		}
		kill(tool, SIGKILL);
		assert_int_equal(waitpid(tool, &status, 0), tool);
		assert_true(WIFSIGNALED(status));
		close(ready);
		goes_on(counter, i, signals ? (uint64_t)i + 1 : 0);
	}
	print_message("killed while it was held: %d times; descriptors left over: %d\n", holding,
		      open_descriptors() - before);
	assert_true(holding > 0);
	if (whom == TOOL)
		assert_true(has_closed_to(before));
	assert_int_equal(books->bad_registers, 0);
	assert_int_equal(books->bad_vectors, 0);
	assert_int_equal(books->bad_calls, 0);
	target_end();
}

static void tool_killed(void **state)
{
	(void)state;
	killed(in_company, &books->register_turns, TOOL, false);
}

static void both_killed(void **state)
{
	(void)state;
	killed(in_company, &books->register_turns, TOOL_AND_CHILD, false);
}

static void child_killed(void **state)
{
	(void)state;
	killed(compute, &books->register_turns, CHILD, true);
}

static void both_killed_computing(void **state)
{
	(void)state;
	killed(compute, &books->register_turns, TOOL_AND_CHILD, true);
}

static void both_killed_asleep(void **state)
{
	(void)state;
	killed(nanosleeper, &books->waits, TOOL_AND_CHILD, false);
}

/* Not the child: what its end means under a filter is said in remote.h. */
static void killed_under_filters(void **state)
{
	(void)state;
	killed(strict, &books->turns, TOOL, false);
	killed(kills_for_memfd, &books->waits, TOOL, false);
}

/* From the end of its making on a descriptor does not outlive who makes the calls. */
static void closes_by_itself(void **state)
{
	const struct timespec nap = {.tv_sec = 2};
	int before;

	(void)state;
	target_start(compute);
	assert_true(moves(&books->register_turns));
	before = open_descriptors();
	for (int in_call = 0; in_call < 2; in_call++) {
		char why[REASON_MAX] = "", c;
		struct remote *r = NULL;
		int ready[2];
		long result;
		pid_t tool;

		assert_int_equal(pipe(ready), 0);
		tool = fork();
		if (tool == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (remote_begin(target, 10 * NS_PER_S, &r, why) ||
			    remote_write(r, &nap, sizeof(nap), why) ||
			    remote_call(r, SYS_memfd_create,
					(const uint64_t[CALL_ARGUMENTS]){remote_scratch(r)},
					&result, why) ||
			    result < 0 || write(ready[1], "", 1) != 1)
				_exit(1);
			if (in_call)
				remote_call(r, SYS_nanosleep,
					    (const uint64_t[CALL_ARGUMENTS]){remote_scratch(r)},
					    &result, why);
			pause();
		}
		assert_int_equal(read(ready[0], &c, 1), 1);
		assert_int_equal(open_descriptors(), before + 1);
		for (int tries = 0; in_call && tool_state(target) != 'S'; tries++) {
			assert_true(tries < 100000);
			usleep(100);
		}
		kill(tool_child(tool), SIGKILL);
		kill(tool, SIGKILL);
		assert_int_equal(waitpid(tool, NULL, 0), tool);
		goes_on(&books->register_turns, in_call, 0);
		assert_true(has_closed_to(before));
	}
	assert_int_equal(books->bad_registers, 0);
	assert_int_equal(books->bad_vectors, 0);
	target_end();
}

/* The tool alone, or with the child. */
static void stopped(void **state)
{
	unsigned seed = 5;
	int held = 0, ready;
	pid_t tool;
	char c[4096];

	(void)state;
	target_start(compute);
	assert_true(moves(&books->register_turns));
	tool = start_tool(&ready, 50 * NS_PER_MS);
	for (int i = 0; rounds_left(i, STOPS, held); i++) {
		while (read(ready, c, sizeof(c)) > 0)
			;
		while (read(ready, c, 1) != 1) {
			assert_int_equal(waitpid(tool, NULL, WNOHANG), 0);
			usleep(100);
		}
		usleep((unsigned)rand_r(&seed) % (emulated ? 40000 : 3000));
		tool_stop(tool, i % 2);
		held += tool_state(target) == 't';
		goes_on(&books->register_turns, i, 0);
		tool_go_on(tool);
	}
	kill(tool, SIGKILL);
	assert_int_equal(waitpid(tool, NULL, 0), tool);
	close(ready);
	print_message("held at %d of the stops\n", held);
	assert_true(held > 0);
	goes_on(&books->register_turns, STOPS, 0);
	assert_int_equal(books->bad_registers, 0);
	assert_int_equal(books->bad_vectors, 0);
	target_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(tool_killed, clean),
		cmocka_unit_test_teardown(both_killed, clean),
		cmocka_unit_test_teardown(child_killed, clean),
		cmocka_unit_test_teardown(both_killed_computing, clean),
		cmocka_unit_test_teardown(both_killed_asleep, clean),
		cmocka_unit_test_teardown(killed_under_filters, clean),
		cmocka_unit_test_teardown(closes_by_itself, clean),
		cmocka_unit_test_teardown(stopped, clean),
	};

	emulated = getenv("VM_GUEST") != NULL;
	return books_open() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}

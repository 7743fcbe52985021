// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A process one of whose threads is held executes another program by another thread, between two steps of who holds it:
 * nothing is written into that program, which has something of its own at the same addresses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "tests/unit/freeze/interposed.h"
#include "user/base/clock.h"
#include "user/freeze/call_thread.h"
#include "user/freeze/forkcopy.h"
#include "user/freeze/remote.h"

#define HOLD   (30 * NS_PER_S)
#define AREA   (256 << 10) /* more than frames take */
#define FIRST  "exec_first"
#define SECOND "exec_second"
#define NEVER  1000

/* ---- the process -------------------------------------------------------------------------- */

static struct {
	pid_t pid;
	int to, from;
} target;

static void *waits_to_execute(void *arg)
{
	char c;

	if (read(STDIN_FILENO, &c, 1) == 1)
		execl("/proc/self/exe", SECOND, NULL);
	_exit(1);
	return arg;
}

/* Where the first program has its frames this one has all of its stack in use. */
static __attribute__((noinline)) void be_second(void)
{
	volatile char area[AREA];
	char c;

	for (size_t i = 0; i < AREA; i++)
		area[i] = 5;
	c = 'r';
	while (write(STDOUT_FILENO, &c, 1) == 1 && read(STDIN_FILENO, &c, 1) == 1) {
		c = 'g';
		for (size_t i = 0; i < AREA; i++) {
			if (area[i] != 5)
				c = 'b';
		}
	}
}

static __attribute__((noinline)) void be_first(void)
{
	pthread_t thread;
	char c = 'r';

	pthread_create(&thread, NULL, waits_to_execute, NULL);
	if (write(STDOUT_FILENO, &c, 1) != 1)
		return;
	for (;;)
		pause();
}

static char hear(void)
{
	char c = 0;

	assert_int_equal(read(target.from, &c, 1), 1);
	return c;
}

static void start_target(void)
{
	int to[2], from[2];

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	target.pid = fork();
	if (!target.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		/* All is where it is each time. */
		personality(ADDR_NO_RANDOMIZE);
		execl("/proc/self/exe", FIRST, NULL);
		_exit(1);
	}
	close(to[0]);
	close(from[1]);
	target.to = to[1];
	target.from = from[0];
	assert_int_equal(hear(), 'r');
}

static void end_target(void)
{
	kill(target.pid, SIGKILL);
	waitpid(target.pid, NULL, 0);
	close(target.to);
	close(target.from);
}

/* ---- who holds it ------------------------------------------------------------------------- */

static const unsigned writes[] = {SYS_pwrite64, SYS_process_vm_writev};

struct scene {
	int at, seen; /* before which of its writes, from 0 */
};

static void executes(void *ctx, pid_t process, const struct seccomp_data *call)
{
	struct scene *scene = ctx;

	(void)process;
	(void)call;
	if (scene->seen++ != scene->at)
		return;
	assert_int_equal(write(target.to, "x", 1), 1);
	assert_int_equal(hear(), 'r');
}

/* Frames, a name, and the number of what is to be closed. */
static int makes_calls(void *ctx)
{
	char why[REASON_MAX] = "";
	struct remote *r = NULL;
	uint64_t arguments[CALL_ARGUMENTS] = {0};
	int err = remote_begin(target.pid, HOLD, &r, why), steps = !err;
	long number;

	(void)ctx;
	err = err ?: remote_write(r, "amid", sizeof("amid"), why);
	steps += !err;
	if (!err) {
		arguments[0] = remote_scratch(r);
		err = remote_call(r, SYS_memfd_create, arguments, &number, why);
	}
	remote_end(r);
	return steps + !err;
}

/* Frames. As the tracer does it, which has left other threads asleep. */
static int forks(void *ctx)
{
	struct call_thread thread = {.tid = target.pid};
	struct iovec to = {&thread.registers, sizeof(thread.registers)};
	uint64_t deadline = monotonic_ns() + HOLD;
	struct call_code code;
	char why[REASON_MAX] = "";
	sigset_t all;
	pid_t copy;

	(void)ctx;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (forkcopy_prepare(target.pid, &code, why) ||
	    ptrace(PTRACE_SEIZE, target.pid, NULL, NULL) ||
	    ptrace(PTRACE_INTERRUPT, target.pid, NULL, NULL) ||
	    call_thread_expect_stop(target.pid, STOP_ASKED, deadline) ||
	    ptrace(PTRACE_GETREGSET, target.pid, NT_PRSTATUS, &to))
		return 100;
	return !forkcopy_make(target.pid, &code, &thread, 1, deadline, &copy, why);
}

/* `steps`: how many of it went well. Of the second program nothing has been changed. */
static void goes(int (*run)(void *), int at, int steps)
{
	struct scene scene = {.at = at};
	const struct interposed it = {
		.calls = {writes[0], writes[1]}, .run = run, .before = executes, .ctx = &scene};

	start_target();
	assert_int_equal(interposed_run(&it), steps);
	if (at != NEVER) {
		assert_true(scene.seen > at);
		assert_int_equal(write(target.to, "c", 1), 1);
		assert_int_equal(hear(), 'g');
	}
	assert_int_equal(waitpid(target.pid, NULL, WNOHANG), 0);
	end_target();
}

static void calls(void **state)
{
	(void)state;
	goes(makes_calls, NEVER, 3);
	for (int at = 0; at < 3; at++)
		goes(makes_calls, at, at);
}

static void a_copy(void **state)
{
	(void)state;
	goes(forks, NEVER, 1);
	goes(forks, 0, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls),
		cmocka_unit_test(a_copy),
	};

	(void)argc;
	if (!strcmp(argv[0], FIRST))
		be_first();
	else if (!strcmp(argv[0], SECOND))
		be_second();
	else
		return cmocka_run_group_tests(tests, NULL, NULL);
	return 1;
}

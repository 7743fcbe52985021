// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A process that is held goes on when its time is over, though the tool is stopped meanwhile, and
 * whatever of it is. For how long it stood still the process knows by its own clock.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/unit/freeze/stopped_tool.h"
#include "tests/unit/rounds.h"
#include "user/base/clock.h"
#include "user/freeze/stop.h"

#define THREADS	  4
#define STOPS	  20
#define MAX_PAUSE (200 * NS_PER_MS)
/* That others let us wait, on a busy machine, and what the last resort takes. */
#define SLACK (400 * NS_PER_MS)
/* Of an ending process there is no limit but that the tool runs: looked at so often. */
#define MAX_ENDING (NS_PER_S + SLACK)

struct shared {
	uint64_t turns[THREADS];
	uint64_t longest_ns[THREADS]; /* between two turns */
	uint64_t stops, left; /* the tool's: of them, those that the target has left itself */
	bool ended;	      /* it is the target's end that is held */
};

static struct shared *shared;
static pid_t target;

static void *turn(void *arg)
{
	size_t i = (size_t)(uintptr_t)arg;
	uint64_t last = monotonic_ns();

	for (;;) {
		uint64_t now = monotonic_ns();

		if (now - last > shared->longest_ns[i])
			shared->longest_ns[i] = now - last;
		last = now;
		__atomic_add_fetch(&shared->turns[i], 1, __ATOMIC_RELEASE);
		nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
	}
	return NULL;
}

static _Noreturn void run_target(void)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	for (size_t i = 1; i < THREADS; i++)
		pthread_create(&thread, NULL, turn, (void *)i);
	turn(NULL);
	_exit(1);
}

/* Until every thread has got on by some turns. In ns, or UINT64_MAX when they do not. */
static uint64_t goes_on_after(void)
{
	uint64_t before[THREADS], start = monotonic_ns();

	memcpy(before, shared->turns, sizeof(before));
	while (monotonic_ns() - start < 10 * NS_PER_S) {
		int moved = 0;

		for (int i = 0; i < THREADS; i++)
			moved += __atomic_load_n(&shared->turns[i], __ATOMIC_ACQUIRE) >
				 before[i] + 1;
		if (moved == THREADS)
			return monotonic_ns() - start;
		usleep(200);
	}
	return UINT64_MAX;
}

static int start(void **state)
{
	(void)state;
	memset(shared, 0, sizeof(*shared));
	target = fork();
	if (target == 0)
		run_target();
	return goes_on_after() < UINT64_MAX ? 0 : -1;
}

static int finish(void **state)
{
	(void)state;
	kill(target, SIGKILL);
	return waitpid(target, NULL, 0) == target ? 0 : -1;
}

/* ---- the tool ----------------------------------------------------------------------------- */

static _Noreturn void run_tool(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		char why[REASON_MAX];
		struct stop *stop;
		int err = shared->ended ? stop_begin_ending(target, MAX_PAUSE, &stop, why)
					: stop_begin(target, MAX_PAUSE, NULL, &stop, why);

		if (err && err != -ECANCELED && err != -ETIMEDOUT)
			_exit(1);
		if (!err) {
			usleep(5000);
			stop_end(stop);
			if (stop_left_ns(stop) != UINT64_MAX)
				__atomic_add_fetch(&shared->left, 1, __ATOMIC_RELAXED);
			stop_free(stop);
		} else {
			__atomic_add_fetch(&shared->left, 1, __ATOMIC_RELAXED);
		}
		__atomic_add_fetch(&shared->stops, 1, __ATOMIC_RELAXED);
	}
}

static bool tool_works(pid_t tool)
{
	uint64_t before = __atomic_load_n(&shared->stops, __ATOMIC_RELAXED);

	for (int tries = 0; tries < 20000; tries++) {
		if (__atomic_load_n(&shared->stops, __ATOMIC_RELAXED) > before + 1)
			return true;
		if (waitpid(tool, NULL, WNOHANG))
			return false;
		usleep(500);
	}
	return false;
}

static bool is_traced(pid_t pid)
{
	return tool_state(pid) == 't';
}

/* One that was about to hold it when the tool was stopped does so now, and is told then. */
static bool let_go_within(uint64_t ns)
{
	uint64_t start = monotonic_ns();

	while (is_traced(target)) {
		if (monotonic_ns() - start > ns)
			return false;
		usleep(200);
	}
	return true;
}

static uint64_t longest(void)
{
	uint64_t most = 0;

	for (int i = 0; i < THREADS; i++)
		most = shared->longest_ns[i] > most ? shared->longest_ns[i] : most;
	return most;
}

/* ---- the tests ---------------------------------------------------------------------------- */

/* At random moments. */
static void stopped(int all, int stops, uint64_t most)
{
	unsigned seed = 1;
	int held = 0, times = 0;
	pid_t tool = fork();

	if (tool == 0)
		run_tool();
	assert_true(tool_works(tool));
	for (; rounds_left(times, stops, held && shared->left); times++) {
		uint64_t ns;

		usleep((unsigned)rand_r(&seed) % 20000);
		tool_stop(tool, all);
		held += is_traced(target);
		ns = goes_on_after();
		if (ns > most)
			fail_msg("stop number %d: it stands still for %llu ms", times + 1,
				 (unsigned long long)(ns / NS_PER_MS));
		assert_true(let_go_within(most));
		tool_go_on(tool);
		if (!tool_works(tool))
			fail_msg("stop number %d: the tool does not go on", times + 1);
	}
	kill(tool, SIGKILL);
	assert_int_equal(waitpid(tool, NULL, 0), tool);
	assert_true(goes_on_after() < UINT64_MAX);
	print_message("%d of %d stops while it was held; it stood still for %llu ms at most\n",
		      held, times, (unsigned long long)(longest() / NS_PER_MS));
	assert_true(held > 0);
	/* The tool knows it. One that was stopped in the last moment may have let it go itself. */
	assert_true(shared->left > 0);
	assert_true(longest() < most);
}

static void tool_stopped(void **state)
{
	(void)state;
	stopped(false, STOPS, MAX_PAUSE + SLACK);
}

static void all_stopped(void **state)
{
	(void)state;
	stopped(true, STOPS, MAX_PAUSE + SLACK);
}

static void tool_stopped_ending(void **state)
{
	(void)state;
	shared->ended = true;
	stopped(false, STOPS, SLACK);
}

static void all_stopped_ending(void **state)
{
	(void)state;
	shared->ended = true;
	/* Each takes as long as the last resort, a second: by `make quick` a quarter of the others. */
	stopped(true, rounds(STOPS), MAX_ENDING);
}

/* The process that holds it alone: the tool is told. */
static void holder_stopped(void **state)
{
	char why[REASON_MAX];
	struct stop *stop;

	(void)state;
	assert_int_equal(stop_begin(target, MAX_PAUSE, NULL, &stop, why), 0);
	kill(tool_child(getpid()), SIGSTOP);
	assert_true(goes_on_after() < MAX_PAUSE + SLACK);
	assert_true(stop_end(stop) >= MAX_PAUSE);
	assert_true(stop_left_ns(stop) <= monotonic_ns());
	stop_free(stop);
	assert_int_equal(stop_begin(target, MAX_PAUSE, NULL, &stop, why), 0);
	usleep(1000);
	stop_end(stop);
	assert_true(stop_left_ns(stop) == UINT64_MAX);
	stop_free(stop);
}

/* Ctrl-Z waits until it has been let go. */
static void terminal(void **state)
{
	pid_t tool = fork();
	int status;

	(void)state;
	if (tool == 0) {
		char why[REASON_MAX];
		struct stop *stop;

		/* Not our group: but its parent's session, or the kernel ignores Ctrl-Z. */
		setpgid(0, 0);
		if (stop_begin(target, MAX_PAUSE, NULL, &stop, why))
			_exit(1);
		kill(0, SIGTSTP);
		shared->stops = 1;
		stop_end(stop);
		shared->stops = 2;
		if (stop_left_ns(stop) != UINT64_MAX)
			_exit(2);
		stop_free(stop);
		_exit(0);
	}
	assert_int_equal(waitpid(tool, &status, WUNTRACED), tool);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(shared->stops, 1);
	assert_false(is_traced(target));
	assert_true(goes_on_after() < SLACK);
	kill(tool, SIGCONT);
	assert_int_equal(waitpid(tool, &status, 0), tool);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(tool_stopped, start, finish),
		cmocka_unit_test_setup_teardown(all_stopped, start, finish),
		cmocka_unit_test_setup_teardown(tool_stopped_ending, start, finish),
		cmocka_unit_test_setup_teardown(all_stopped_ending, start, finish),
		cmocka_unit_test_setup_teardown(holder_stopped, start, finish),
		cmocka_unit_test_setup_teardown(terminal, start, finish),
	};

	/*
	 * All of it before others, or it would be their doing that the target stands still, that who
	 * holds it does not come to its end, and that this one looks late.
	 */
	sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1});
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	return shared == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}

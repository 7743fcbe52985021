// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A copy of a process by a fork that it is made to do: that it is a picture of the moment, and that
 * the process notices nothing: not its registers, not its system calls, not its children, and
 * nothing at all when the tool is killed at any moment of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/freeze/other_processes.h"
#include "tests/unit/freeze/registers_kept.h"
#include "tests/unit/freeze/stopped_tool.h"
#include "tests/unit/rounds.h"
#include "user/freeze/forkcopy.h"
#include "user/freeze/stop.h"

#define KILLS	 200
#define COPIES	 20
#define STOPS	 60
#define INSTANTS 200
#define LONGEST	 1000000ull	/* ns, that a copy takes */
#define PAUSE	 100000000ull	/* ns, of a tool that is stopped */
#define DEADLINE 10000000000ull /* ns */

/* Shared with the target. */
struct shared {
	uint64_t turns, register_turns, waits, forks;
	uint64_t bad_registers, bad_vectors, bad_calls, bad_waits, child_signals;
	uint64_t *private_turns; /* where it is in the target */
	int child_error;
};

/* In tests/vm everything takes ten times as long. */
static bool emulated;

static struct shared *shared;
static pid_t target;
static bool in_tool;
static char name[16]; /* of the target and its copies: another run of this test has others */
static uint64_t private_turns[2]; /* both the same, but for a moment between two instructions */
static int never[2];

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void count_child(int signal)
{
	(void)signal;
	__atomic_add_fetch(&shared->child_signals, 1, __ATOMIC_RELAXED);
}

static void look_at_registers(void)
{
	uint64_t bad, bad_vector;

	registers_changed(&bad, &bad_vector);
	shared->bad_registers += bad != 0;
	shared->bad_vectors += bad_vector != 0;
}

static void *compute(void *arg)
{
	for (;;) {
		look_at_registers();
		__atomic_add_fetch(&shared->register_turns, 1, __ATOMIC_RELAXED);
	}
	return arg;
}

/* Calls that must not return early. */
static void *sleeper(void *arg)
{
	for (;;) {
		uint64_t start = now_ns();

		if (nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL) ||
		    now_ns() - start < 10000000 || now_ns() - start > 20000000000ull)
			shared->bad_calls++;
		__atomic_add_fetch(&shared->waits, 1, __ATOMIC_RELAXED);
	}
	return arg;
}

static void *reader(void *arg)
{
	char c;

	if (read(never[0], &c, 1) != 1)
		shared->bad_calls++;
	return arg;
}

/* A program that looks after its children: one at a time, and between two there is none. */
static void *parent(void *arg)
{
	for (;;) {
		int status;
		pid_t child;

		if (waitpid(-1, &status, WNOHANG) != -1 || errno != ECHILD)
			shared->bad_waits++;
		child = fork();
		if (!child) {
			usleep(2000);
			_exit(7);
		}
		if (wait(&status) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
			shared->bad_waits++;
		__atomic_add_fetch(&shared->forks, 1, __ATOMIC_RELAXED);
	}
	return arg;
}

static _Noreturn void run_target(void (*start)(void))
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	prctl(PR_SET_NAME, name);
	if (pipe(never))
		_exit(1);
	shared->private_turns = private_turns;
	start();
	for (;;) {
		__atomic_add_fetch(&private_turns[0], 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&private_turns[1], 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&shared->turns, 1, __ATOMIC_RELAXED);
	}
}

static void alone(void)
{
}

static void in_company(void)
{
	static void *(*const threads[])(void *) = {compute, sleeper, reader, parent};
	pthread_t thread;

	sigset_t child;

	/*
	 * Its own children's signals are for the main thread: they would end the sleeps of others.
	 */
	signal(SIGCHLD, count_child);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &child, NULL);
	for (size_t i = 0; i < sizeof(threads) / sizeof(*threads); i++)
		pthread_create(&thread, NULL, threads[i], NULL);
	pthread_sigmask(SIG_UNBLOCK, &child, NULL);
}

/* Only threads that wait, in calls which the kernel restarts from its memory. */
static void asleep(void)
{
	for (;;)
		sleeper(NULL);
}

static bool moves(const uint64_t *counter)
{
	uint64_t before = __atomic_load_n(counter, __ATOMIC_RELAXED);

	for (int tries = 0; tries < 20000; tries++) {
		if (__atomic_load_n(counter, __ATOMIC_RELAXED) > before + 1)
			return true;
		usleep(500);
	}
	return false;
}

static void start(void (*how)(void))
{
	memset(shared, 0, sizeof(*shared));
	snprintf(name, sizeof(name), "copied-%d", (int)getpid());
	target = fork();
	if (target == 0)
		run_target(how);
}

static void finish(void)
{
	int status;

	kill(target, SIGKILL);
	assert_int_equal(waitpid(target, &status, 0), target);
	target = 0;
}

/* After a test that failed. */
static int clean(void **state)
{
	(void)state;
	if (target)
		finish();
	return 0;
}

static bool all_move(void)
{
	return moves(&shared->turns) && moves(&shared->register_turns) && moves(&shared->waits) &&
	       moves(&shared->forks);
}

static void notices_nothing(void)
{
	assert_int_equal(shared->bad_registers, 0);
	assert_int_equal(shared->bad_vectors, 0);
	assert_int_equal(shared->bad_calls, 0);
	assert_int_equal(shared->bad_waits, 0);
}

static pid_t copy(struct stop **stop)
{
	char why[REASON_MAX] = "";
	struct call_code code;
	pid_t copied;
	int err = forkcopy_prepare(target, &code, why);

	err = err ?: stop_begin(target, DEADLINE, NULL, stop, why);
	err = err ?: stop_copy(*stop, &code, now_ns() + DEADLINE, &copied, why);
	if (err && in_tool) {
		/* Not the test itself, whose clearing up would end the target. */
		fprintf(stderr, "the tool: %s: %s\n", strerror(-err), why);
		_exit(1);
	}
	if (err)
		fail_msg("%s: %s", strerror(-err), why);
	return copied;
}

static void read_turns(pid_t pid, uint64_t turns[2])
{
	struct iovec to = {turns, 16}, from = {shared->private_turns, 16};

	assert_int_equal(process_vm_readv(pid, &to, 1, &from, 1, 0), 16);
}

static void is_a_picture(void **state)
{
	(void)state;
	start(alone);
	assert_true(moves(&shared->turns));
	for (int i = 0; i < COPIES; i++) {
		uint64_t held[2], first[2], second[2];
		struct stop *stop;
		pid_t copied = copy(&stop);

		read_turns(target, held);
		stop_end(stop);
		assert_true(moves(&shared->turns));
		read_turns(copied, first);
		assert_true(moves(&shared->turns));
		read_turns(copied, second);
		assert_memory_equal(held, first, sizeof(first));
		assert_memory_equal(first, second, sizeof(first));
		stop_free(stop);
		assert_true(moves(&shared->turns));
	}
	finish();
}

static void goes_unnoticed(void **state)
{
	(void)state;
	start(in_company);
	assert_true(all_move());
	for (int i = 0; i < COPIES; i++) {
		uint64_t forks, signals;
		struct stop *stop;

		copy(&stop);
		/* A child of its own that ended has sent its signal; the helper must not have. */
		signals = shared->child_signals;
		forks = shared->forks;
		usleep(1000);
		assert_int_equal(shared->child_signals, signals);
		assert_int_equal(shared->forks, forks);
		stop_end(stop);
		assert_true(all_move());
		stop_free(stop);
		assert_true(all_move());
	}
	notices_nothing();
	finish();
}

#if defined(__aarch64__)
/* There it cannot be told what is left of a sleep: it is refused, and nothing has been touched. */
static void asleep_all_the_time(void **state)
{
	char why[REASON_MAX] = "";
	struct call_code code;

	(void)state;
	start(asleep);
	assert_true(moves(&shared->waits));
	assert_int_equal(forkcopy_prepare(target, &code, why), 0);
	for (int i = 0; i < COPIES; i++) {
		struct stop *stop;
		pid_t copied;

		assert_int_equal(stop_begin(target, DEADLINE, NULL, &stop, why), 0);
		if (stop_copy(stop, &code, now_ns() + DEADLINE, &copied, why))
			assert_non_null(strstr(why, "none of its threads"));
		stop_free(stop);
		assert_true(moves(&shared->waits));
	}
	notices_nothing();
	finish();
}
#else
/* Sleeps are restarted with what is left of their time. */
static void asleep_all_the_time(void **state)
{
	(void)state;
	start(asleep);
	assert_true(moves(&shared->waits));
	for (int i = 0; i < COPIES; i++) {
		struct stop *stop;

		copy(&stop);
		stop_free(stop);
		assert_true(moves(&shared->waits));
	}
	notices_nothing();
	finish();
}
#endif

static bool alone_again(void)
{
	for (int tries = 0; tries < 20000; tries++) {
		if (!others(name, target))
			return true;
		usleep(1000);
	}
	return false;
}

static bool goes_on(void (*how)(void))
{
	return moves(how == asleep ? &shared->waits : &shared->turns);
}

/*
 * Killed at any moment, from before the stop until the copy lives: as a tool that makes copies
 * without end is killed.
 */
static void killed(void (*how)(void))
{
	unsigned seed = 1;

	start(how);
	assert_true(goes_on(how));
	for (int i = 0; i < rounds(KILLS); i++) {
		int status, end, ready[2];
		char c;
		pid_t tool;

		assert_int_equal(pipe(ready), 0);
		tool = fork();
		if (tool == 0) {
			in_tool = true;
			for (;;) {
				struct stop *stop;

				if (write(ready[1], "", 1) != 1)
					_exit(1);
				copy(&stop);
				stop_end(stop);
				stop_free(stop);
			}
		}
		assert_int_equal(read(ready[0], &c, 1), 1);
		usleep((unsigned)rand_r(&seed) % (emulated ? 40000 : 4000));
		kill(tool, SIGKILL);
		assert_int_equal(waitpid(tool, &status, 0), tool);
		if (waitpid(target, &end, WNOHANG) == target) {
			target = 0;
			fail_msg("kill number %d: the target has ended, status %#x", i + 1,
				 (unsigned)end);
		}
		assert_true(WIFSIGNALED(status));
		close(ready[0]);
		close(ready[1]);
		if (!goes_on(how))
			fail_msg("after kill number %d it does not go on", i + 1);
	}
}

static void killed_alone(void **state)
{
	(void)state;
	killed(alone);
	if (!alone_again())
		fail_msg("%d processes are left behind", others(name, target));
	finish();
}

#if defined(__x86_64__)
static void killed_asleep(void **state)
{
	(void)state;
	killed(asleep);
	if (!alone_again())
		fail_msg("%d processes are left behind", others(name, target));
	/* Sleeps may begin anew then, but none is cut short. */
	notices_nothing();
	finish();
}
#endif

static void killed_in_company(void **state)
{
	(void)state;
	killed(in_company);
	assert_true(all_move());
	notices_nothing();
	finish();
	assert_true(alone_again());
}

/* Makes copies without end, and does not mind when it comes too late. */
static _Noreturn void run_stopped_tool(int ready)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		char why[REASON_MAX] = "";
		struct call_code code;
		struct stop *stop;
		pid_t copied;

		if (write(ready, "", 1) != 1 || forkcopy_prepare(target, &code, why))
			_exit(1);
		if (stop_begin(target, PAUSE, NULL, &stop, why))
			continue;
		stop_copy(stop, &code, now_ns() + PAUSE, &copied, why);
		stop_end(stop);
		stop_free(stop);
	}
}

/* Stopped, with all processes of it, at any moment: the target comes back by itself. */
static void stopped(void (*how)(void))
{
	int held = 0, ready[2], status;
	unsigned seed = 2;
	pid_t tool;
	char c[4096];

	start(how);
	assert_true(goes_on(how));
	assert_int_equal(pipe2(ready, O_NONBLOCK), 0);
	fcntl(ready[1], F_SETFL, 0);
	tool = fork();
	if (tool == 0)
		run_stopped_tool(ready[1]);
	for (int i = 0; rounds_left(i, STOPS, held); i++) {
		/* It works, and comes to its next copy. */
		while (read(ready[0], c, sizeof(c)) > 0)
			;
		while (read(ready[0], c, 1) != 1) {
			assert_int_equal(waitpid(tool, NULL, WNOHANG), 0);
			usleep(100);
		}
		usleep((unsigned)rand_r(&seed) % (emulated ? 40000 : 4000));
		tool_stop(tool, true);
		held += tool_state(target) == 't';
		if (!goes_on(how))
			fail_msg("after stop number %d it does not go on", i + 1);
		assert_int_equal(waitpid(target, NULL, WNOHANG), 0);
		tool_go_on(tool);
	}
	kill(tool, SIGKILL);
	assert_int_equal(waitpid(tool, &status, 0), tool);
	close(ready[0]);
	close(ready[1]);
	print_message("held at %d of the stops\n", held);
	assert_true(held > 0);
}

static void stopped_in_company(void **state)
{
	(void)state;
	stopped(in_company);
	assert_true(all_move());
	notices_nothing();
	finish();
	assert_true(alone_again());
}

static void filtered(void)
{
	/* Strict mode: read, write, _exit and sigreturn, and death for any other. */
	prctl(PR_SET_SECCOMP, 1, 0, 0, 0);
}

static void refused(void **state)
{
	char why[REASON_MAX] = "";
	struct call_code code;

	(void)state;
	start(filtered);
	assert_true(moves(&shared->turns));
	assert_int_equal(forkcopy_prepare(target, &code, why), -EPERM);
	assert_non_null(strstr(why, "seccomp"));
	assert_true(moves(&shared->turns));
	finish();
	start(alone);
	assert_true(moves(&shared->turns));
	kill(target, SIGSTOP);
	assert_int_equal(waitpid(target, NULL, WUNTRACED), target);
	assert_int_equal(forkcopy_prepare(target, &code, why), -EBUSY);
	assert_non_null(strstr(why, "stopped"));
	finish();
}

/* Given up at any step of it: the target goes on by itself. */
static void given_up(void **state)
{
	char why[REASON_MAX] = "";
	struct call_code code;
	int failed = 0, times = rounds(INSTANTS);

	(void)state;
	start(in_company);
	assert_true(all_move());
	assert_int_equal(forkcopy_prepare(target, &code, why), 0);
	for (int i = 0; i < times; i++) {
		uint64_t after_ns = (emulated ? 10 : 1) * LONGEST / (uint64_t)times * (uint64_t)i;
		struct stop *stop;
		pid_t copied;
		int err = stop_begin(target, DEADLINE, NULL, &stop, why);

		if (err)
			fail_msg("%s: %s", strerror(-err), why);
		err = stop_copy(stop, &code, now_ns() + after_ns, &copied, why);
		failed += err != 0;
		assert_true(err ? !copied && *why : copied > 0);
		stop_free(stop);
		assert_true(moves(&shared->turns));
		assert_true(moves(&shared->waits));
		assert_int_equal(waitpid(target, NULL, WNOHANG), 0);
	}
	assert_true(failed > 0);
	assert_true(all_move());
	notices_nothing();
	finish();
	assert_true(alone_again());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(is_a_picture, clean),
		cmocka_unit_test_teardown(goes_unnoticed, clean),
		cmocka_unit_test_teardown(asleep_all_the_time, clean),
		cmocka_unit_test_teardown(killed_alone, clean),
#if defined(__x86_64__)
		cmocka_unit_test_teardown(killed_asleep, clean),
#endif
		cmocka_unit_test_teardown(killed_in_company, clean),
		cmocka_unit_test_teardown(stopped_in_company, clean),
		cmocka_unit_test_teardown(refused, clean),
		cmocka_unit_test_teardown(given_up, clean),
	};

	emulated = getenv("VM_GUEST") != NULL;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	return shared == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}

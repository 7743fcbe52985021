// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Stopping a process of ours with several threads: that it stands still, and above all that it goes
 * on, whatever happens to who stopped it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/rounds.h"
#include "user/freeze/stop.h"
#include "user/process/proc.h"

#define THREADS	 8
#define KILLS	 200
#define DEADLINE 10000000000ull /* ns */
#define MARK	 0x1234567890abcdefull

/* Shared with the target. */
struct shared {
	uint64_t turns[THREADS];
	uint64_t signals;
	int vforked;
};

static struct shared *shared;
static pid_t target;

static void count_signal(int signal)
{
	(void)signal;
	__atomic_add_fetch(&shared->signals, 1, __ATOMIC_RELAXED);
}

static void *turn(void *arg)
{
	uint64_t *mine = arg;

	for (;;) {
		__atomic_add_fetch(mine, 1, __ATOMIC_RELAXED);
		/* Some run, some sleep. */
		if ((mine - shared->turns) % 2)
			nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
	}
	return NULL;
}

static _Noreturn void run_target(void)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	signal(SIGUSR1, count_signal);
	for (int i = 1; i < THREADS; i++)
		pthread_create(&thread, NULL, turn, &shared->turns[i]);
	turn(&shared->turns[0]);
	_exit(1);
}

/* Every thread gets on by some turns. */
static bool goes_on(void)
{
	uint64_t before[THREADS];

	memcpy(before, shared->turns, sizeof(before));
	for (int tries = 0; tries < 20000; tries++) {
		int moved = 0;

		for (int i = 0; i < THREADS; i++)
			moved += __atomic_load_n(&shared->turns[i], __ATOMIC_RELAXED) >
				 before[i] + 1;
		if (moved == THREADS)
			return true;
		usleep(500);
	}
	return false;
}

static int start(void **state)
{
	(void)state;
	memset(shared, 0, sizeof(*shared));
	target = fork();
	if (target == 0)
		run_target();
	return goes_on() ? 0 : -1;
}

static int finish(void **state)
{
	int status;

	(void)state;
	kill(target, SIGKILL);
	return waitpid(target, &status, 0) == target ? 0 : -1;
}

static void stands_still(void **state)
{
	char why[REASON_MAX];
	struct shared before, after;
	struct stop *stop;

	(void)state;
	for (int i = 0; i < 20; i++) {
		int err = stop_begin(target, DEADLINE, NULL, &stop, why);

		if (err)
			fail_msg("%s: %s", strerror(-err), why);
		assert_int_equal(stop_thread_count(stop), THREADS);
		before = *shared;
		usleep(2000);
		after = *shared;
		assert_memory_equal(&before, &after, sizeof(before));
		for (size_t t = 0; t < THREADS; t++) {
			const struct stop_thread *thread = stop_thread_at(stop, t);

			assert_true(thread->sp && thread->tls && thread->word_count > 40);
		}
		assert_null(stop_thread_at(stop, THREADS));
		assert_true(stop_end(stop) > 2000000);
		assert_true(goes_on());
		stop_free(stop);
	}
}

/* All but the one that somebody else has. */
static void others_stand_still(void **state)
{
	char why[REASON_MAX];
	uint64_t before[THREADS];
	struct stop *stop;

	(void)state;
	for (int i = 0; i < 20; i++) {
		assert_int_equal(stop_begin_others(target, target, DEADLINE, &stop, why), 0);
		assert_int_equal(stop_thread_count(stop), THREADS - 1);
		memcpy(before, shared->turns, sizeof(before));
		for (int tries = 0; tries < 20000; tries++) {
			if (__atomic_load_n(&shared->turns[0], __ATOMIC_RELAXED) > before[0] + 1)
				break;
			usleep(500);
		}
		assert_true(shared->turns[0] > before[0] + 1);
		assert_memory_equal(&shared->turns[1], &before[1],
				    sizeof(before) - sizeof(*before));
		stop_free(stop);
		assert_true(goes_on());
	}
}

/*
 * Signals sent before, during and after the stop all arrive: as many handlers run as were seen to
 * be delivered one by one.
 */
static void signals_arrive(void **state)
{
	char why[REASON_MAX];
	struct stop *stop;

	(void)state;
	for (uint64_t i = 0; i < 100; i++) {
		kill(target, SIGUSR1);
		assert_int_equal(stop_begin(target, DEADLINE, NULL, &stop, why), 0);
		stop_free(stop);
		for (int tries = 0; tries < 20000 && shared->signals <= i; tries++)
			usleep(100);
		assert_int_equal(shared->signals, i + 1);
	}
}

/*
 * A tool that is killed while it holds the target: 200 times, at the moment when it has said that
 * all is stopped.
 */
static void killed_holding(void **state)
{
	(void)state;
	for (int i = 0; i < rounds(KILLS); i++) {
		int ready[2], status;
		char word = 0;
		pid_t tool;

		assert_int_equal(pipe(ready), 0);
		/* A signal on its way must survive the tool's death, too. */
		kill(target, SIGUSR1);
		tool = fork();
		if (tool == 0) {
			char why[REASON_MAX];
			struct stop *stop;

			word = stop_begin(target, DEADLINE, NULL, &stop, why) ? 'n' : 'y';
			if (write(ready[1], &word, 1) == 1)
				pause();
			_exit(1);
		}
		assert_int_equal(read(ready[0], &word, 1), 1);
		assert_int_equal(word, 'y');
		kill(tool, SIGKILL);
		assert_int_equal(waitpid(tool, &status, 0), tool);
		close(ready[0]);
		close(ready[1]);
		if (!goes_on())
			fail_msg("after kill number %d it does not go on", i + 1);
		for (int tries = 0; tries < 20000 && shared->signals <= (uint64_t)i; tries++)
			usleep(100);
		assert_int_equal(shared->signals, i + 1);
		assert_int_equal(waitpid(target, &status, WNOHANG), 0);
	}
}

static void traced_already(void **state)
{
	char why[REASON_MAX] = "";
	struct stop *stop;
	int ready[2];
	char word;
	pid_t other;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	other = fork();
	if (other == 0) {
		word = ptrace(PTRACE_SEIZE, target, NULL, NULL) ? 'n' : 'y';
		if (write(ready[1], &word, 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &word, 1), 1);
	assert_int_equal(word, 'y');
	assert_int_equal(stop_begin(target, DEADLINE, NULL, &stop, why), -EPERM);
	assert_non_null(strstr(why, "traces it already"));
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	assert_true(goes_on());
	assert_int_equal(stop_begin(target, DEADLINE, NULL, &stop, why), 0);
	stop_free(stop);
}

/* A child by vfork that does nothing ends with it. */
static _Noreturn void run_vforker(void)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_create(&thread, NULL, turn, &shared->turns[1]);
	if (vfork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		__atomic_store_n(&shared->vforked, 1, __ATOMIC_RELEASE);
		for (;;)
			pause();
	}
	_exit(1);
}

static bool is_traced(pid_t pid, pid_t tid)
{
	char path[64], line[128];
	FILE *file;
	int tracer = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "TracerPid: %d", &tracer) == 1)
			break;
	}
	if (file)
		fclose(file);
	return tracer != 0;
}

static int all_traced(void *ctx, pid_t tid)
{
	return is_traced(*(pid_t *)ctx, tid) ? 0 : -EAGAIN;
}

/*
 * Killed while its first thread, in a vfork, has not stopped and another one has: the first one's
 * end is not told to a tracer before the other one has been buried, by that tracer.
 */
static void killed_meanwhile(void **state)
{
	char why[REASON_MAX] = "";
	struct stop *stop = NULL;
	pid_t killer;
	int err;

	(void)state;
	memset(shared, 0, sizeof(*shared));
	target = fork();
	if (target == 0)
		run_vforker();
	while (!__atomic_load_n(&shared->vforked, __ATOMIC_ACQUIRE) ||
	       !__atomic_load_n(&shared->turns[1], __ATOMIC_RELAXED))
		usleep(100);
	killer = fork();
	if (killer == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (proc_each_thread(target, all_traced, &target))
			usleep(100);
		kill(target, SIGKILL);
		_exit(0);
	}
	err = stop_begin(target, DEADLINE, NULL, &stop, why);
	stop_free(stop);
	waitpid(killer, NULL, 0);
	waitpid(target, NULL, 0);
	/* The child may have been stopped when all was over. */
	if (err && err != -ESRCH)
		fail_msg("%s: %s", strerror(-err), why);
}

static void nobody(void **state)
{
	char why[REASON_MAX] = "";
	struct stop *stop;
	pid_t gone = fork();

	(void)state;
	if (gone == 0)
		_exit(0);
	waitpid(gone, NULL, 0);
	assert_int_equal(stop_begin(gone, DEADLINE, NULL, &stop, why), -ESRCH);
	assert_non_null(strstr(why, "ended"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(stands_still, start, finish),
		cmocka_unit_test_setup_teardown(others_stand_still, start, finish),
		cmocka_unit_test_setup_teardown(signals_arrive, start, finish),
		cmocka_unit_test_setup_teardown(killed_holding, start, finish),
		cmocka_unit_test_setup_teardown(traced_already, start, finish),
		cmocka_unit_test(killed_meanwhile),
		cmocka_unit_test(nobody),
	};

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	return shared == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}

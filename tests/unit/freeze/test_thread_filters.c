// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The seccomp filters of all threads of another process, which stands still while they are looked at. */
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
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/freeze/filter_code.h"
#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/freeze/seccomp_filter.h"
#include "user/freeze/stop.h"

static const struct filter_call some = {
	.number = SYS_madvise,
	.instruction = {0x7f0000001000, 0x7f0000007000},
	.arguments = {{0x10000, UINT64_MAX},
		      {0, UINT64_MAX},
		      {MADV_DONTNEED, MADV_DONTNEED},
		      {0, UINT64_MAX},
		      {0, UINT64_MAX},
		      {0, UINT64_MAX}},
};

static void filter_thread(bool refuses)
{
	const struct sock_filter code[] = {LOAD(nr), IF(BPF_JEQ, SYS_madvise, 0, 1),
					   RETURN(refuses ? SECCOMP_RET_ERRNO : SECCOMP_RET_ALLOW),
					   ALLOW};

	if (install(code, ARRAY_SIZE(code)))
		_exit(1);
}

static int told[2];

static void tell(void)
{
	if (write(told[1], "t", 1) != 1)
		_exit(1);
}

static void *wait_for_ever(void *arg)
{
	for (const char *each = arg; each && *each; each++)
		filter_thread(*each == '-');
	tell();
	for (;;)
		pause();
	return arg;
}

/* Two threads: a filter for each letter, of both, of the first and of the second alone; '-' one that refuses. */
static pid_t start(const char *of_both, char *of_first, char *of_second)
{
	char byte;
	pid_t pid = fork();

	if (!pid) {
		pthread_t thread;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (; *of_both; of_both++)
			filter_thread(*of_both == '-');
		pthread_create(&thread, NULL, wait_for_ever, of_second);
		wait_for_ever(of_first);
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(read(told[0], &byte, 1), 1);
	return pid;
}

/* -EPERM, or how many. */
static int ask(pid_t pid, char reason[static REASON_MAX])
{
	unsigned filters;
	struct stop *stop;
	int err = stop_begin(pid, 10 * NS_PER_S, NULL, &stop, reason);

	assert_int_equal(err, 0);
	err = stop_ask_filters(stop, &some, &filters, reason);
	stop_end(stop);
	stop_free(stop);
	return err ?: (int)filters;
}

static int ask_of_each(const char *of_both, const char *of_first, const char *of_second,
		       char reason[static REASON_MAX])
{
	char *first = strdup(of_first), *second = strdup(of_second);
	pid_t pid = start(of_both, first, second);
	int answer = ask(pid, reason);

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	free(first);
	free(second);
	return answer;
}

static int ask_of(const char *of_both, const char *of_second, char reason[static REASON_MAX])
{
	return ask_of_each(of_both, "", of_second, reason);
}

static void of_a_process(void **state)
{
	char reason[REASON_MAX] = "";

	(void)state;
	assert_int_equal(ask_of("", "", reason), 0);
	assert_int_equal(ask_of("+", "", reason), 1);
	assert_int_equal(ask_of("+++", "", reason), 3);
	assert_int_equal(ask_of("-", "", reason), -EPERM);
	assert_non_null(strstr(reason, "might not let madvise pass"));
	assert_int_equal(ask_of("++-++", "", reason), -EPERM);
	assert_int_equal(ask_of("-++", "", reason), -EPERM);
	assert_int_equal(ask_of("", "-", reason), -EPERM);
	assert_int_equal(ask_of("+", "-", reason), -EPERM);
	assert_int_equal(ask_of("+", "+", reason), -EPERM);
	assert_non_null(strstr(reason, "different"));
	/* As many, and not the same. */
	assert_int_equal(ask_of_each("+", "++", "++", reason), 3);
	assert_int_equal(ask_of_each("+", "+", "-", reason), -EPERM);
	assert_non_null(strstr(reason, "might not let madvise pass"));
	assert_int_equal(ask_of_each("+", "++", "+-", reason), -EPERM);
	assert_int_equal(ask_of_each("+", "++", "-+", reason), -EPERM);
	assert_int_equal(ask_of_each("+", "-", "+", reason), -EPERM);
	assert_non_null(strstr(reason, "might not let madvise pass"));
}

#define MANY	64 /* threads */
#define LONG	7  /* filters of the longest kind, more of which a thread cannot have */
#define HOLD_NS (500 * NS_PER_MS)

static void *filter_long(void *arg)
{
	struct sock_filter code[BPF_MAXINSNS];

	code[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(3, 0));
	for (size_t i = 1; i < BPF_MAXINSNS - 1; i++)
		code[i] = (struct sock_filter)IF(BPF_JEQ, 0, 0, 0);
	code[BPF_MAXINSNS - 1] = (struct sock_filter)ALLOW;
	for (int i = 0; i < LONG; i++) {
		if (install(code, BPF_MAXINSNS))
			_exit(1);
	}
	return wait_for_ever(arg);
}

/* To look at all of them takes some 50 ms. */
static pid_t start_many(void)
{
	char byte;
	pid_t pid = fork();

	if (!pid) {
		pthread_t thread;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 1; i < MANY; i++)
			pthread_create(&thread, NULL, filter_long, NULL);
		filter_long(NULL);
	}
	for (int i = 0; i < MANY; i++)
		assert_int_equal(read(told[0], &byte, 1), 1);
	return pid;
}

/* So short before its time is over. */
static int ask_late(pid_t pid, uint64_t before_ns, char reason[static REASON_MAX])
{
	unsigned filters;
	struct stop *stop;
	int err = stop_begin(pid, HOLD_NS, NULL, &stop, reason);

	if (err)
		return err;
	while (monotonic_ns() < stop_start_ns(stop) + HOLD_NS - before_ns)
		usleep(100);
	err = stop_ask_filters(stop, &some, &filters, reason) ?: (int)filters;
	stop_end(stop);
	stop_free(stop);
	return err;
}

/* It stands still meanwhile, and not for longer than it may. Where we are too late to ask, or it takes less, it is tried again. */
static void of_many_threads(void **state)
{
	static const uint64_t before_ns[] = {20 * NS_PER_MS, 10 * NS_PER_MS, 5 * NS_PER_MS,
					     2 * NS_PER_MS};
	char reason[REASON_MAX] = "";
	pid_t pid = start_many();
	bool late = false;

	(void)state;
	for (size_t i = 0; i < 40 && !late; i++)
		late = ask_late(pid, before_ns[i % ARRAY_SIZE(before_ns)], reason) == -ETIMEDOUT &&
		       strstr(reason, "seccomp filters takes too long");
	assert_true(late);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Who has a filter may not read others'. */
static void by_one_that_is_filtered(void **state)
{
	char nobody[] = "";
	pid_t target = start("+", nobody, nobody), tool = fork();
	int status;

	(void)state;
	if (!tool) {
		char reason[REASON_MAX] = "";

		filter_thread(false);
		_exit(ask(target, reason) == -EPERM && strstr(reason, "CAP_SYS_ADMIN") ? 0 : 1);
	}
	assert_int_equal(waitpid(tool, &status, 0), tool);
	assert_int_equal(status, 0);
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_a_process),
		cmocka_unit_test(of_many_threads),
		cmocka_unit_test(by_one_that_is_filtered),
	};

	if (pipe2(told, O_CLOEXEC)) {
		perror("a pipe");
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

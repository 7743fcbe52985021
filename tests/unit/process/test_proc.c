// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tests/unit/test_proc_child.h"
#include "user/process/proc.h"

static void test_stat_parse(void **state)
{
	struct proc_stat stat;

	(void)state;
	assert_int_equal(
		proc_stat_parse("42 (a) b) (c) S 7 42 42 0 -1 2097216 1 2 3 4 5 6 7 8 20 0 3 0 "
				"987654 1 2\n",
				&stat),
		0);
	assert_string_equal(stat.comm, "a) b) (c");
	assert_int_equal(stat.state, 'S');
	assert_int_equal(stat.ppid, 7);
	assert_int_equal(stat.threads, 3);
	assert_int_equal(stat.start_ticks, 987654);
	assert_true(stat.kernel_thread);
	assert_int_equal(proc_stat_parse("", &stat), -EBADMSG);
	assert_int_equal(proc_stat_parse(")(", &stat), -EBADMSG);
	assert_int_equal(proc_stat_parse("1 (x) S 1 2", &stat), -EBADMSG);
	/* kworkers' names are longer than what a comm holds */
	assert_int_equal(
		proc_stat_parse("1 (kworker/u5:2-events_unbound) I 2 0 0 0 -1 69238880 0 0 0 0 0 0 "
				"0 0 20 0 1 0 9 0 0",
				&stat),
		0);
	assert_string_equal(stat.comm, "kworker/u5:2-ev");
}

/* Time on a processor goes on for one who computes. A kernel that does not count it says so. */
static void test_ran(void **state)
{
	uint64_t before, ran = 0;

	(void)state;
	if (proc_ran_ns(getpid(), &before) == -ENOTSUP) {
		print_message("the kernel does not count it\n");
		skip();
	}
	assert_true(before > 0);
	while (ran <= before)
		assert_int_equal(proc_ran_ns(getpid(), &ran), 0);
	assert_int_equal(proc_ran_ns(INT_MAX, &ran), -ESRCH);
}

static void test_self(void **state)
{
	struct proc_stat stat;
	char comm[16];

	(void)state;
	assert_int_equal(proc_stat(getpid(), &stat), 0);
	assert_int_equal(stat.ppid, getppid());
	assert_int_equal(stat.state, 'R');
	assert_false(stat.kernel_thread);
	assert_int_equal(proc_comm(getpid(), comm), 0);
	assert_string_equal(comm, "test_proc");
	assert_int_equal(proc_ns_pid(getpid()), getpid());
	assert_int_equal(proc_elf(getpid()), PROC_ELF_NATIVE);
}

static void test_cmdline(void **state)
{
	char *argv[] = {"", "-", "--", NULL};
	struct child child = child_exec("/bin/cat", argv, (char *[]){NULL});
	pid_t zombie = child_zombie();
	char **got;

	(void)state;
	assert_int_equal(proc_cmdline(child.pid, &got), 0);
	for (int i = 0; i < 3; i++)
		assert_string_equal(got[i], argv[i]);
	assert_null(got[3]);
	free(got);
	child_end(&child);
	assert_int_equal(proc_cmdline(child.pid, &got), -ESRCH);
	assert_int_equal(proc_cmdline(zombie, &got), 0);
	assert_null(got[0]);
	free(got);
	waitpid(zombie, NULL, 0);
}

/* As setproctitle() of nginx, PostgreSQL and others leaves it: the title, and zeros. */
static void test_overwritten_title(void **state)
{
	char *argv[] = {"/bin/sh", "-c", "exec cat", "one", "two", "three", "four", NULL};
	char *blank[] = {"/bin/cat", "-", "", NULL};
	struct child child = child_exec("/bin/sh", argv, (char *[]){NULL});
	struct child last = child_exec("/bin/cat", blank, (char *[]){NULL});
	char title[] = "server: at work";
	pid_t pid = fork();
	char **got;

	(void)state;
	child_end(&child);
	if (!pid) {
		/* Where /proc/PID/cmdline is read from: proc_pid_stat(5), arg_start and arg_end. */
		unsigned long start = 0, end = 0;
		char stat[2048];
		FILE *file = fopen("/proc/self/stat", "re");
		char *at = file && fgets(stat, sizeof(stat), file) ? strrchr(stat, ')') : NULL;

		for (int field = 2; at && field < 48; field++)
			at = strchr(at + 1, ' ');
		if (!at || sscanf(at, "%lu %lu", &start, &end) != 2)
			_exit(1);
		memset((char *)start, 0, end - start);
		memcpy((char *)start, title, end - start < 10 ? end - start : 10);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	do
		assert_int_equal(proc_cmdline(pid, &got), 0);
	while (strncmp(got[0], title, 10) != 0 && (free(got), !usleep(1000)));
	assert_int_equal(strlen(got[0]), 10);
	assert_null(got[1]);
	free(got);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* One empty argument is a caller's. */
	assert_int_equal(proc_cmdline(last.pid, &got), 0);
	assert_string_equal(got[2], "");
	assert_null(got[3]);
	free(got);
	child_end(&last);
}

static void test_entry(void **state)
{
	pid_t zombie = child_zombie();
	uint64_t entry = 0;

	(void)state;
	assert_int_equal(proc_entry(getpid(), &entry), 0);
	assert_int_equal(entry, getauxval(AT_ENTRY));
	assert_true(proc_entry(zombie, &entry) < 0);
	waitpid(zombie, NULL, 0);
	assert_int_equal(proc_entry(zombie, &entry), -ESRCH);
}

static void test_children(void **state)
{
	struct child a = child_start(NULL, NULL), b = child_start(NULL, NULL);
	pid_t *pids;
	size_t count, found = 0;

	(void)state;
	assert_int_equal(proc_children(getpid(), &pids, &count), 0);
	for (size_t i = 0; i < count; i++)
		found += pids[i] == a.pid || pids[i] == b.pid;
	assert_int_equal(found, 2);
	assert_int_equal(count, 2);
	free(pids);
	assert_int_equal(proc_children(a.pid, &pids, &count), 0);
	assert_int_equal(count, 0);
	free(pids);
	child_end(&a);
	child_end(&b);
}

/* The first process of a pid namespace of its own is 1 there. */
static void test_pid_namespace(void **state)
{
	size_t count;
	char byte = 0;
	pid_t *pids, pid;
	int hold[2];

	(void)state;
	need_root();
	assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (unshare(CLONE_NEWPID))
			_exit(1);
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (write(hold[1], &byte, 1) != 1)
				_exit(1);
			pause();
		}
		pause();
	}
	close(hold[1]);
	assert_int_equal(read(hold[0], &byte, 1), 1);
	assert_int_equal(proc_children(pid, &pids, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(proc_ns_pid(pids[0]), 1);
	kill(pids[0], SIGKILL);
	free(pids);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(hold[0]);
}

static void *stay(void *arg)
{
	const char byte = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (write(*(int *)arg, &byte, 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* The main thread ends, another one stays. */
static void test_without_main_thread(void **state)
{
	struct proc_stat stat;
	char **argv, byte;
	pthread_t thread;
	int said[2];
	pid_t pid, id;

	(void)state;
	assert_int_equal(proc_memory_id(getpid()), getpid());
	assert_int_equal(proc_other_thread(getpid(), 0), 0);
	assert_int_equal(pipe(said), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (pthread_create(&thread, NULL, stay, &said[1]))
			_exit(1);
		pthread_exit(NULL);
	}
	assert_int_equal(read(said[0], &byte, 1), 1);
	do {
		assert_int_equal(proc_stat(pid, &stat), 0);
	} while (stat.state != 'Z');
	id = proc_memory_id(pid);
	assert_int_not_equal(id, pid);
	assert_int_equal(proc_tgid(id), pid);
	assert_int_equal(proc_other_thread(pid, 0), id);
	assert_int_equal(proc_other_thread(pid, id), 0);
	assert_int_equal(proc_elf(pid), PROC_ELF_NATIVE);
	assert_int_equal(proc_cmdline(pid, &argv), 0);
	assert_non_null(argv[0]);
	free(argv);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(proc_memory_id(pid), pid);
	close(said[0]);
	close(said[1]);
}

static int share(void *arg)
{
	(void)arg;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (pause() < 0)
		;
	return 0;
}

static void test_sharers(void **state)
{
	static char stack[64 << 10] __attribute__((aligned(16)));
	pid_t *pids = NULL, sharer, other;
	size_t count = 1;

	(void)state;
	if (proc_sharers(getpid(), &pids, &count) == -ENOSYS) {
		print_message("no kcmp\n");
		skip();
	}
	assert_int_equal(count, 0);
	free(pids);
	sharer = clone(share, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
	assert_true(sharer > 0);
	other = fork();
	if (!other)
		share(NULL);
	assert_true(proc_shares(getpid(), sharer));
	assert_true(proc_shares(sharer, getpid()));
	assert_false(proc_shares(getpid(), other));
	assert_int_equal(proc_sharers(getpid(), &pids, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(pids[0], sharer);
	free(pids);
	kill(other, SIGKILL);
	kill(sharer, SIGKILL);
	waitpid(other, NULL, 0);
	waitpid(sharer, NULL, 0);
	assert_false(proc_shares(getpid(), sharer));
}

/* Ended, and not yet waited for. */
static pid_t ended(void)
{
	pid_t pid = fork();
	siginfo_t info;

	assert_true(pid >= 0);
	if (!pid)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	return pid;
}

/* To kcmp() all that have no memory have the same one: two that have ended, and kernel threads. */
static void test_sharers_without_memory(void **state)
{
	pid_t one = ended(), other = ended(), *pids = NULL;
	size_t count = 1;
	int err = proc_sharers(one, &pids, &count);

	(void)state;
	free(pids);
	if (err != -ENOSYS) {
		assert_int_equal(err, 0);
		assert_int_equal(count, 0);
	}
	assert_false(proc_shares(one, other));
	assert_false(proc_shares(one, one));
	assert_false(proc_shares(one, 2));
	waitpid(one, NULL, 0);
	waitpid(other, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stat_parse),
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_ran),
		cmocka_unit_test(test_entry),
		cmocka_unit_test(test_cmdline),
		cmocka_unit_test(test_overwritten_title),
		cmocka_unit_test(test_children),
		cmocka_unit_test(test_pid_namespace),
		cmocka_unit_test(test_without_main_thread),
		cmocka_unit_test(test_sharers),
		cmocka_unit_test(test_sharers_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tests/unit/test_proc_child.h"
#include "user/kernel/cpus.h"
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
	assert_int_equal(proc_check_target(getpid()), 0);
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

struct thread {
	pid_t tid;
	pthread_barrier_t barrier;
};

static void *thread_main(void *arg)
{
	struct thread *thread = arg;

	thread->tid = (pid_t)syscall(SYS_gettid);
	pthread_barrier_wait(&thread->barrier);
	pthread_barrier_wait(&thread->barrier);
	return NULL;
}

static void test_thread_id(void **state)
{
	struct proc_stat stat;
	struct thread thread;
	pthread_t id;

	(void)state;
	pthread_barrier_init(&thread.barrier, NULL, 2);
	assert_int_equal(pthread_create(&id, NULL, thread_main, &thread), 0);
	pthread_barrier_wait(&thread.barrier);
	assert_int_equal(proc_tgid(thread.tid), getpid());
	assert_int_equal(proc_stat(getpid(), &stat), 0);
	assert_int_equal(stat.threads, 2);
	assert_int_equal(proc_check_target(thread.tid), -EINVAL);
	pthread_barrier_wait(&thread.barrier);
	pthread_join(id, NULL);
	pthread_barrier_destroy(&thread.barrier);
}

static void test_bad_targets(void **state)
{
	pid_t zombie = child_zombie();
	struct proc_stat stat;

	(void)state;
	assert_int_equal(proc_check_target(zombie), -ESRCH);
	assert_int_equal(proc_stat(zombie, &stat), 0);
	assert_int_equal(stat.state, 'Z');
	waitpid(zombie, NULL, 0);
	assert_int_equal(proc_check_target(zombie), -ESRCH);
	assert_int_equal(proc_check_target(0), -ESRCH);
	assert_int_equal(proc_check_target(-1), -ESRCH);
	assert_int_equal(proc_check_target(0x7fffffff), -ESRCH);
}

static void test_kernel_thread(void **state)
{
	struct proc_stat stat;

	(void)state;
	if (proc_stat(2, &stat) || strcmp(stat.comm, "kthreadd") != 0) {
		print_message("skipped: process 2 is not kthreadd here (a pid namespace)\n");
		skip();
	}
	assert_true(stat.kernel_thread);
	assert_int_equal(proc_check_target(2), -EINVAL);
}

/* A 32-bit program without any library: mov $29 (pause), %eax; int $0x80; jmp to the start. */
static void write_32bit_program(const char *path)
{
	static const unsigned char program[] = {
		0x7f, 'E',  'L',  'F', 1,    1,	   1, 0,    0,	  0,	0,    0, 0,  0,
		0,    0, /* ELFCLASS32 */
		2,    0,    3,	  0,   1,    0,	   0, 0,    0x54, 0x80, 4,    8, 52, 0,
		0,    0, /* ET_EXEC, EM_386 */
		0,    0,    0,	  0,   0,    0,	   0, 0,    52,	  0,	32,   0, 1,  0,
		0,    0,    0,	  0,   0,    0,	   1, 0,    0,	  0,	0,    0, 0,  0,
		0,    0x80, 4,	  8,   0,    0x80, 4, 8, /* PT_LOAD */
		0x60, 0,    0,	  0,   0x60, 0,	   0, 0,    5,	  0,	0,    0, 0,  0x10,
		0,    0,    0xb8, 29,  0,    0,	   0, 0xcd, 0x80, 0xeb, 0xf7, 0, 0,  0};
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_int_equal(fwrite(program, sizeof(program), 1, file), 1);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, 0700), 0);
}

static void test_32bit(void **state)
{
	char directory[32], path[64];
	pid_t pid;
	int err;

	(void)state;
#ifndef __x86_64__
	print_message("skipped: the 32-bit program is for x86\n");
	skip();
#endif
	make_directory(directory);
	snprintf(path, sizeof(path), "%s/a", directory);
	write_32bit_program(path);
	err = posix_spawn(&pid, path, NULL, NULL, (char *[]){path, NULL}, (char *[]){NULL});
	unlink(path);
	rmdir(directory);
	if (err == ENOEXEC) {
		print_message("skipped: this kernel runs no 32-bit programs\n");
		skip();
	}
	assert_int_equal(err, 0);
	assert_int_equal(proc_elf(pid), PROC_ELF_32BIT);
	assert_int_equal(proc_check_target(pid), -EOPNOTSUPP);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
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

static void test_permission(void **state)
{
	struct child other;
	int status;
	pid_t pid;

	(void)state;
	need_root();
	other = child_start(NULL, NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		/* As another user: root's process may not be looked at. */
		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
			_exit(2);
		_exit(proc_check_target(other.pid) == -EACCES ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	child_end(&other);
}

static void test_cpus(void **state)
{
	static const char *const bad[] = {"", "a", "1-", "3-1", "1,", "1;2", "99999999", "0-3,2"};
	unsigned *cpus;
	size_t count;

	(void)state;
	assert_int_equal(cpus_parse("0-2,5,7-8\n", &cpus, &count), 0);
	assert_int_equal(count, 6);
	assert_memory_equal(cpus, ((unsigned[]){0, 1, 2, 5, 7, 8}), 6 * sizeof(*cpus));
	free(cpus);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(cpus_parse(bad[i], &cpus, &count), -EINVAL);
	assert_int_equal(cpus_online(&cpus, &count), 0);
	assert_int_equal(count, sysconf(_SC_NPROCESSORS_ONLN));
	free(cpus);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stat_parse),    cmocka_unit_test(test_self),
		cmocka_unit_test(test_cmdline),	      cmocka_unit_test(test_children),
		cmocka_unit_test(test_thread_id),     cmocka_unit_test(test_bad_targets),
		cmocka_unit_test(test_kernel_thread), cmocka_unit_test(test_32bit),
		cmocka_unit_test(test_pid_namespace), cmocka_unit_test(test_permission),
		cmocka_unit_test(test_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

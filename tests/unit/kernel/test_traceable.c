// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tests/unit/test_proc_child.h"
#include "user/kernel/traceable.h"
#include "user/process/proc.h"

static void test_self(void **state)
{
	(void)state;
	assert_int_equal(traceable_check(getpid()), 0);
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
	assert_int_equal(traceable_check(thread.tid), -EINVAL);
	pthread_barrier_wait(&thread.barrier);
	pthread_join(id, NULL);
	pthread_barrier_destroy(&thread.barrier);
}

static void test_bad_targets(void **state)
{
	pid_t zombie = child_zombie();
	struct proc_stat stat;

	(void)state;
	assert_int_equal(traceable_check(zombie), -ESRCH);
	assert_int_equal(proc_stat(zombie, &stat), 0);
	assert_int_equal(stat.state, 'Z');
	waitpid(zombie, NULL, 0);
	assert_int_equal(traceable_check(zombie), -ESRCH);
	assert_int_equal(traceable_check(0), -ESRCH);
	assert_int_equal(traceable_check(-1), -ESRCH);
	assert_int_equal(traceable_check(0x7fffffff), -ESRCH);
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
	assert_int_equal(traceable_check(2), -EINVAL);
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
	assert_int_equal(traceable_check(pid), -EOPNOTSUPP);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
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
		_exit(traceable_check(other.pid) == -EACCES ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	child_end(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_self),	    cmocka_unit_test(test_thread_id),
		cmocka_unit_test(test_bad_targets), cmocka_unit_test(test_kernel_thread),
		cmocka_unit_test(test_32bit),	    cmocka_unit_test(test_permission),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/kernel/unkillable.h"

static void test_results(void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char name[16] = "", theirs[16] = "";

	(void)state;
	assert_int_equal(unkillable_syscall(SYS_getppid, 0, 0, 0, 0, 0), getpid());
	assert_int_equal(unkillable_syscall(SYS_read, -1, 0, 0, 0, 0), -EBADF);
	/* Who is to be killed by our name is us alone. */
	assert_int_equal(prctl(PR_GET_NAME, name), 0);
	assert_int_equal(unkillable_syscall(SYS_prctl, PR_GET_NAME, (long)theirs, 0, 0, 0), 0);
	assert_string_equal(name, "test_unkillable");
	assert_string_equal(theirs, "putting-probes");
	/* The descriptors are ours, too. */
	unkillable_close(fd);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	fd = (int)unkillable_syscall(SYS_dup, 0, 0, 0, 0, 0);
	assert_int_not_equal(fcntl(fd, F_GETFD), -1);
	close(fd);
	/* No child is left to be waited for. */
	assert_int_equal(waitpid(-1, NULL, __WALL), -1);
	assert_int_equal(errno, ECHILD);
}

/* Until the process has a child, and that one a process group of its own. */
static void wait_for_child_of(pid_t pid)
{
	char path[64], line[64] = "";
	pid_t child = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	while (!child || getpgid(child) != child) {
		FILE *f = fopen(path, "re");

		assert_non_null(f);
		if (fgets(line, sizeof(line), f))
			child = (pid_t)strtol(line, NULL, 10);
		fclose(f);
		usleep(1000);
	}
}

/*
 * A process is killed with its group while it waits in such a call. The call goes on: it takes the
 * byte that is written afterwards. Then the descriptors close: the other pipe, whose writing end
 * only that process had, is at its end.
 */
static void test_killed_meanwhile(void **state)
{
	char *taken = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int input[2], output[2], status;
	char byte;
	struct pollfd end;
	pid_t pid;

	(void)state;
	assert_ptr_not_equal(taken, MAP_FAILED);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe2(input, O_CLOEXEC), 0);
	assert_int_equal(pipe2(output, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		setpgid(0, 0);
		/* This says that it is about to wait. */
		if (write(output[1], "", 1) == 1)
			unkillable_syscall(SYS_read, input[0], (long)taken, 1, 0, 0);
		_exit(0);
	}
	setpgid(pid, pid);
	close(input[0]);
	close(output[1]);
	assert_int_equal(read(output[0], &byte, 1), 1);
	wait_for_child_of(pid);
	assert_int_equal(kill(-pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	/* Somebody has the pipes still, and is not about to end. */
	end = (struct pollfd){.fd = output[0], .events = POLLIN};
	assert_int_equal(poll(&end, 1, 200), 0);
	assert_int_equal(write(input[1], "y", 1), 1);
	assert_int_equal(poll(&end, 1, 30000), 1);
	assert_int_equal(read(output[0], &byte, 1), 0);
	assert_int_equal(*taken, 'y');
	munmap(taken, 1);
	close(input[1]);
	close(output[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_killed_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

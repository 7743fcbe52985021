// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is given up is given up, by all threads, and what is needed stays. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/base/util.h"
#include "user/kernel/confine.h"

#define REFUSED(call) (errno = 0, (call) == -1 && errno == EPERM)

/* In a child, which says by its status at which line it went wrong; 0: nowhere. */
static int in_child(int (*what)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		_exit(what());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

#define EXPECT(condition)                \
	do {                             \
		if (!(condition))        \
			return __LINE__; \
	} while (0)

/* The same of a thread. */
#define EXPECT_THERE(condition)                            \
	do {                                               \
		if (!(condition))                          \
			return (void *)(intptr_t)__LINE__; \
	} while (0)

static int try_refused(void)
{
	char *const argv[] = {"/bin/true", NULL};

	EXPECT(REFUSED(execv(argv[0], argv)));
	EXPECT(REFUSED(mount("none", "/", "tmpfs", 0, NULL)));
	EXPECT(REFUSED(umount2("/nowhere", 0)));
	EXPECT(REFUSED(unshare(CLONE_NEWUSER)));
	EXPECT(REFUSED(syscall(SYS_delete_module, "none", 0)));
	EXPECT(REFUSED(chroot("/nowhere")));
	EXPECT(REFUSED(socket(AF_INET, SOCK_STREAM, 0)));
	EXPECT(REFUSED(socket(AF_NETLINK, SOCK_RAW, 0)));
	EXPECT(socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
#if defined(__x86_64__)
	EXPECT(REFUSED(syscall(0x40000000 | SYS_getpid)));
#endif
	return 0;
}

static void *wait_and_try(void *arg)
{
	char word;
	int *fds = arg;

	if (read(fds[0], &word, 1) != 1)
		return (void *)(intptr_t)__LINE__;
	return (void *)(intptr_t)try_refused();
}

static int tool(void)
{
	static const struct confine_needs needs = {.ptrace = false};
	pthread_t before, after;
	void *result;
	int fds[2];

	EXPECT(!pipe(fds));
	EXPECT(!pthread_create(&before, NULL, wait_and_try, fds));
	EXPECT(!confine_tool(&needs));
	EXPECT(!try_refused());
#ifndef __SANITIZE_ADDRESS__
	EXPECT(REFUSED(ptrace(PTRACE_TRACEME, 0, 0, 0)));
#endif
	EXPECT(!pthread_create(&after, NULL, wait_and_try, fds));
	EXPECT(write(fds[1], "ab", 2) == 2);
	EXPECT(!pthread_join(before, &result) && !result);
	EXPECT(!pthread_join(after, &result) && !result);
	return 0;
}

static int tool_with_needs(void)
{
	static const struct confine_needs needs = {.ptrace = true, .network = true};

	EXPECT(!confine_tool(&needs));
	EXPECT(socket(AF_INET, SOCK_STREAM, 0) >= 0);
	EXPECT(!ptrace(PTRACE_TRACEME, 0, 0, 0));
	return 0;
}

static int reader(void)
{
	int fds[2];
	char word;
	void *memory;

	EXPECT(!pipe(fds));
	EXPECT(!confine_reader());
	memory = malloc(64 << 20);
	EXPECT(memory);
	free(memory);
	EXPECT(write(fds[1], "a", 1) == 1 && read(fds[0], &word, 1) == 1);
	EXPECT(REFUSED(open("/dev/null", O_RDONLY)));
	EXPECT(REFUSED(socket(AF_UNIX, SOCK_STREAM, 0)));
	EXPECT(REFUSED(syscall(SYS_clone, 17, 0, 0, 0, 0)));
	EXPECT(REFUSED(syscall(SYS_kill, getppid(), 0)));
	EXPECT(REFUSED(syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0)));
	return 0;
}

/* In a thread of a tool that is confined already. */
static void *serve(void *arg)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	int *fds = arg, fd;

	EXPECT_THERE(!confine_server());
	EXPECT_THERE(REFUSED(socket(AF_UNIX, SOCK_STREAM, 0)));
	EXPECT_THERE(REFUSED(open("/dev/null", O_RDONLY)));
	EXPECT_THERE(REFUSED(connect(fds[1], (struct sockaddr *)&address, sizeof(address))));
	EXPECT_THERE(REFUSED(syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0)));
	fd = accept4(fds[0], NULL, NULL, SOCK_CLOEXEC);
	EXPECT_THERE(fd >= 0 && send(fd, "a", 1, 0) == 1);
	return NULL;
}

static int server(void)
{
	static const struct confine_needs needs = {.ptrace = true};
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t len = sizeof(address);
	int fds[2] = {socket(AF_INET, SOCK_STREAM, 0), socket(AF_INET, SOCK_STREAM, 0)};
	pthread_t thread;
	void *result;
	char word;

	EXPECT(!bind(fds[0], (struct sockaddr *)&address, len) && !listen(fds[0], 1));
	EXPECT(!getsockname(fds[0], (struct sockaddr *)&address, &len));
	EXPECT(!confine_tool(&needs));
	EXPECT(!connect(fds[1], (struct sockaddr *)&address, len));
	EXPECT(!pthread_create(&thread, NULL, serve, fds));
	EXPECT(!pthread_join(thread, &result) && !result);
	EXPECT(read(fds[1], &word, 1) == 1);
	/* The others are as they were. */
	EXPECT(socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
	return 0;
}

static void test_server(void **state)
{
	(void)state;
	assert_int_equal(in_child(server), 0);
}

static void test_tool(void **state)
{
	(void)state;
	assert_int_equal(in_child(tool), 0);
	assert_int_equal(in_child(tool_with_needs), 0);
}

static void test_reader(void **state)
{
	(void)state;
	assert_int_equal(in_child(reader), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tool),
		cmocka_unit_test(test_reader),
		cmocka_unit_test(test_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

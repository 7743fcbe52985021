// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Entering another process's control group namespace: by a child that has one of its own. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/kernel/cgroup_namespace.h"

/* Of the calling process. 0: it cannot be seen. */
static ino_t namespace_of_self(void)
{
	struct stat st;

	return stat("/proc/self/ns/cgroup", &st) ? 0 : st.st_ino;
}

/* What the child found, as its exit status. */
enum found { FOUND_RIGHT, FOUND_NO_OTHER, FOUND_ERROR, FOUND_STILL_OTHER };

/* In a namespace of its own; as nobody, if so wanted. It goes on only if it may, with `error`. */
static enum found child_enters(ino_t parents, uid_t user, int error)
{
	pid_t parent = getppid();
	int err;

	if (unshare(CLONE_NEWCGROUP) || !namespace_of_self() || namespace_of_self() == parents)
		return FOUND_NO_OTHER;
	if (user && setresuid(user, user, user))
		return FOUND_NO_OTHER;
	err = cgroup_namespace_enter(parent);
	if (err != error)
		return FOUND_ERROR;
	return error || namespace_of_self() == parents ? FOUND_RIGHT : FOUND_STILL_OTHER;
}

static void assert_child(uid_t user, int error)
{
	ino_t own = namespace_of_self();
	pid_t pid;
	int status;

	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
	pid = fork();
	if (pid == 0)
		_exit((int)child_enters(own, user, error));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), FOUND_RIGHT);
	/* Only the child has gone elsewhere and come back. */
	assert_int_equal(namespace_of_self(), own);
}

static void another(void **state)
{
	(void)state;
	assert_child(0, 0);
}

static void without_the_right(void **state)
{
	(void)state;
	assert_child(65534, -EACCES);
}

static void the_same(void **state)
{
	ino_t own = namespace_of_self();

	(void)state;
	assert_int_equal(cgroup_namespace_enter(getpid()), 0);
	assert_int_equal(namespace_of_self(), own);
}

static void nobody(void **state)
{
	(void)state;
	assert_int_equal(cgroup_namespace_enter(INT32_MAX), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another),
		cmocka_unit_test(without_the_right),
		cmocka_unit_test(the_same),
		cmocka_unit_test(nobody),
	};

	return cmocka_run_group_tests_name("cgroup_namespace", tests, NULL, NULL);
}

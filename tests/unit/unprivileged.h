/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef MEMLEAKBPF_TESTS_UNPRIVILEGED_H
#define MEMLEAKBPF_TESTS_UNPRIVILEGED_H

#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

/* What check() says in a process without root's rights. Include cmocka.h first. */
static inline bool unprivileged(bool (*check)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		if (!getuid() && (setgid(NOBODY) || setuid(NOBODY)))
			_exit(2);
		_exit(!check());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return !WEXITSTATUS(status);
}

#endif

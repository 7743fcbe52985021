// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/base/log.h"
#include "user/cli/launch.h"

static _Noreturn void launch_child(const char *path, char *const argv[],
				   const struct launch_environment *env, int go, int error)
{
	char word;
	int err;

	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &env->mask, NULL);
	setrlimit(RLIMIT_NOFILE, &env->files);
	/* One byte says go; end of file without it means that the tool is gone. */
	if (read(go, &word, 1) != 1)
		_exit(127);
	execv(path, argv);
	err = errno;
	if (write(error, &err, sizeof(err)) != sizeof(err))
		_exit(126);
	_exit(127);
}

int launch_prepare(const char *path, char *const argv[], const struct launch_environment *env,
		   struct launch *out)
{
	int go[2], error[2];
	pid_t pid;

	if (pipe2(go, O_CLOEXEC))
		return log_errno(errno, "pipe");
	if (pipe2(error, O_CLOEXEC)) {
		int err = log_errno(errno, "pipe");

		close(go[0]);
		close(go[1]);
		return err;
	}
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		close(error[0]);
		launch_child(path, argv, env, go[0], error[1]);
	}
	close(go[0]);
	close(error[1]);
	*out = (struct launch){.pid = pid, .go_fd = go[1], .error_fd = error[0]};
	if (pid < 0) {
		int err = log_errno(errno, "fork");

		close(go[1]);
		close(error[0]);
		return err;
	}
	return 0;
}

int launch_go(struct launch *launch, const char *name)
{
	int err = 0;
	ssize_t n;

	if (write(launch->go_fd, "", 1) != 1)
		err = errno;
	close(launch->go_fd);
	do {
		n = read(launch->error_fd, &err, sizeof(err));
	} while (n < 0 && errno == EINTR);
	close(launch->error_fd);
	if (!err)
		return 0;
	waitpid(launch->pid, NULL, 0);
	return log_errno(err, "cannot run %s", name);
}

void launch_abort(struct launch *launch)
{
	close(launch->go_fd);
	close(launch->error_fd);
	waitpid(launch->pid, NULL, 0);
}

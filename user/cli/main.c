// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "user/base/log.h"
#include "user/cli/commands.h"
#include "user/cli/help.h"

/*
 * If our caller has closed one of 0, 1 and 2, messages would go into the first file that we open, a
 * recording for instance. The descriptor put there refuses to be used, and a command that we start
 * finds it closed, too.
 */
static int reserve_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		int flags = (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC;

		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", flags) != fd)
			return -errno;
	}
	return 0;
}

/* The exit status. A reader that has had enough (`| head`) needs no message. */
static int printed(int err)
{
	if (err && err != -EPIPE)
		log_errno(err, "cannot write to standard output");
	return err ? 1 : 0;
}

int main(int argc, char *argv[])
{
	const struct options *options;
	int status, err = reserve_standard_descriptors();

	if (err)
		return 1;
	err = options_parse(cli_commands, argc, argv, &options);
	if (err)
		return err == -EINVAL ? EXIT_STATUS_USAGE : 1;
	if (options->verbose)
		log_set_level(options->verbose > 1 ? LOG_TRACE : LOG_DEBUG);
	switch (options->action) {
	case ACTION_HELP:
		status = printed(
			help_print(stdout, cli_commands, options->command, options->help_page));
		break;
	case ACTION_VERSION:
		status = printed(help_print_version(stdout));
		break;
	default:
		status = options->command->run(&options->config);
	}
	options_free(options);
	return status;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Starts a command that waits before its exec until its probes are in place. */
#ifndef MEMLEAKBPF_CLI_LAUNCH_H
#define MEMLEAKBPF_CLI_LAUNCH_H

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

/* Settings that the tool changes for itself, and that a command must get back. */
struct launch_environment {
	sigset_t mask;
	struct rlimit files;
};

struct launch {
	pid_t pid;
	int go_fd;    /* a byte lets the child exec; closed without one, it ends… */
	int error_fd; /* …and a failure to exec arrives here as an errno; end of file is success */
};

/*
 * Forks a child with our environment, standard streams and the given signal mask and limits; the
 * child then waits. 0 or -errno, logged. When we die first, the child goes away without having
 * started the command.
 */
int launch_prepare(const char *path, char *const argv[], const struct launch_environment *env,
		   struct launch *out);

/* Lets it exec. 0, or -errno of the exec, logged; the child has ended then. */
int launch_go(struct launch *launch, const char *name);

/* Ends a child that has not been let go. */
void launch_abort(struct launch *launch);

#endif

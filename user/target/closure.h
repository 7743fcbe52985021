/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which objects would a command map at its start? Known before it runs, so that its first
 * allocation already finds probes.
 */
#ifndef MEMLEAKBPF_TARGET_CLOSURE_H
#define MEMLEAKBPF_TARGET_CLOSURE_H

#include <stdbool.h>
#include <stddef.h>

struct closure {
	char *command; /* what execve gets: the file that was found in PATH */
	/*
	 * the ELF executable (a script's interpreter), its dynamic loader and libraries; count of
	 * them, then NULL
	 */
	char **paths;
	size_t count;
};

/*
 * Resolves the command as execvp(3) does, follows #! lines, and asks the executable's own dynamic
 * loader (PT_INTERP, with --list) for its libraries, under our environment. A loader that cannot
 * tell leaves the executable and itself. 0 and *out (closure_free); -ENOENT, -EACCES, -ENOEXEC …
 * logged with the name of the command.
 */
int closure_find(const char *command, struct closure **out);
/* Does execvp(3) find a file of that name that may be run? */
bool closure_command_exists(const char *command);
void closure_free(struct closure *closure); /* NULL is fine */

#endif

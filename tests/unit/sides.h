/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs whose sources lie beside a test, wherever the tests are run: compiled into a directory of the
 * test's own, and started. Include after cmocka.h.
 */
#ifndef MEMLEAKBPF_TESTS_UNIT_SIDES_H
#define MEMLEAKBPF_TESTS_UNIT_SIDES_H

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>

#include "tests/unit/test_proc_child.h"

struct sides {
	char directory[32];
	char sources[PATH_MAX]; /* the test's folder, absolute */
};

/* `file` is the test's __FILE__. */
static inline void sides_open(struct sides *sides, const char *file)
{
	make_directory(sides->directory);
	assert_non_null(realpath(file, sides->sources));
	*strrchr(sides->sources, '/') = '\0';
}

/* A shell command, in the directory; $S is the folder of the sources. Its exit status. */
static inline __attribute__((format(printf, 2, 3))) int sides_try(const struct sides *sides,
								  const char *format, ...)
{
	char command[3 * PATH_MAX];
	va_list args;
	int used = snprintf(command, sizeof(command), "cd '%s' && S='%s' && ", sides->directory,
			    sides->sources);

	va_start(args, format);
	vsnprintf(command + used, sizeof(command) - (size_t)used, format, args);
	va_end(args);
	return system(command);
}

#define sides_run(sides, ...) assert_int_equal(sides_try(sides, __VA_ARGS__), 0)

static inline void sides_close(const struct sides *sides)
{
	assert_int_equal(sides_try(sides, "rm -rf '%s'", sides->directory), 0);
}

/* A program that says on its standard output what is in it, and goes on until its standard input ends. */
struct side {
	pid_t pid;
	int to;
	FILE *from;
};

/* Runs a shell command as sides_try() does, which must exec the program. It ends with the test. */
static inline void side_start(struct side *side, const struct sides *sides, const char *command)
{
	int in[2], out[2];

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	side->pid = fork();
	assert_true(side->pid >= 0);
	if (!side->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		setenv("S", sides->sources, 1);
		if (!chdir(sides->directory))
			execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	side->to = in[1];
	side->from = fdopen(out[0], "r");
	assert_non_null(side->from);
}

/* The next line of what it says, before "ready". */
static inline bool side_says(const struct side *side, char *line, int size)
{
	return fgets(line, size, side->from) && strcmp(line, "ready\n") != 0;
}

/*
 * It stands still until it goes on: what computes all the time would have most of the processors while the
 * test looks at a copy of it.
 */
static inline void side_rests(const struct side *side)
{
	kill(side->pid, SIGSTOP);
}

static inline void side_goes_on(const struct side *side)
{
	kill(side->pid, SIGCONT);
}

static inline void side_end(const struct side *side)
{
	int status;

	side_goes_on(side);
	close(side->to);
	fclose(side->from);
	assert_int_equal(waitpid(side->pid, &status, 0), side->pid);
	assert_int_equal(status, 0);
}

#endif

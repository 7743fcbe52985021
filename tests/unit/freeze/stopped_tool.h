/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A tool of a test that is stopped, with all processes of it or without, and goes on. */
#ifndef MEMLEAKBPF_TESTS_STOPPED_TOOL_H
#define MEMLEAKBPF_TESTS_STOPPED_TOOL_H

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* As /proc has it; 0: there is none. */
static inline char tool_state(pid_t pid)
{
	char path[64], line[256], *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	end = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	fclose(file);
	return end ? end[2] : 0;
}

/* Its last child; 0: none. */
static inline pid_t tool_child(pid_t pid)
{
	char path[64];
	FILE *file;
	int child = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	while (fscanf(file, "%d", &child) == 1)
		;
	fclose(file);
	return child;
}

/* Stops it, and with `all` the process that holds its target, which is the one child that it has. */
static inline void tool_stop(pid_t tool, int all)
{
	pid_t child;

	kill(tool, SIGSTOP);
	while (tool_state(tool) != 'T')
		usleep(100);
	child = all ? tool_child(tool) : 0;
	if (child)
		kill(child, SIGSTOP);
}

static inline void tool_go_on(pid_t tool)
{
	pid_t child = tool_child(tool);

	if (child)
		kill(child, SIGCONT);
	kill(tool, SIGCONT);
}

#endif

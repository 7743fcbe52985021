/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef MEMLEAKBPF_TESTS_OTHER_PROCESSES_H
#define MEMLEAKBPF_TESTS_OTHER_PROCESSES_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/*
 * The processes of that name but for the target; those that wait for process 1 to bury them do
 * not count.
 */
static inline int others(const char *name, pid_t target)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	char wanted[32];
	int n = 0;

	snprintf(wanted, sizeof(wanted), "(%s)", name);
	while ((entry = readdir(dir)) != NULL) {
		int pid = atoi(entry->d_name), parent;
		char path[64], line[256] = "", state;
		FILE *file;

		if (pid <= 0 || pid == target)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		file = fopen(path, "r");
		if (!file)
			continue;
		if (fgets(line, sizeof(line), file) && strstr(line, wanted) &&
		    sscanf(strrchr(line, ')') + 1, " %c %d", &state, &parent) == 2 &&
		    (parent == target || state != 'Z'))
			n++;
		fclose(file);
	}
	closedir(dir);
	return n;
}

#endif

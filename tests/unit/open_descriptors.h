/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef MEMLEAKBPF_TESTS_OPEN_DESCRIPTORS_H
#define MEMLEAKBPF_TESTS_OPEN_DESCRIPTORS_H

#include <dirent.h>
#include <stdio.h>
#include <sys/types.h>

/* How many descriptors the process has open. */
static inline int open_descriptors_of(pid_t pid)
{
	char path[64];
	struct dirent *entry;
	int n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)) != NULL)
		n += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return n;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A control group of the test's own, to freeze processes in. Include after cmocka.h. */
#ifndef MEMLEAKBPF_TESTS_UNIT_FREEZER_GROUP_H
#define MEMLEAKBPF_TESTS_UNIT_FREEZER_GROUP_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#define FREEZER_LOOK_US 200 /* between two looks at what the kernel does not announce */
#define FREEZER_LOOKS	50000

struct freezer_group {
	int version;	/* of the freezer */
	char path[256]; /* as /proc/PID/cgroup has it */
	char directory[320];
};

/* False: there can be none of that version here. */
static inline bool freezer_group_make(struct freezer_group *group, int version)
{
	static const char *const roots[][2] = {
		[1] = {"/sys/fs/cgroup/freezer"},
		[2] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"},
	};

	*group = (struct freezer_group){.version = version};
	snprintf(group->path, sizeof(group->path), "/memleakbpf-freezer-%d", (int)getpid());
	for (size_t i = 0; i < 2 && roots[version][i]; i++) {
		char file[384];

		snprintf(group->directory, sizeof(group->directory), "%s%s", roots[version][i],
			 group->path);
		if (mkdir(group->directory, 0755))
			continue;
		snprintf(file, sizeof(file), "%s/%s", group->directory,
			 version == 2 ? "cgroup.freeze" : "freezer.state");
		if (!access(file, W_OK))
			return true;
		rmdir(group->directory);
	}
	print_message("skipped: no control group of version %d can be made here\n", version);
	return false;
}

/* One below it, which is removed first. */
static inline void freezer_group_make_below(struct freezer_group *below,
					    const struct freezer_group *group, const char *name)
{
	*below = (struct freezer_group){.version = group->version};
	snprintf(below->path, sizeof(below->path), "%.100s/%s", group->path, name);
	snprintf(below->directory, sizeof(below->directory), "%.150s/%s", group->directory, name);
	assert_int_equal(mkdir(below->directory, 0755), 0);
}

static inline bool freezer_group_write(const struct freezer_group *group, const char *name,
				       const char *text)
{
	char path[384];
	bool written;
	int file;

	snprintf(path, sizeof(path), "%s/%s", group->directory, name);
	file = open(path, O_WRONLY | O_CLOEXEC);
	written = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
	if (file >= 0)
		close(file);
	return written;
}

/* A process; by "tasks" of version 1 one thread. */
static inline void freezer_group_enter(const struct freezer_group *group, const char *file,
				       pid_t id)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", (int)id);
	assert_true(freezer_group_write(group, file, number));
}

static inline bool freezer_group_says(const struct freezer_group *group, const char *name,
				      const char *wanted)
{
	char path[384], line[64];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", group->directory, name);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		found |= !strcmp(line, wanted);
	if (file)
		fclose(file);
	return found;
}

static inline bool freezer_group_is_frozen(const struct freezer_group *group)
{
	return group->version == 2 ? freezer_group_says(group, "cgroup.events", "frozen 1\n")
				   : freezer_group_says(group, "freezer.state", "FROZEN\n");
}

static inline bool freezer_group_thaw(const struct freezer_group *group)
{
	return group->version == 2 ? freezer_group_write(group, "cgroup.freeze", "0")
				   : freezer_group_write(group, "freezer.state", "THAWED");
}

/* Returns when all that is in it stands still. */
static inline void freezer_group_freeze(const struct freezer_group *group)
{
	bool asked = group->version == 2 ? freezer_group_write(group, "cgroup.freeze", "1")
					 : freezer_group_write(group, "freezer.state", "FROZEN");

	for (int i = 0; asked && !freezer_group_is_frozen(group) && i < FREEZER_LOOKS; i++)
		usleep(FREEZER_LOOK_US);
	if (!freezer_group_is_frozen(group)) {
		freezer_group_thaw(group);
		fail_msg("%s cannot be frozen", group->directory);
	}
}

/* It is the reason that a process is refused for which this group keeps from running. */
static inline void freezer_group_is_told(const struct freezer_group *group, const char *reason)
{
	char wanted[sizeof(group->path) + 64];

	snprintf(wanted, sizeof(wanted), "it is frozen; thaw it first (control group %s%s)",
		 group->path, group->version == 1 ? ", version 1" : "");
	assert_string_equal(reason, wanted);
}

/* What is in it goes on; it is left for the process's own end to empty it, which may be a moment ago. Not made: nothing. */
static inline void freezer_group_remove(struct freezer_group *group)
{
	if (!*group->directory)
		return;
	freezer_group_thaw(group);
	for (int i = 0; rmdir(group->directory) && errno == EBUSY && i < FREEZER_LOOKS; i++)
		usleep(FREEZER_LOOK_US);
	*group->directory = '\0';
}

#endif

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/selection.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/log.h"
#include "user/base/parse.h"
#include "user/base/util.h"
#include "user/process/cgroup.h"
#include "user/process/container_name.h"
#include "user/process/proc.h"

struct selected {
	pid_t pid;
	char comm[16]; /* a different one: it became another program, or is another process */
	bool seen;     /* at the last look */
};

struct selection {
	const struct select_config *config;
	struct selected *items; /* all that have matched and live */
	size_t count, capacity;
};

struct selection *selection_new(const struct select_config *config)
{
	struct selection *s = calloc(1, sizeof(*s));

	if (s)
		s->config = config;
	return s;
}

void selection_free(struct selection *s)
{
	if (!s)
		return;
	free(s->items);
	free(s);
}

bool selection_wanted(const struct select_config *config)
{
	return config->names.count || config->cgroup || config->container || config->unit;
}

char *selection_text(char buf[static SELECTION_TEXT_MAX], const struct select_config *config)
{
	const struct {
		const char *option, *value;
	} parts[] = {
		{"--cgroup", config->cgroup},
		{"--container", config->container},
		{"--unit", config->unit},
	};
	size_t used = 0;

	*buf = '\0';
	for (size_t i = 0; i < config->names.count && used < SELECTION_TEXT_MAX; i++)
		used += (size_t)snprintf(buf + used, SELECTION_TEXT_MAX - used, "%s%s",
					 i ? "," : "-p ", config->names.items[i]);
	for (size_t i = 0; i < ARRAY_SIZE(parts) && used < SELECTION_TEXT_MAX; i++) {
		if (parts[i].value)
			used += (size_t)snprintf(buf + used, SELECTION_TEXT_MAX - used, "%s%s %s",
						 used ? " " : "", parts[i].option, parts[i].value);
	}
	return buf;
}

/* The kernel keeps 15 bytes of a name. */
static bool selection_has_name(const struct select_config *config, const char comm[16])
{
	for (size_t i = 0; i < config->names.count; i++) {
		if (!strncmp(config->names.items[i], comm, 15))
			return true;
	}
	return !config->names.count;
}

static bool selection_in_group(const struct select_config *config, pid_t pid)
{
	struct container_name name = {0};
	struct cgroup group;

	if (!config->cgroup && !config->container && !config->unit)
		return true;
	if (cgroup_read(pid, &group))
		return false;
	if (config->container && group.container[0])
		container_name_find("", group.container, &name);
	return (!config->cgroup || cgroup_is_below(group.path, config->cgroup) ||
		cgroup_is_below(group.memory, config->cgroup)) &&
	       (!config->container || cgroup_in_container(&group, name.name, config->container)) &&
	       (!config->unit || cgroup_in_unit(&group, config->unit));
}

static struct selected *selection_find(struct selection *s, pid_t pid)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->items[i].pid == pid)
			return &s->items[i];
	}
	return NULL;
}

/* 1: it is new. */
static int selection_look_at(struct selection *s, pid_t pid)
{
	struct selected *known = selection_find(s, pid);
	char comm[16] = "";

	if (pid == getpid() || proc_comm(pid, comm))
		return 0;
	if (known && !memcmp(known->comm, comm, sizeof(comm))) {
		known->seen = true;
		return 0;
	}
	if (!selection_has_name(s->config, comm) || !selection_in_group(s->config, pid))
		return 0;
	if (!known) {
		if (!RESERVE_ITEM(s->items, s->count, s->capacity, 16))
			return -ENOMEM;
		known = &s->items[s->count++];
	}
	*known = (struct selected){.pid = pid, .seen = true};
	memcpy(known->comm, comm, sizeof(comm));
	return 1;
}

static void selection_forget_ended(struct selection *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++) {
		if (s->items[i].seen)
			s->items[n++] = s->items[i];
	}
	s->count = n;
}

int selection_scan(struct selection *s, int (*add)(void *ctx, pid_t pid), void *ctx, size_t *found)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	int err = 0;

	if (!proc)
		return log_errno(errno, "/proc");
	for (size_t i = 0; i < s->count; i++)
		s->items[i].seen = false;
	while (err >= 0 && (entry = readdir(proc)) != NULL) {
		uint64_t pid;

		if (parse_count(entry->d_name, 1, INT32_MAX, &pid))
			continue;
		err = selection_look_at(s, (pid_t)pid);
		if (err == 1 && !add(ctx, (pid_t)pid) && found)
			++*found;
	}
	closedir(proc);
	selection_forget_ended(s);
	return err < 0 ? log_errno(err, "looking for processes") : 0;
}

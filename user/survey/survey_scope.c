// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/survey/survey_scope.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct survey_scope {
	const struct survey_scope_config *config;
	regex_t comm, exclude;
	pid_t self;
};

/* The config has been checked: what fails here is memory. */
static bool survey_scope_compile(const char *text, regex_t *regex)
{
	return !text || !regcomp(regex, text, REG_EXTENDED | REG_NOSUB);
}

struct survey_scope *survey_scope_new(const struct survey_scope_config *config)
{
	struct survey_scope *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->config = config;
	s->self = getpid();
	if (!survey_scope_compile(config->comm, &s->comm)) {
		free(s);
		return NULL;
	}
	if (!survey_scope_compile(config->exclude, &s->exclude)) {
		if (config->comm)
			regfree(&s->comm);
		free(s);
		return NULL;
	}
	return s;
}

void survey_scope_free(struct survey_scope *s)
{
	if (!s)
		return;
	if (s->config->comm)
		regfree(&s->comm);
	if (s->config->exclude)
		regfree(&s->exclude);
	free(s);
}

/* "/a" holds "/a" and "/a/b", not "/ab". */
static bool survey_scope_is_below(const char *path, const char *group)
{
	size_t len = strlen(group);

	while (len > 1 && group[len - 1] == '/')
		len--;
	if (len == 1 && *group == '/')
		return *path == '/';
	return !strncmp(path, group, len) && (path[len] == '\0' || path[len] == '/');
}

static bool survey_scope_in_container(const struct survey_process *p, const char *wanted)
{
	if (!p->cgroup.container[0])
		return false;
	return !strcmp(p->container, wanted) ||
	       !strncmp(p->cgroup.container, wanted, strlen(wanted));
}

bool survey_scope_has(const struct survey_scope *s, const struct history_process *process,
		      const struct survey_process *data)
{
	const struct survey_scope_config *o = s->config;
	const struct process_sample *p = &process->now;

	return p->pid != s->self && (o->user == (uid_t)-1 || p->uid == o->user) &&
	       (!o->comm || !regexec(&s->comm, p->comm, 0, NULL, 0)) &&
	       (!o->exclude || regexec(&s->exclude, p->comm, 0, NULL, 0)) &&
	       (!o->cgroup || survey_scope_is_below(data->cgroup.path, o->cgroup) ||
		survey_scope_is_below(data->cgroup.memory, o->cgroup)) &&
	       (!o->container || survey_scope_in_container(data, o->container));
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/look/survey_scope.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/util.h"

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

char *survey_scope_text(char buf[static SURVEY_SCOPE_TEXT_MAX],
			const struct survey_scope_config *config)
{
	char user[16] = "";
	const struct {
		const char *option, *value;
	} parts[] = {
		{"--cgroup", config->cgroup}, {"--container", config->container},
		{"--unit", config->unit},     {"--user", config->user != (uid_t)-1 ? user : NULL},
		{"--comm", config->comm},     {"--exclude", config->exclude},
	};
	size_t used = 0;

	snprintf(user, sizeof(user), "%u", (unsigned)config->user);
	*buf = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(parts) && used < SURVEY_SCOPE_TEXT_MAX; i++) {
		if (parts[i].value)
			used += (size_t)snprintf(buf + used, SURVEY_SCOPE_TEXT_MAX - used,
						 "%s%s %s", used ? " " : "", parts[i].option,
						 parts[i].value);
	}
	return buf;
}

bool survey_scope_has(const struct survey_scope *s, const struct history_process *process,
		      const struct survey_process *data)
{
	const struct survey_scope_config *o = s->config;
	const struct process_sample *p = &process->now;

	return p->pid != s->self && (o->user == (uid_t)-1 || p->uid == o->user) &&
	       (!o->comm || !regexec(&s->comm, p->comm, 0, NULL, 0)) &&
	       (!o->exclude || regexec(&s->exclude, p->comm, 0, NULL, 0)) &&
	       (!o->cgroup || cgroup_is_below(data->cgroup.path, o->cgroup) ||
		cgroup_is_below(data->cgroup.memory, o->cgroup)) &&
	       (!o->container ||
		cgroup_in_container(&data->cgroup, data->container.name, o->container)) &&
	       (!o->unit || cgroup_in_unit(&data->cgroup, o->unit));
}

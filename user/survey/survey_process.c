// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/survey/survey_process.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/survey/survey_result.h"

#define SHORT_ID 12 /* digits of a container's id that people use */
/* A process is moved to its own control group soon after it has been forked. */
#define SETTLED_SAMPLES 3

void survey_process_free(void *user_data)
{
	struct survey_process *p = user_data;

	survey_result_clear(&p->drill);
	free(p);
}

static void identify(struct survey_process *p, const struct history_process *process)
{
	p->read_at = process->samples;
	/* One that has just ended keeps what is known of it. */
	if (cgroup_read(process->now.pid, &p->cgroup))
		return;
	p->container[0] = '\0';
	if (p->cgroup.container[0] &&
	    cgroup_container_name("", p->cgroup.container, p->container, sizeof(p->container)))
		snprintf(p->container, sizeof(p->container), "%.*s",
			 strcmp(p->cgroup.runtime, "lxc") != 0 ? SHORT_ID : 63,
			 p->cgroup.container);
}

struct survey_process *survey_process_of(struct history_process *process)
{
	struct survey_process *p = process->user_data;

	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			return NULL;
		process->user_data = p;
		identify(p, process);
	} else if (!process->ended && p->read_at < SETTLED_SAMPLES &&
		   process->samples >= SETTLED_SAMPLES) {
		identify(p, process);
	}
	return p;
}

/* ---- scope -------------------------------------------------------------------------------- */

struct scope {
	const struct survey_config *config;
	regex_t comm, exclude;
	pid_t self;
};

/* The config has been checked: what fails here is memory. */
static bool compile(const char *text, regex_t *regex)
{
	return !text || !regcomp(regex, text, REG_EXTENDED | REG_NOSUB);
}

struct scope *scope_new(const struct survey_config *config)
{
	struct scope *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->config = config;
	s->self = getpid();
	if (!compile(config->scope.comm, &s->comm)) {
		free(s);
		return NULL;
	}
	if (!compile(config->scope.exclude, &s->exclude)) {
		if (config->scope.comm)
			regfree(&s->comm);
		free(s);
		return NULL;
	}
	return s;
}

void scope_free(struct scope *s)
{
	if (!s)
		return;
	if (s->config->scope.comm)
		regfree(&s->comm);
	if (s->config->scope.exclude)
		regfree(&s->exclude);
	free(s);
}

/* "/a" holds "/a" and "/a/b", not "/ab". */
static bool is_below(const char *path, const char *group)
{
	size_t len = strlen(group);

	while (len > 1 && group[len - 1] == '/')
		len--;
	if (len == 1 && *group == '/')
		return *path == '/';
	return !strncmp(path, group, len) && (path[len] == '\0' || path[len] == '/');
}

static bool in_container(const struct survey_process *p, const char *wanted)
{
	if (!p->cgroup.container[0])
		return false;
	return !strcmp(p->container, wanted) ||
	       !strncmp(p->cgroup.container, wanted, strlen(wanted));
}

bool scope_has(const struct scope *s, const struct history_process *process,
	       const struct survey_process *data)
{
	const struct survey_config *o = s->config;
	const struct process_sample *p = &process->now;

	return p->pid != s->self && (o->scope.user == (uid_t)-1 || p->uid == o->scope.user) &&
	       (!o->scope.comm || !regexec(&s->comm, p->comm, 0, NULL, 0)) &&
	       (!o->scope.exclude || regexec(&s->exclude, p->comm, 0, NULL, 0)) &&
	       (!o->scope.cgroup || is_below(data->cgroup.path, o->scope.cgroup) ||
		is_below(data->cgroup.memory, o->scope.cgroup)) &&
	       (!o->scope.container || in_container(data, o->scope.container));
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/look/survey_process.h"

#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/look/survey_result.h"

#define SHORT_ID 12 /* digits of a container's id that people use */
/* A process is moved to its own control group soon after it has been forked. */
#define SETTLED_SAMPLES 3

void survey_process_free(void *user_data)
{
	struct survey_process *p = user_data;

	survey_result_clear(&p->drill);
	free(p->bad_accesses);
	free(p);
}

static void survey_process_identify(struct survey_process *p, const struct history_process *process)
{
	p->read_at = process->samples;
	/* One that has just ended keeps what is known of it. */
	if (cgroup_read(process->now.pid, &p->cgroup))
		return;
	p->named = !p->cgroup.container[0] ||
		   !container_name_find("", p->cgroup.container, &p->container);
	if (p->named)
		return;
	p->container = (struct container_name){0};
	p->named = !strcmp(p->cgroup.runtime, "lxc");
	snprintf(p->container.name, sizeof(p->container.name), "%.*s", p->named ? 63 : SHORT_ID,
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
		survey_process_identify(p, process);
	} else if (!process->ended && p->read_at < SETTLED_SAMPLES &&
		   process->samples >= SETTLED_SAMPLES) {
		survey_process_identify(p, process);
	}
	return p;
}

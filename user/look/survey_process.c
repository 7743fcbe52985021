// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/look/survey_process.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/process/memory.h"
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

/* The control group's, or the machine's. */
static double survey_process_left(struct history_process *process)
{
	struct survey_process *data = survey_process_of(process);
	struct cgroup_memory group;
	double left = INFINITY;
	uint64_t machine;

	if (data && !cgroup_memory_left(&data->cgroup, &group))
		left = (double)group.left;
	if (!machine_memory_left(&machine))
		left = fmin(left, (double)machine);
	return left;
}

/* FNV-1a (Fowler, Noll and Vo), with the text's end. */
static uint64_t survey_process_hash(uint64_t hash, const char *text)
{
	do {
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
	} while (*text++);
	return hash;
}

/* The same program of the same unit, or of a container of the same name. Of a container without one it is not known. */
static uint64_t survey_process_lineage(struct history_process *process)
{
	const struct survey_process *data = survey_process_of(process);
	uint64_t hash = 0xcbf29ce484222325ull ^ process->now.uid;

	if (!data || (data->cgroup.container[0] && !data->named))
		return 0;
	hash = survey_process_hash(hash, process->now.comm);
	hash = survey_process_hash(hash, data->container.name);
	return survey_process_hash(hash, data->container.name[0] ? "" : data->cgroup.unit);
}

const struct history_hooks survey_process_hooks = {
	.release = survey_process_free,
	.left = survey_process_left,
	.lineage = survey_process_lineage,
};

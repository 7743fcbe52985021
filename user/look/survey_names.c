// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/look/survey_names.h"

#include <stdlib.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/process/container_list.h"
#include "user/look/survey_process.h"

#define WAIT_NS	 NS_PER_S
#define PAUSE_NS (10 * NS_PER_S)
#define FAULT_NS NS_PER_MIN

struct survey_names {
	const char *socket;
	struct container_list *list; /* NULL: nothing has been answered yet */
	uint64_t next_ns;	     /* CLOCK_MONOTONIC; not asked before */
	bool failed;		     /* the last time */
};

struct survey_names *survey_names_new(const char *socket)
{
	struct survey_names *names = calloc(1, sizeof(*names));

	if (names)
		names->socket = socket;
	return names;
}

void survey_names_free(struct survey_names *names)
{
	if (names)
		container_list_free(names->list);
	free(names);
}

static void names_ask(struct survey_names *names)
{
	struct container_list *list;
	int err = container_list_ask(names->socket, WAIT_NS, &list);

	if (err) {
		if (!names->failed)
			log_warn("no names of containers from %s: %s", names->socket,
				 strerror(-err));
	} else {
		container_list_free(names->list);
		names->list = list;
		log_debug("%s names %zu containers", names->socket, container_list_count(list));
	}
	names->failed = err != 0;
	names->next_ns = monotonic_ns() + (err ? FAULT_NS : PAUSE_NS);
}

/* False: there are some that the list does not have. */
static bool names_give(struct survey_names *names, struct history_process *const *processes,
		       size_t count)
{
	bool all = true;

	for (size_t i = 0; i < count; i++) {
		struct survey_process *p =
			processes[i]->ended ? NULL : survey_process_of(processes[i]);
		const struct container_name *name;

		if (!p || p->named)
			continue;
		name = container_list_find(names->list, p->cgroup.container);
		p->named = name != NULL;
		if (name)
			p->container = *name;
		all = all && name;
	}
	return all;
}

void survey_names_tick(struct survey_names *names, struct history *history)
{
	size_t count;
	struct history_process *const *processes = history_ranked(history, &count);

	if (names_give(names, processes, count) || monotonic_ns() < names->next_ns)
		return;
	names_ask(names);
	names_give(names, processes, count);
}

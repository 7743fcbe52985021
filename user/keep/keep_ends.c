// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/keep/keep_ends.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/keep/keep_figures.h"

/* So far back Prometheus looks for a value: who scrapes at all has come by once in that time. */
#define TOLD_NS (300 * NS_PER_S)

/* A process that executes itself all the time is not to fill our memory. */
#define ENDS_MAX 1024

static void keep_ends_drop(struct keep_ends *ends, struct keep_end *end)
{
	DL_DELETE(ends->list, end);
	ends->count--;
	survey_process_free(end->data);
	free(end);
}

static struct keep_end *keep_end_new(const struct process_sample *sample,
				     const struct survey_process *data)
{
	const struct survey_kept *kept = &data->kept;
	struct survey_process *copy = calloc(1, sizeof(*copy));
	struct keep_end *end = calloc(1, sizeof(*end));

	if (copy)
		copy->bad_accesses =
			calloc(kept->bad_access_count + 1, sizeof(*copy->bad_accesses));
	if (!end || !copy || !copy->bad_accesses) {
		if (copy)
			survey_process_free(copy);
		free(end);
		return NULL;
	}
	copy->cgroup = data->cgroup;
	copy->container = data->container;
	copy->kept = *kept;
	copy->kept.bad_accesses = copy->bad_accesses;
	copy->kept_last = true;
	if (kept->bad_access_count)
		memcpy(copy->bad_accesses, kept->bad_accesses,
		       kept->bad_access_count * sizeof(*copy->bad_accesses));
	end->sample = *sample;
	end->data = copy;
	return end;
}

/* Somebody's has to go. */
static void keep_ends_make_room(struct keep_ends *ends)
{
	if (ends->count < ENDS_MAX)
		return;
	if (!ends->list->prev->told && !ends->told_full)
		log_warn("more than %d programs with bad accesses have ended between two looks: of "
			 "some they are counted only",
			 ENDS_MAX);
	ends->told_full |= !ends->list->prev->told;
	keep_ends_drop(ends, ends->list->prev);
}

bool keep_ends_count(struct keep_ends *ends, struct survey_process *data)
{
	if (data->kept_counted || !guard_figures_bad(&data->kept.guards))
		return false;
	for (int i = 0; i < MISUSE_GUARDED_KINDS; i++)
		ends->bad_accesses[i] += data->kept.guards.bad_accesses[i];
	data->kept_counted = true;
	return true;
}

void keep_ends_add(struct keep_ends *ends, const struct process_sample *sample,
		   struct survey_process *data, bool replaced, uint64_t now_ns)
{
	struct keep_end *end;

	if (!keep_ends_count(ends, data))
		return;
	end = keep_end_new(sample, data);
	if (!end) {
		log_warn("out of memory: the bad accesses of process %d, which has ended, are "
			 "counted only",
			 (int)sample->pid);
		return;
	}
	keep_ends_make_room(ends);
	end->replaced = replaced;
	/* The process's own row tells it. */
	end->told = !replaced;
	end->ended_ns = now_ns;
	DL_PREPEND(ends->list, end);
	ends->count++;
}

void keep_ends_sweep(struct keep_ends *ends, uint64_t now_ns)
{
	struct keep_end *next;

	for (struct keep_end *end = ends->list; end; end = next) {
		next = end->next;
		if (end->told && now_ns - end->ended_ns >= TOLD_NS)
			keep_ends_drop(ends, end);
	}
}

void keep_ends_clear(struct keep_ends *ends)
{
	while (ends->list)
		keep_ends_drop(ends, ends->list);
}

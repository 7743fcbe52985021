// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/growth/growth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/growth/growth_maps.h"
#include "user/growth/growth_rule.h"
#include "user/model/snapshot.h"
#include "user/process/memory.h"

/* Between two looks at the mappings, in durations of a look. */
#define LOOK_REST 20

struct growth_watch {
	uint64_t anon; /* bytes, resident or swapped out */
	struct space_seen space;
	struct growth_maps *maps; /* NULL: unknown */
	uint64_t looked_ns, look_ns;
	bool matters; /* the last look found that the growth matters, */
	char *where;  /* and where it is; NULL: nowhere that can be named */
};

struct growth_watch *growth_watch_new(pid_t pid, enum growth_from from)
{
	struct growth_watch *w = calloc(1, sizeof(*w));
	struct proc_usage usage = {0};

	if (!w)
		return NULL;
	if (from != GROWTH_NEW && proc_usage(pid, &usage)) {
		free(w);
		return NULL;
	}
	w->anon = usage.anon + usage.swap;
	w->space = (struct space_seen){usage.size, usage.rss + usage.swap, usage.threads};
	if (from == GROWTH_NEW)
		w->maps = growth_maps_none();
	else if (from == GROWTH_ATTACHED)
		w->maps = growth_maps_read(pid);
	return w;
}

void growth_watch_free(struct growth_watch *w)
{
	if (!w)
		return;
	growth_maps_free(w->maps);
	free(w->where);
	free(w);
}

static void growth_look(struct growth_watch *w, const struct growth_process *process,
			struct snapshot *s)
{
	struct growth_seen seen = {.anon = s->growth.anon};
	uint64_t start = monotonic_ns();
	char *where = NULL;

	if (start - w->looked_ns < LOOK_REST * w->look_ns)
		return;
	if (w->maps &&
	    !growth_maps_look(w->maps, process->pid, seen.anon, &seen.files, &seen.elsewhere,
			      &where) &&
	    !process->is_glibc(process->ctx))
		seen.elsewhere = 0;
	free(w->where);
	w->where = where;
	w->matters = growth_beyond_live(s, &seen) != 0;
	w->looked_ns = monotonic_ns();
	w->look_ns = w->looked_ns - start;
	log_debug("growth of %d: looked at its mappings in %.1f ms", (int)process->pid,
		  (double)w->look_ns / NS_PER_MS);
}

static void growth_judge(struct growth_watch *w, const struct growth_process *process,
			 struct snapshot *s)
{
	s->growth.mmap_traced = process->mmap_traced;
	if (process->blind || !growth_is_suspect(s, s->growth.anon))
		return;
	/* A process that has ended has no mappings: what the last look found still holds. */
	if (!process->ended)
		growth_look(w, process, s);
	else if (!w->looked_ns)
		w->matters = growth_beyond_live(s, &(struct growth_seen){.anon = s->growth.anon});
	if (!w->matters)
		return;
	s->growth.untraced = s->growth.anon > s->live.bytes ? s->growth.anon - s->live.bytes : 0;
	s->growth.where = w->where ? strdup(w->where) : NULL;
}

/* A new program first maps its libraries: its addresses count from its first snapshot on. */
static void growth_look_at_space(struct growth_watch *w, const struct proc_usage *usage,
				 struct growth *growth)
{
	const struct space_seen now = {usage->size, usage->rss + usage->swap, usage->threads};

	if (!w->space.size)
		w->space = now;
	growth_of_space(growth, &w->space, &now);
}

void growth_read(struct growth_watch *w, const struct growth_process *process, struct snapshot *s)
{
	uint64_t anon = process->end_anon;
	struct proc_usage usage;

	if (!process->ended) {
		if (proc_usage(process->pid, &usage))
			return;
		s->memory.rss = usage.rss;
		s->memory.anon = usage.anon;
		anon = usage.anon + usage.swap;
		if (w)
			growth_look_at_space(w, &usage, &s->growth);
	}
	if (!w || anon <= w->anon)
		return;
	s->growth.anon = anon - w->anon;
	growth_judge(w, process, s);
}

void growth_hand_on(struct snapshot *from, struct snapshot *to)
{
	to->memory = from->memory;
	to->heaps = from->heaps;
	to->growth = from->growth;
	from->growth.where = NULL;
}

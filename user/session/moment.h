/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One snapshot of each process of a recording: a side of what `memleakbpf diff` compares. */
#ifndef MEMLEAKBPF_SESSION_MOMENT_H
#define MEMLEAKBPF_SESSION_MOMENT_H

#include "user/analysis/diff.h"
#include "user/analysis/suppress.h"
#include "user/model/id_map.h"
#include "user/session/source_recording.h"

struct moment {
	struct source_recording *recording; /* which the names belong to */
	struct report **reports;
	size_t count;
	/* of a recording of inspect: what it is of, and the names of the snapshots made of them */
	struct inspection **inspections;
	struct inspected_stacks **inspected;
	size_t inspection_count;
	bool surveyed;	    /* of a survey: what it keeps, which has its bad accesses only */
	uint64_t survey_ns; /* of its last report */
	uint64_t first_ns;  /* when the first snapshot of all was taken */
	struct replay_config by_name; /* what moment_read_alike() asked for */
	char (*names)[17];
	struct id_map programs; /* of a survey: by pid, the place of its program's report */
};

/*
 * The snapshots nearest to the time of that option, --from or --to, which is said; without one, the
 * last of the whole recording. With `first`, the first ones. What became another program is left out,
 * but for its bad accesses: it has no memory any more that could be compared. 0 or -errno, logged;
 * moment_release() in either case.
 */
int moment_read(struct moment *moment, const char *path, const struct replay_config *config,
		const char *option, bool first);

/*
 * Where -p names no process of this recording, but some of the other one (`like`): of a program that
 * has been restarted in between. Reads it anew, those processes that have the names of the other's.
 * As moment_read().
 */
int moment_read_alike(struct moment *moment, const char *path, const struct replay_config *config,
		      const char *option, const struct moment *like);

/* Adds all of it to one side, but for what is suppressed. `s` may be NULL. 0 or -ENOMEM. */
int moment_compare(struct moment *moment, const struct filter_config *filter,
		   struct suppressions *s, struct diff *diff, bool is_new);

void moment_release(struct moment *moment);

#endif

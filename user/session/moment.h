/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One snapshot of each process of a recording: one side of a comparison by `memleakbpf diff`. */
#ifndef MEMLEAKBPF_SESSION_MOMENT_H
#define MEMLEAKBPF_SESSION_MOMENT_H

#include "user/analysis/diff.h"
#include "user/analysis/suppress.h"
#include "user/model/id_map.h"
#include "user/session/source_recording.h"

struct moment {
	struct source_recording *recording; /* owns the names */
	struct report **reports;
	size_t count;
	/*
	 * of a recording of inspect: its inspections, and the names of the snapshots made of them
	 */
	struct inspection **inspections;
	struct inspected_stacks **inspected;
	size_t inspection_count;
	bool surveyed;	    /* of a survey: its kept processes, which only have bad accesses */
	uint64_t survey_ns; /* of its last report */
	uint64_t first_ns;  /* when the first snapshot of all was taken */
	struct replay_config by_name; /* the request of moment_read_alike() */
	char (*names)[17];
	struct id_map programs; /* of a survey: by pid, the index of its program's report */
};

/*
 * Takes the snapshots nearest to the time of that option, --from or --to, and says so. Without a
 * time, the last ones of the whole recording; with `first`, the first ones. A process that became
 * another program is left out, but for its bad accesses: it has no memory any more that could be
 * compared. 0 or -errno, logged; moment_release() in either case.
 */
int moment_read(struct moment *moment, const char *path, const struct replay_config *config,
		const char *option, bool first);

/*
 * For a program that was restarted in between: -p names no process of this recording, but some of
 * the other one (`like`). Reads it anew, and takes the processes with the same names as the
 * other's. Returns as moment_read().
 */
int moment_read_alike(struct moment *moment, const char *path, const struct replay_config *config,
		      const char *option, const struct moment *like);

/* Adds all of it to one side, without suppressed parts. `s` may be NULL. 0 or -ENOMEM. */
int moment_compare(struct moment *moment, const struct filter_config *filter,
		   struct suppressions *s, struct diff *diff, bool is_new);

void moment_release(struct moment *moment);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the survey keeps of a process beside its history: whose it is, and what probes have found.
 */
#ifndef MEMLEAKBPF_LOOK_SURVEY_PROCESS_H
#define MEMLEAKBPF_LOOK_SURVEY_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "user/look/history.h"
#include "user/model/survey_report.h"
#include "user/process/cgroup.h"
#include "user/process/container_name.h"

struct survey_process {
	struct cgroup cgroup;
	struct container_name container; /* or as much of its id as people use; "" none */
	bool named;			 /* that is all there is to be known */
	uint64_t read_at; /* history_process.samples when the control group was read */

	struct survey_kept kept;     /* with kept_named or kept_last */
	bool kept_named;	     /* a filter of --keep names it */
	bool kept_last;		     /* kept has what it had done when it ended or was given up */
	bool kept_counted;	     /* with kept_last: its end has been noted (keep_ends.h) */
	struct misuse *bad_accesses; /* of kept */
	struct survey_drill drill;
	bool drilled;		/* drill says something */
	bool refused;		/* cannot have probes */
	bool shown;		/* was in the last report */
	bool told;		/* its last line has been printed */
	uint64_t drilled_ns;	/* CLOCK_MONOTONIC of the last window's end; 0: none yet */
	uint64_t bytes_at_open; /* anon + swap when the window opened */
};

/*
 * The survey's own data of a process, made when it is new; its control group is read then and once
 * more a little later. NULL: no memory.
 */
struct survey_process *survey_process_of(struct history_process *process);

void survey_process_free(void *user_data);

/* What a history is to know of them. */
extern const struct history_hooks survey_process_hooks;

#endif

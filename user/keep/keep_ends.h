/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs that were kept, have done what they should not, and have ended: with their processes, or since these have
 * become other programs. Of the former the history has a row of its own; the metrics have both for some minutes.
 */
#ifndef MEMLEAKBPF_KEEP_KEEP_ENDS_H
#define MEMLEAKBPF_KEEP_KEEP_ENDS_H

#include <stdbool.h>
#include <stdint.h>

#include "user/model/process_sample.h"
#include "user/look/survey_process.h"

struct keep_end {
	struct process_sample sample; /* as it was at the last look */
	struct survey_process *data;  /* whose it was, and kept: what it had done */
	bool replaced;		      /* its process has become another program */
	bool told;		      /* its row has been printed */
	uint64_t ended_ns;	      /* CLOCK_MONOTONIC */
	struct keep_end *prev, *next; /* utlist: the latest first */
};

struct keep_ends {
	struct keep_end *list;
	size_t count;
	uint64_t bad_accesses[MISUSE_GUARDED_KINDS]; /* of all that have ended so far */
	bool told_full;
};

/*
 * What it had shown is told by nobody else from now on: into the sum, once, until that is forgotten (keep_figures_forget()).
 * False: that has been done, or it has shown nothing.
 */
bool keep_ends_count(struct keep_ends *ends, struct survey_process *data);

/* The same; and copies what is known of it. Without memory it is counted only. */
void keep_ends_add(struct keep_ends *ends, const struct process_sample *sample,
		   struct survey_process *data, bool replaced, uint64_t now_ns);

/* Forgets what has been told for long enough. */
void keep_ends_sweep(struct keep_ends *ends, uint64_t now_ns);

void keep_ends_clear(struct keep_ends *ends);

#endif

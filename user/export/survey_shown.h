/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a survey's text has shown of each process, so that it is not shown again at every look. Private to user/export. */
#ifndef MEMLEAKBPF_EXPORT_SURVEY_SHOWN_H
#define MEMLEAKBPF_EXPORT_SURVEY_SHOWN_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "user/export/export.h"

struct survey_shown;

struct survey_shown *survey_shown_new(void);	    /* NULL when out of memory */
void survey_shown_free(struct survey_shown *shown); /* NULL is fine */

/* At most `max` stacks of those that probes have found. */
void survey_put_stacks(FILE *out, const struct export_options *options,
		       const struct survey_drill *drill, size_t max);

/*
 * Notes the text about a process, as of now. Returns since when it has been the same (ns since the epoch);
 * 0: it has changed, or was not there before, or there is no memory to tell.
 */
uint64_t survey_shown_note(struct survey_shown *shown, pid_t pid, const char *text, uint64_t now);

#endif

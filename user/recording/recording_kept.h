/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a survey knows of a process that it keeps (--keep): its samples, its guards, and what these have shown. Written
 * again by what has changed. docs/recording-format.md has the format. Private to user/recording.
 */
#ifndef MEMLEAKBPF_RECORDING_RECORDING_KEPT_H
#define MEMLEAKBPF_RECORDING_RECORDING_KEPT_H

#include <stdbool.h>
#include <stdint.h>

#include "user/model/survey_report.h"
#include "user/recording/recording_misuse.h"

/* As the file has it last. All zero: the file says nothing of it. */
struct recorded_kept {
	uint64_t process; /* its number */
	bool named;	  /* it is one of those that are to be kept */
	/* writer: its numbers and flags only, what they point to may be gone */
	struct survey_kept kept;
	uint32_t reason, guard_reason; /* numbers of strings, 0: none */
	struct recorded_misuses bad_accesses;
	/* reader: kept's bad accesses are owned, and what has been read: a report may have it often */
	bool read, filled;
};

void recorded_kept_free(struct recorded_kept *r); /* all zero afterwards */

/*
 * Adds what is new of the process of that number, which is described already. `kept`: NULL where
 * nothing is to be kept of it. 0 or -errno.
 */
int recording_put_kept(struct recording_out *out, uint32_t process, struct recorded_kept *r,
		       const struct survey_kept *kept);

/* Takes in a message of it, or of a bad access of its. 0, -ENOMEM or recording_refuse(). */
int recording_take_kept(struct recording_in *in, struct recorded_kept *r,
			struct wire_reader message);
int recording_take_kept_bad_access(struct recording_in *in, struct recorded_kept *r,
				   struct wire_reader message);

/* *out: what is known of it at the end of a report, r's own; NULL: it is none of them. 0 or -ENOMEM. */
int recording_fill_kept(const struct recording_in *in, struct recorded_kept *r,
			const struct survey_kept **out);

extern const struct field recording_kept_fields[];

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Since when the processes of a recorded survey grow, and until when: written again by what has
 * changed. docs/recording-format.md has the format. Private to user/recording.
 */
#ifndef MEMLEAKBPF_RECORDING_RECORDING_GROWTH_H
#define MEMLEAKBPF_RECORDING_RECORDING_GROWTH_H

#include <stdint.h>

#include "user/model/survey_report.h"

/* In the order in which they are stored. */
enum growth_value {
	GV_FLAGS, /* the state, and whether it is since the start */
	GV_SINCE, /* in ms, as GV_UNTIL */
	GV_UNTIL,
	GV_LEVEL_BEFORE,
	GV_STEPS,
	GV_LIMIT,
	/* bytes, pace, room used, where it levels off: the bits of each */
	GV_DOUBLES,
	GROWTH_VALUES = GV_DOUBLES + 4,
};

/* Of one process, as the file has it last. All begin at 0. */
struct recorded_growth {
	uint64_t values[GROWTH_VALUES];
};

struct wire;
struct recording_in;
struct wire_reader;

/* What has changed of a row's, as a bit for each value; 0: nothing. */
uint64_t recording_growth_changes(const struct recorded_growth *last, const struct survey_row *row);

/* Writes these. */
void recording_put_growth(struct wire *to, struct recorded_growth *last,
			  const struct survey_row *row, uint64_t changes);

/* 0 or recording_refuse(). */
int recording_take_growth(struct recording_in *in, struct wire_reader *body,
			  struct recorded_growth *growth);

void recording_fill_growth(const struct recorded_growth *growth, struct survey_row *row);

#endif

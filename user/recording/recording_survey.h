/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What writer and reader of a recorded survey agree on; docs/recording-format.md explains it.
 * Private to user/model.
 */
#ifndef MEMLEAKBPF_RECORDING_RECORDING_SURVEY_H
#define MEMLEAKBPF_RECORDING_RECORDING_SURVEY_H

#include <stdint.h>

#include "user/model/survey_report.h"

enum process_field {
	PROCESS_NUMBER = 1, /* from 0; given again when its process is not in the report any more */
	PROCESS_PID = 2,
	PROCESS_PPID = 3,
	PROCESS_UID = 4,
	PROCESS_START = 5,
	PROCESS_COMM = 6,
	PROCESS_TEXTS = 7,  /* … to 11: control group, unit, container, runtime, pod */
	PROCESS_FRESH = 12, /* 1: nothing of the process is known so far: its values begin at 0 */
};
#define PROCESS_TEXT_COUNT 5

enum survey_field {
	SURVEY_TIME_NS = 1,
	SURVEY_ELAPSED_NS = 2,
	SURVEY_FLAGS = 3, /* 1 final, 2 tool_share is known */
	SURVEY_SOURCE = 4,
	SURVEY_PROCESS_COUNT = 5,
	SURVEY_GROWING_COUNT = 6,
	SURVEY_WATCHED_COUNT = 7,
	SURVEY_TOOL_SHARE = 8, /* doubles */
	SURVEY_PROBE_SHARE = 9,
	SURVEY_BUDGET_SHARE = 10,
	SURVEY_SAMPLE_BYTES = 11,
	SURVEY_TOTALS = 12,
	SURVEY_LOST = 13,
	SURVEY_ORDER = 14, /* left out: as before */
};
enum survey_flag { SURVEY_FINAL = 1u << 0, SURVEY_TOOL_KNOWN = 1u << 1 };

enum drill_field {
	DRILL_PROCESS = 1,
	DRILL_COUNTED = 2, /* 1: the window's snapshot stands before */
	DRILL_OPEN = 3,
	DRILL_GROWN = 4,
	DRILL_WINDOW_NS = 5,
	DRILL_NOTE = 6,
	DRILL_SHOWN = 7, /* rows of the snapshot, the best first */
};

/* The numbers of a process, in the order in which they are stored. */
enum process_value {
	PV_ANON,
	PV_SWAP,
	PV_SHMEM,
	PV_THREADS,
	PV_SAMPLES,
	PV_CHILDREN_EXITED,
	PV_CHILDREN_PEAK,
	PV_LOW_THEN,
	PV_LOW_NOW,
	PV_FLAGS,
	PV_REASON, /* number of a string */
	/* growth, its low and high end, seconds to the limit, sparkline: the bits of each */
	PV_DOUBLES,
	PV_SPARK = PV_DOUBLES + 4,
	PROCESS_VALUES = PV_SPARK + SURVEY_SPARK,
};

/*
 * No double is further from zero (bytes, bytes a second, seconds): times 3,600 it still is an
 * integer.
 */
#define PROCESS_MAX_DOUBLE 1e15

/* PV_FLAGS: the trend's kind, then these, then how many values the sparkline has. */
enum process_flag {
	PF_KIND = 0xf,
	PF_LEAKING = 1u << 4,
	PF_GROWTH_KNOWN = 1u << 5,
	PF_ERROR_KNOWN = 1u << 6,
	PF_OF_CHILDREN = 1u << 7,
	PF_ENDED = 1u << 8,
	PF_LIMIT_KNOWN = 1u << 9,
	PF_SPARK_SHIFT = 12,
};

static inline uint64_t expected_process_value(enum process_value value, uint64_t old)
{
	return value == PV_SAMPLES ? old + 1 : old;
}

#endif

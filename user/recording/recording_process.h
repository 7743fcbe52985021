/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The processes of a recorded survey: described once, and written again by what has changed.
 * docs/recording-format.md has the format. Private to user/recording.
 */
#ifndef MEMLEAKBPF_RECORDING_RECORDING_PROCESS_H
#define MEMLEAKBPF_RECORDING_RECORDING_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/id_map.h"
#include "user/model/survey_report.h"
#include "user/recording/recording_growth.h"
#include "user/recording/recording_kept.h"
#include "user/recording/recording_names.h"

#define PROCESS_TEXTS 6 /* control group, unit, container, runtime, pod, its name */

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

/* As the file has it last. */
struct written_process {
	pid_t pid;
	uint64_t start_ticks;
	uint64_t texts; /* a hash of its names */
	uint64_t values[PROCESS_VALUES];
	uint64_t rss;
	struct recorded_growth growth;
	uint64_t report;	   /* number of the last one that it was in */
	struct survey_drill drill; /* to compare with only: snapshot and stacks may be gone */
	uint64_t drill_time_ns;
	bool drilled;
	struct recorded_kept kept;
};

struct written_processes {
	struct written_process *items; /* by their numbers in the file */
	size_t count, room;
	struct id_map by_pid; /* of the last report */
};

void written_processes_free(struct written_processes *list);

/*
 * Describes what is new of the report's processes, and adds what has changed in them. *numbers: of
 * each row's process; report: its number, from 2. 0 or -errno.
 */
int recording_put_processes(struct recording_out *out, struct written_processes *list,
			    const struct survey_report *report, uint64_t number, uint32_t *numbers);

/* What has been read of one. */
struct read_process {
	bool described, touched; /* touched: in the rows of the report being read */
	struct process_sample sample;
	char *texts[PROCESS_TEXTS]; /* NULL: none */
	uint64_t values[PROCESS_VALUES];
	uint64_t rss; /* bytes; 0: unknown */
	struct recorded_growth growth;
	const char *reason;
	bool drilled;
	struct survey_drill drill;
	struct recorded_kept kept;
};

struct read_processes {
	struct read_process *items; /* by their numbers in the file */
	size_t count;
};

#define PROCESSES_MAX (1u << 16) /* at a time; four times what a survey follows */

struct read_process *read_process_find(const struct read_processes *list, uint64_t number);
void read_process_forget_drill(struct read_process *p);
void read_processes_free(struct read_processes *list);

struct read_survey;

/* Each takes in a message of the survey. 0, -ENOMEM or recording_refuse(). */
int recording_take_process(struct recording_in *in, struct read_survey *v,
			   struct wire_reader message);
int recording_take_process_values(struct recording_in *in, struct read_survey *v,
				  struct wire_reader body);
int recording_take_process_rss(struct recording_in *in, struct read_survey *v,
			       struct wire_reader body);
int recording_take_process_growth(struct recording_in *in, struct read_survey *v,
				  struct wire_reader body);

/* A row of a report that the process is in. */
void recording_fill_process(struct read_process *p, struct survey_row *row);

extern const struct field recording_process_fields[];

#endif

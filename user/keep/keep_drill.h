/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Of a process that is sampled all the time and grows: where, as a window of probes tells it of others. */
#ifndef MEMLEAKBPF_KEEP_KEEP_DRILL_H
#define MEMLEAKBPF_KEEP_KEEP_DRILL_H

#include "user/model/frame_table.h"
#include "user/look/survey_process.h"
#include "user/look/survey_config.h"

struct trace;

struct keep_drills {
	const struct survey_config *config;
	struct frame_table *frames; /* outlives what is found */
	uint32_t count;		    /* so far: they have ids of their own */
};

/* Is it time for one? At most once in a window's time, and of what gets probes where it is not kept. */
bool keep_drill_is_due(const struct keep_drills *drills, const struct history_process *process,
		       const struct survey_process *data, uint64_t now_ns);

/* Takes it: data->drill. 0 or -errno. */
int keep_drill(struct keep_drills *drills, struct trace *trace, struct target *target,
	       const struct history_process *process, struct survey_process *data);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a survey is asked to do: as user/session/session_config.h. */
#ifndef MEMLEAKBPF_SURVEY_SURVEY_CONFIG_H
#define MEMLEAKBPF_SURVEY_SURVEY_CONFIG_H

#include <sys/socket.h>

#include "user/session/session_config.h"

/* Which processes. */
struct survey_scope {
	const char *cgroup;    /* path of a control group, with all below it; NULL: any */
	const char *container; /* beginning of an id, or a name; NULL: any */
	uid_t user;	       /* (uid_t)-1: any */
	const char *comm;      /* regular expressions (regex(7), extended), checked; NULL: any */
	const char *exclude;   /* NULL: none */
};

/* The probes on the most suspect. */
struct survey_probes {
	bool wanted;
	uint32_t suspects;   /* that get probes at a time */
	uint64_t min_growth; /* bytes per hour; slower ones get no probes */
	uint64_t window_ns;  /* for how long a suspect has them */
	uint32_t budget;     /* what they may cost, in thousandths of a CPU */
};

struct survey_metrics {
	bool wanted;
	struct sockaddr_storage address;
	uint32_t processes; /* with series of their own */
};

struct survey_config {
	struct pace_config pace;
	struct survey_scope scope;
	struct survey_probes probes;
	uint64_t sample_bytes;
	struct symbolizer_options symbols;
	struct survey_metrics metrics;
	const char *record; /* the file of a recording beside the output; NULL: none */
	struct show_config show;
};

#endif

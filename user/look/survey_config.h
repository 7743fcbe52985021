/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a survey is asked for: which processes, their probes, what is kept sampled, what is served.
 * The configs are as in user/session/session_config.h.
 */
#ifndef MEMLEAKBPF_LOOK_SURVEY_CONFIG_H
#define MEMLEAKBPF_LOOK_SURVEY_CONFIG_H

#include <sys/socket.h>

#include "user/session/session_config.h"

/* Which processes. */
struct survey_scope_config {
	const char *cgroup;    /* path of a control group, with all below it; NULL: any */
	const char *container; /* beginning of an id, or a name; NULL: any */
	const char *unit;      /* of systemd, with or without its kind; NULL: any */
	uid_t user;	       /* (uid_t)-1: any */
	const char *comm;      /* regular expressions (regex(7), extended), checked; NULL: any */
	const char *exclude;   /* NULL: none */
};

#define SURVEY_SUSPECTS_MAX 64

/* The probes on the most suspect. */
struct survey_probes_config {
	bool wanted;
	uint32_t suspects;   /* that get probes at a time; SURVEY_SUSPECTS_MAX at most */
	uint64_t min_growth; /* bytes per hour; slower ones get no probes */
	uint64_t window_ns;  /* for how long a suspect has them */
	uint32_t budget;     /* what they may cost, in thousandths of a CPU */
};

/* The processes that are sampled all the time, by gates. */
struct survey_keep_config {
	struct string_list
		filters; /* one of them is enough; checked with keep_filter_parse(); none: none is */
	uint64_t sample_bytes;	    /* in the mean, while the budget allows that */
	uint32_t rate;		    /* samples a second, of all together */
	uint32_t processes;	    /* at a time */
	uint32_t live, live_all;    /* samples that are live at a time, of one process and of all */
	uint32_t stacks;	    /* that can be told apart, of all */
	uint64_t memory;	    /* bytes that the tool may have, with processes that are kept */
	struct guard_options guard; /* of their blocks, beside the gate */
};

struct survey_metrics_config {
	bool wanted;
	struct sockaddr_storage address;
	const char *name;   /* by which it may be asked beside its address; NULL: none */
	uint32_t processes; /* with series of their own */
};

struct survey_profiles_config {
	bool wanted;
	struct sockaddr_storage address; /* that of the metrics: both are served there */
	const char *token_file;		 /* NULL: none is asked for */
};

/* Who looks at reports himself, in the survey's thread; then nothing is printed, and signals are his affair. */
struct survey_viewer {
	void *ctx;
	int asked; /* readable: on_asked is to be called */
	/*
	 * False: the survey is to end. *pid and *start_ticks name a process that is to get probes
	 * before all others, whether it grows or not, as often as the budget allows. pid 0: none.
	 */
	bool (*on_asked)(void *ctx, pid_t *pid, uint64_t *start_ticks);
	/* After each look, and after on_asked: all processes, the most suspect first; the survey's own. */
	void (*look)(void *ctx, const struct survey_report *report);
};

struct survey_config {
	struct pace_config pace;
	struct survey_scope_config scope;
	struct survey_probes_config probes;
	uint64_t sample_bytes;
	struct string_list scopes; /* checked with scope_spec_parse() */
	bool gate;		   /* in place of probes; mmap is not seen then */
	struct survey_keep_config keep;
	struct symbolizer_options symbols;
	struct survey_metrics_config metrics;
	const char *container_runtime; /* its socket; NULL: not asked */
	struct filter_config filter;   /* suppressions of bad accesses; nothing else is hidden */
	const char *record;	       /* the file of a recording beside the output; NULL: none */
	struct survey_profiles_config profiles;
	struct show_config show;
	const struct survey_viewer *viewer; /* NULL: reports are printed */
};

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One look of the survey: made by user/survey from the processes' history, printed by user/export.
 */
#ifndef MEMLEAKBPF_MODEL_SURVEY_REPORT_H
#define MEMLEAKBPF_MODEL_SURVEY_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/missing.h"
#include "user/model/process_sample.h"
#include "user/model/report.h"
#include "user/model/site.h"
#include "user/model/trend.h"

#define SURVEY_SPARK 8 /* values of a sparkline */

/* The probes' findings on one suspect: of the last window, or of the open one. */
struct survey_drill {
	bool open; /* probes are on now */
	/* about the process itself, or the child that held most; NULL: no findings */
	struct report *report;		  /* the shown stacks, at least, have their names */
	struct snapshot *snapshot;	  /* the report's: the survey fills it until it is shown */
	const struct stack *const *shown; /* best first */
	size_t shown_count;
	int64_t grown;	    /* bytes by which the process's memory grew meanwhile */
	uint64_t window_ns; /* for how long */
	const char *note;   /* what the numbers mean, or why there are none; NULL: nothing to add */
};

/* A process that is to be sampled all the time (--keep). */
struct survey_kept {
	bool sampled;	       /* it is */
	const char *reason;    /* why it is not sampled, a clause about it; NULL: it is */
	uint64_t since_ns;     /* for how long it has been */
	uint64_t live_bytes;   /* allocated since then, and not freed; an estimate, */
	double error_bytes;    /* with this standard error */
	uint64_t samples;      /* since then */
	uint64_t live_samples; /* whose blocks are live */
	struct guard_figures guards;
	struct misuse *bad_accesses; /* what these have shown, named; the first of them */
	size_t bad_access_count;
	size_t bad_accesses_left_out; /* further ones that are not suppressed */
	uint64_t
		/* how often suppressed ones were seen that are not listed */
		bad_accesses_suppressed_beside;
};

/* How often suppressed bad accesses were seen. */
static inline uint64_t survey_kept_suppressed(const struct survey_kept *kept)
{
	uint64_t count = kept->bad_accesses_suppressed_beside;

	for (size_t i = 0; i < kept->bad_access_count; i++)
		count += kept->bad_accesses[i].suppressed ? kept->bad_accesses[i].count : 0;
	return count;
}

enum survey_growth_state {
	GROWTH_NONE,
	GROWTH_KEPT,	/* grew, does not any more, and has not given it back */
	GROWTH_STEPS,	/* rose in jumps, and has not given that back */
	GROWTH_FILLING, /* grows ever slower */
	GROWTH_GOES_ON,
};

/* The growth that the trend is about: when it began, and where it leads. Its pace is the trend's. */
struct survey_growth {
	enum survey_growth_state state;
	/* CLOCK_REALTIME; of KEPT and STEPS: when it ended. STEPS have no beginning. */
	uint64_t since_ns, until_ns;
	bool since_start;	  /* since the process was first seen */
	uint64_t level_before_ns; /* how long it had been level; 0: it had not, or unknown */
	double bytes;		  /* since then */
	unsigned steps;		  /* of STEPS */
	double pace;		  /* lately, of what it was at first: below 1 it gets slower */
	double room_used;	  /* of what there was at its beginning, 0 to 1; 0: unknown */
	double levels_off_at;	  /* bytes, of anon + swap; 0: it does not */
};

struct survey_row {
	struct process_sample process;
	struct trend trend;
	bool of_children;	  /* the trend is of its children's memory before they exited */
	bool ended;		  /* has exited: its last line */
	uint64_t samples;	  /* intervals over which it has been seen */
	uint64_t children_exited; /* since the survey began */
	/* bytes: the largest resident set of one of them; 0: unknown */
	uint64_t children_peak;
	/* lowest anon + swap in the first and the last third of the watch, bytes */
	uint64_t low_then, low_now;
	const char *cgroup, *unit, *container, *runtime, *pod; /* NULL: none, or unknown */
	const char *pod_name; /* "NAMESPACE/POD"; NULL: none, or unknown */
	double spark[SURVEY_SPARK];
	size_t spark_count;
	bool limit_known;
	/* until the control group's or the machine's memory is used up, at this growth */
	double limit_s;
	uint64_t limit_bytes; /* of anon + swap, at which it is; with limit_known */
	struct survey_growth growth;
	const struct survey_drill *drill; /* NULL: not drilled */
	const struct survey_kept *kept;	  /* NULL: --keep does not name it */
};

/*
 * A process that ended before the look and was worth a word: it grew, or its guarded blocks had
 * shown something. Or several such processes of one name.
 */
struct survey_end {
	uint64_t time_ns; /* of its last look; for several, of the last one's */
	pid_t pid;	  /* for several, the last one's */
	char comm[16];
	char where[128]; /* its container, pod or unit, as far as there is room; "": unknown */
	size_t processes, growing, leaking; /* leaking ones are growing, too */
	double growth;			    /* bytes per second, of those that grew */
	uint64_t live_bytes;		    /* of those that are kept, as in struct survey_kept */
	uint64_t bad_accesses[MISUSE_GUARDED_KINDS],
		suppressed; /* how many of these are suppressed */
};

static inline uint64_t survey_end_bad(const struct survey_end *end)
{
	uint64_t count = 0;

	for (int i = 0; i < MISUSE_GUARDED_KINDS; i++)
		count += end->bad_accesses[i];
	return count;
}

/* All that --keep names. */
struct survey_keep_report {
	size_t sampled, left_out; /* processes */
	uint64_t samples;	  /* so far */
	double samples_per_s;	  /* between the last two looks */
	uint64_t live_samples;
	uint64_t sample_bytes;	     /* the mean now, coarsened to keep to the budget or not */
	uint64_t rate;		     /* the limit of samples a second */
	bool guards;		     /* --guard: of the processes that are sampled */
	size_t guarded, not_guarded; /* these have guards, and these cannot */
	/* how often those showed something that have ended, by kind */
	uint64_t ended_bad_accesses[MISUSE_GUARDED_KINDS];
};

/* What the survey itself has cost and missed since it began. */
struct survey_totals {
	uint64_t looks;
	uint64_t cpu_ns;     /* of the tool's own process */
	uint64_t resident;   /* bytes of it, 0: unknown */
	uint64_t probe_hits; /* of all probes so far */
	uint64_t probe_ns;   /* CPU time that they took, traps included */
	uint64_t lost[LOSSES_ROOM];
	uint64_t left_out;   /* processes that are not followed, for want of room */
	uint64_t exits_lost; /* parents whose children's exits could not be counted */
};

/* Processes in scope without a row: their number and the sums of their bytes. */
struct survey_rest {
	size_t count;
	uint64_t anon, swap, shmem;
};

struct survey_report {
	uint64_t time_ns;    /* CLOCK_REALTIME */
	uint64_t elapsed_ns; /* since the survey began */
	bool final;
	const char *source; /* "bpf" or "proc" */
	struct missing_parts
		missing; /* refused by the kernel: parts of the survey, and of the sampling */
	size_t process_count, growing_count;
	size_t watched_count; /* processes with probes on them now */
	bool tool_known;      /* the tool has run long enough for a share to mean something */
	double tool_share;    /* of one CPU: the tool's own time since the survey began */
	/* of one CPU: the probes' time over the last minute, traps included */
	double probe_share;
	double budget_share;
	uint64_t sample_bytes;	 /* of the probes */
	struct survey_row *rows; /* the most suspect first */
	size_t row_count;
	struct survey_rest rest;
	/* where earlier looks are not shown: the ends in them, the last one last */
	const struct survey_end *ends;
	size_t end_count, ends_left_out; /* left out: processes */
	struct survey_totals totals;
	const struct survey_keep_report *keep; /* NULL: without --keep */
	const struct site_rules *sites;	       /* NULL: none */
};

#endif

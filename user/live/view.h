/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The screen's contents, and its requests. The worker, who owns the trace, makes a view; it is
 * const from then on. A view owns all that it points to, so the screen may keep it as long as it
 * likes.
 */
#ifndef MEMLEAKBPF_LIVE_VIEW_H
#define MEMLEAKBPF_LIVE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/analysis/rank.h"
#include "user/model/amount.h"
#include "user/model/process_end.h"
#include "user/model/stack_figures.h"
#include "user/model/survey_report.h"
#include "user/model/trend.h"

/* ---- what is asked for -------------------------------------------------------------------- */

#define LIVE_FILTER_MAX 128

enum live_page {
	LIVE_PAGE_NONE,
	LIVE_PAGE_STACK, /* one stack, whole */
	LIVE_PAGE_INSPECTION,
	LIVE_PAGE_COST,
};

/* Plain data: copied from one thread to the other. */
struct live_request {
	unsigned sort;		      /* enum rank_by; for a survey enum survey_order */
	bool changes;		      /* sort by the change since the mark */
	bool paused;		      /* no new snapshots */
	char filter[LIVE_FILTER_MAX]; /* part of a name; "": all */
	size_t first, count;	      /* the wanted rows, best first */
	enum live_page page;
	uint64_t stack; /* LIVE_PAGE_STACK: its subject: live_row.id, live_process.id */
	unsigned cols;	/* for the page's text */
	/* how often each was asked for: one more than the last time is an order */
	unsigned marks, verdicts, inspections, saves;
	/* likewise: begin a recording or end it; change to the gate or to traps */
	unsigned recordings, switches;
};

bool live_request_same(const struct live_request *a, const struct live_request *b);

/* ---- what is shown ------------------------------------------------------------------------ */

struct live_row {
	uint64_t id; /* of the stack, or of the row of stacks */
	struct amount live;
	int64_t change;	    /* bytes since the mark */
	uint64_t oldest_ns; /* 0: unknown */
	struct trend trend;
	bool rate_known;
	uint64_t rate; /* bytes allocated a second, lately */
	uint64_t lost; /* bytes definitely and indirectly lost, at the last verdict */
	char *site;    /* the function that allocated; owned */
	char *where;   /* its file or module; NULL: unknown; owned */
	char *callers; /* " < main", of all its stacks; NULL: none; owned */
};

/* The order of a survey's processes. */
enum survey_order {
	SURVEY_BY_SUSPICION,
	SURVEY_BY_MEMORY,
	SURVEY_BY_RSS,
	SURVEY_BY_GROWTH,
	SURVEY_BY_LIMIT,
	SURVEY_BY_PID,
	SURVEY_BY_NAME,
	SURVEY_ORDERS,
};

/* A process of the survey. */
struct live_process {
	uint64_t id; /* of the pid and its start: live_process_id() */
	pid_t pid;
	char comm[16];
	char *where;	/* its container or unit; NULL: none; owned */
	uint64_t bytes; /* anonymous, resident and swapped out */
	uint64_t rss;	/* resident, files included; 0: unknown */
	struct trend trend;
	double spark[SURVEY_SPARK];
	size_t spark_count;
	bool ended;
	bool limit_known;
	double limit_s;	       /* until the memory is used up, at this growth */
	uint64_t grows_for_ns; /* 0: it does not */
	char full_at[24];      /* by the clock of this place; "" unknown */
	bool watched;	       /* probes are on it now */
	bool found;	       /* they were: Enter shows a page */
};

static inline uint64_t live_process_id(pid_t pid, uint64_t start_ticks)
{
	return start_ticks << 22 | (uint64_t)pid; /* the kernel has no larger pid */
}

static inline pid_t live_process_pid(uint64_t id)
{
	return (pid_t)(id & ((1u << 22) - 1));
}

static inline uint64_t live_process_start(uint64_t id)
{
	return id >> 22;
}

struct live_survey {
	size_t processes, growing, watched;
	bool tool_known;
	double probes, budget, tool; /* of one CPU */
};

struct live_cost {
	bool probes_known;
	double probes; /* of one CPU, lately, traps included */
	double hits;   /* of probes, a second */
	double tool;   /* of one CPU, of the tool itself */
};

enum live_state {
	LIVE_STARTING,
	LIVE_RUNNING,
	LIVE_EXITED,
	LIVE_EXECED, /* and its new program has not been attached to */
};

struct live_text {
	char **lines;
	size_t count;
};

struct live_view {
	struct live_request request; /* the request that it answers */
	enum live_state state;
	struct process_end end; /* LIVE_EXITED: how, as far as that is known */
	pid_t pid;
	char comm[16];
	uint64_t elapsed_ns;
	struct amount live;
	bool rates_known;
	uint64_t alloc_rate, free_rate; /* bytes a second */
	uint64_t rss;			/* bytes; 0: unknown */
	uint64_t untraced;     /* growth beside traced memory, bytes; 0: none that matters */
	uint64_t heaps;	       /* untraced ones of runtimes: 1 << enum untraced_heap */
	uint64_t lost;	       /* times that something could not be recorded */
	const char *lost_text; /* its most frequent cause; a static string */
	const char *attached;  /* "multi"; NULL: unknown; a static string */
	uint64_t sample_bytes;
	struct figures_kept figures; /* figures by which stacks can be ranked, beside their sums */
	struct live_cost cost;
	bool marked, judged, recording;
	uint64_t mark_age_ns, verdict_age_ns;
	uint64_t mark_live;   /* live bytes at the mark */
	uint64_t judged_lost; /* bytes definitely and indirectly lost at the last verdict */
	size_t stacks;	      /* all stacks of the process */
	size_t ranked;	      /* stacks in the list */
	bool searching;	      /* the filter has not looked at all names yet */
	unsigned searched;    /* percent that it has looked at */
	size_t first;	      /* index of rows[0] in the list */
	struct live_row *rows;
	struct live_process *processes; /* of a survey, in place of rows; row_count of them */
	struct live_survey survey;
	size_t row_count;
	struct live_text text; /* of request.page */
};

/* A list ends here: to see more, filter, or sort by something else. */
#define LIVE_LIST_MAX 10000

/* Makes a view with room for so many rows, or processes of a survey. NULL when out of memory. */
struct live_view *live_view_new(size_t rows, bool survey);
void live_view_free(struct live_view *view); /* NULL is fine */

/*
 * Takes a text apart into lines of at most `width` columns (0: any), in place of the old ones. A
 * longer line goes on in the next one, further in. 0 or -ENOMEM.
 */
int live_text_set(struct live_text *text, const char *from, unsigned width);
void live_text_release(struct live_text *text);

#endif

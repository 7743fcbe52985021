/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the screen shows, and what it asks for. A view is made by the worker, who owns the trace, and const from
 * then on; all that it points to is its own, so that the screen may keep it for as long as it likes.
 */
#ifndef MEMLEAKBPF_LIVE_VIEW_H
#define MEMLEAKBPF_LIVE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/analysis/rank.h"
#include "user/model/amount.h"
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
	unsigned sort;		      /* enum rank_by; of a survey enum survey_order */
	bool changes;		      /* by what has changed since the mark */
	bool paused;		      /* no new snapshots */
	char filter[LIVE_FILTER_MAX]; /* part of a name; "": all */
	size_t first, count;	      /* of the rows, best first, those that are wanted */
	enum live_page page;
	uint64_t stack; /* LIVE_PAGE_STACK: which, or whose: live_row.id, live_process.id */
	unsigned cols;	/* that the page's text may take */
	/* how often each has been asked for: one more than the last time is an order */
	unsigned marks, verdicts, inspections, saves;
	/* and these: begin a recording or end it; go over to the gate or to traps */
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
	uint64_t rate; /* bytes allocated a second, of late */
	uint64_t lost; /* bytes definitely and indirectly lost, at the last verdict */
	char *site;    /* the function that allocated; owned */
	char *where;   /* its file or module; NULL: unknown; owned */
	char *callers; /* " < main", of all its stacks; NULL: none; owned */
};

/* By what the processes of a survey are sorted. */
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
	uint64_t rss;	/* resident, of files as well; 0: unknown */
	struct trend trend;
	double spark[SURVEY_SPARK];
	size_t spark_count;
	bool ended;
	bool limit_known;
	double limit_s; /* until the memory is used up, at this growth */
	bool watched;	/* probes are on it now */
	bool found;	/* they have been: there is something at Enter */
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
	double probes; /* of one CPU, of late, traps included */
	double hits;   /* of probes, a second */
	double tool;   /* of one CPU, of the tool itself */
};

enum live_state {
	LIVE_STARTING,
	LIVE_RUNNING,
	LIVE_EXITED,
	LIVE_EXECED, /* and what it became has not been attached to */
};

struct live_text {
	char **lines;
	size_t count;
};

struct live_view {
	struct live_request request; /* that it answers */
	enum live_state state;
	pid_t pid;
	char comm[16];
	uint64_t elapsed_ns;
	struct amount live;
	bool rates_known;
	uint64_t alloc_rate, free_rate; /* bytes a second */
	uint64_t rss;			/* bytes; 0: unknown */
	uint64_t untraced;     /* growth beside what is traced, bytes; 0: none that matters */
	uint64_t heaps;	       /* of runtimes, which are not traced: 1 << enum untraced_heap */
	uint64_t lost;	       /* what could not be recorded: times */
	const char *lost_text; /* its most frequent cause; a static string */
	const char *attached;  /* "multi"; NULL: unknown; a static string */
	uint64_t sample_bytes;
	struct figures_kept figures; /* what stacks can be ranked by beside their sums */
	struct live_cost cost;
	bool marked, judged, recording;
	uint64_t mark_age_ns, verdict_age_ns;
	uint64_t mark_live;   /* bytes that were live when it was marked */
	uint64_t judged_lost; /* bytes definitely and indirectly lost at that verdict */
	size_t stacks;	      /* in the process, all of them */
	size_t ranked;	      /* that are in the list */
	bool searching;	      /* not all names have been looked at for the filter */
	unsigned searched;    /* percent that have */
	size_t first;	      /* number of rows[0] in the list */
	struct live_row *rows;
	struct live_process *processes; /* of a survey, in place of rows; row_count of them */
	struct live_survey survey;
	size_t row_count;
	struct live_text text; /* of request.page */
};

/* A list ends here: who wants more filters, or sorts by something else. */
#define LIVE_LIST_MAX 10000

/* With room for so many rows, or processes of a survey. NULL when out of memory. */
struct live_view *live_view_new(size_t rows, bool survey);
void live_view_free(struct live_view *view); /* NULL is fine */

/*
 * Takes a text apart into lines of at most `width` columns (0: any), in place of those that are there: what is longer
 * goes on in the next line, further in. 0 or -ENOMEM.
 */
int live_text_set(struct live_text *text, const char *from, unsigned width);
void live_text_release(struct live_text *text);

#endif

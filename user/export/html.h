/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the parts of the HTML exporter share: what is kept of the snapshots until the page is
 * written.
 */
#ifndef MEMLEAKBPF_EXPORT_HTML_H
#define MEMLEAKBPF_EXPORT_HTML_H

#include "user/base/json_writer.h"
#include "user/export/collect.h"

/* Totals of a target at one time. */
struct html_point {
	uint64_t time_ns; /* since the epoch, ascending */
	struct amount live, alloc;
	struct memory_use memory;
};

struct html_values {
	struct amount live, alloc;
};

/* What every stack had at one time; those that are newer than that are missing. */
struct html_moment {
	uint64_t number; /* of the snapshot, from 0 */
	uint64_t time_ns;
	struct html_values *values; /* by row */
	size_t count;
};

struct html_row {
	uint64_t id;
	uint32_t frames; /* of the frame table, 0: unknown */
	enum stack_end end;
	uint64_t oldest_ns;			/* age at the last snapshot, 0: unknown */
	struct amount verdict[VERDICT_CLASSES]; /* at the last snapshot, if its target has one */
	bool hidden;				/* at the last snapshot: not on the page */
	char *held_by;		       /* at the last snapshot: as in struct stack; owned */
	struct stack_figures *figures; /* likewise; owned */
	uint32_t scope;		       /* likewise: its place among the target's, from 1 */
};

struct html_misuse_call {
	const char *text; /* what it did */
	uint32_t frames;  /* as in struct html_row */
	enum stack_end end;
};

/* A misuse of the last snapshot. */
struct html_misuse {
	char *title;
	struct html_misuse_call calls[MISUSE_CALLS];
	int call_count;
};

struct html_misuse_list {
	struct html_misuse *items;
	size_t count;
	uint64_t suppressed;
};

struct html_target {
	uint32_t target_id;
	pid_t pid;
	char comm[17];
	char **cmdline; /* NULL: unknown */
	bool exited, execed, window;
	struct process_end end; /* with `exited` */
	uint64_t start_ns;	/* of tracing, since the epoch */
	uint64_t elapsed_ns;
	uint64_t sample_bytes, unknown_frees;
	struct amount live, free;  /* at the last snapshot */
	struct verdict verdict;	   /* of the last snapshot */
	struct findings *findings; /* likewise; owned, NULL: none */
	struct amount left_out;	   /* live blocks of hidden stacks */
	uint64_t left_out_stacks;
	uint64_t lost[LOSSES_ROOM];
	uint64_t snapshots;

	/* at the last snapshot */
	bool scoped;
	struct scopes_list scopes;
	struct figures_kept figures_kept;
	struct peak peak;

	struct html_misuse_list misuses[MISUSE_FINDERS];

	struct html_point *points;
	size_t point_count, point_room;
	uint64_t point_stride; /* snapshots from one kept point to the next */

	struct html_moment *moments;
	size_t moment_count, moment_room;
	size_t cells; /* values of all moments */
	uint64_t moment_stride;

	struct html_row *rows;
	size_t row_count, row_room;
	struct id_map row_of;	 /* stack id -> row */
	struct id_map frames_of; /* stack id -> frame table */
};

/* A process as the survey saw it. */
struct html_process {
	struct process_sample sample;
	struct trend trend;
	char *where; /* unit, container, pod or control group; NULL: none */
	bool ended, listed;
	uint64_t rank; /* in the last report, from 0 */
	/* anon + swap at each of the survey's times from that one on; UINT64_MAX: it was not there */
	uint64_t *values;
	size_t from, room;
	struct html_misuse_list bad_accesses; /* of the last report that it was kept in */
	uint64_t bad_left_out;		      /* further ones */
};

struct html_survey {
	uint64_t *times; /* ns since the epoch */
	size_t time_count, time_room;
	uint64_t stride, reports;
	struct html_process *processes;
	size_t process_count;
	struct id_map process_of; /* pid -> the last process with it */
	struct id_map windows;	  /* target ids of drills that have been taken */
};

struct html {
	struct exporter base;
	struct frame_table *table;
	struct html_target *targets; /* in the order in which they came */
	size_t target_count;
	struct id_map target_of; /* target id and pid -> the target */
	size_t cells;		 /* values of all targets' moments */
	struct html_survey survey;
	bool taken; /* something has come that is worth a page */
};

/* html_take.c: takes a snapshot in. 0 or -ENOMEM. */
int html_take(struct html *h, const struct report *r);
void html_target_release(struct html_target *t); /* what it holds */

/* html_survey.c: takes a report of a survey in. 0 or -ENOMEM. */
int html_take_survey(struct html *h, const struct survey_report *report);
void html_survey_release(struct html_survey *v);
void html_put_survey(struct json *to, const struct html_survey *v);

/* html_misuse.c: takes them in place of those that the list had. */
int html_take_misuses(struct html *h, struct html_misuse_list *list, const struct misuse *misuses,
		      size_t count);
void html_misuses_release(struct html_misuse_list *list);
void html_put_misuses(struct json *to, const struct html_misuse_list *list,
		      enum misuse_finder finder);

/* html_scopes.c: of the snapshot, and of a row; what the page has of them */
int html_take_scopes(struct html_target *t, const struct report *r);
int html_take_figures(struct html_row *row, const struct stack *stack);
void html_scopes_release(struct html_target *t);
void html_put_scopes(struct json *to, const struct html_target *t);
void html_put_figures(struct json *to, const struct html_target *t);

/* html_write.c: the whole page, as of now. 0 or -errno. */
int html_write(struct html *h);

/*
 * html_page.c: what stands before and after the data; nothing where the build had no page, and why
 * it had none, else NULL.
 */
extern const char *const html_page_before, *const html_page_after, *const html_page_why_not;

#endif

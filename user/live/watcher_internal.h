/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of the watcher. */
#ifndef MEMLEAKBPF_LIVE_WATCHER_INTERNAL_H
#define MEMLEAKBPF_LIVE_WATCHER_INTERNAL_H

#include "user/live/watcher.h"
#include "user/model/frame_table.h"
#include "user/model/id_map.h"
#include "user/blocks/block_ages.h"
#include "user/trace/cost.h"

/* The last verdict on a stack. */
struct judged_stack {
	struct amount classes[VERDICT_CLASSES];
	char *held_by; /* NULL: not looked for; owned */
};

struct judged {
	uint64_t time_ns; /* when; 0: there is no verdict */
	struct amount classes[VERDICT_CLASSES];
	struct judged_stack *stacks;
	size_t count, room;
	struct id_map index; /* of stacks[], by stack.id */
};

/* The live bytes at the mark. */
struct marked {
	uint64_t time_ns; /* 0: nothing is marked */
	uint64_t live;	  /* bytes, of all stacks */
	uint64_t *bytes;
	size_t count;
	struct id_map index; /* of bytes[], by stack.id */
};

/* The stacks that the filter has looked at: 1 a name has it, 0 none has. */
struct searched {
	char filter[LIVE_FILTER_MAX];
	struct id_map found; /* by stack.id */
	/* of the snapshot in which stacks without a match are unwanted; 0: none */
	uint64_t report_ns;
};

/* Whether the report's rows are of all its stacks' names, and with which filter. */
struct joined {
	bool complete;
	char filter[LIVE_FILTER_MAX];
};

struct watcher {
	struct session_viewer viewer;
	struct session *session;
	void (*on_busy)(void *ctx, const char *what);
	void *on_busy_ctx;
	struct export_options options; /* of labels; rules point into the config */
	struct joined joined;
	enum live_state state;
	struct process_end end; /* LIVE_EXITED; cause END_UNKNOWN: nothing is known */
	bool changed;
	uint32_t target_id; /* 0: none yet */
	pid_t pid;
	char comm[16];
	struct frame_table *kept; /* names of an ended process; NULL: it lives */
	struct live_request obeyed;
	struct judged judged;
	struct marked marked;
	struct searched searched;
	struct stack_ages ages; /* of ages_stack, read at ages_ns, in ages_took_ns */
	uint64_t ages_stack, ages_ns, ages_took_ns;
	char *inspection;	  /* as text; NULL: none; owned */
	struct output *recording; /* NULL: there is none now */
	char recording_name[64];
	/* measured at the last look, and between the last two */
	uint64_t cost_time_ns, tool_ns;
	struct trace_cost probes;
	struct live_cost cost;
	uint64_t alloc_bytes, free_bytes; /* in all, at the look before */
	bool rates_known;
	uint64_t alloc_rate, free_rate; /* bytes a second */
};

/* The last report; NULL: none yet. */
struct report *watcher_report(const struct watcher *watcher);

const struct judged_stack *judged_find(const struct judged *judged, uint64_t stack_id);
/* Bytes definitely and indirectly lost. */
uint64_t judged_lost(const struct amount classes[static VERDICT_CLASSES]);

/* Keeps the report's verdict, in place of the one before. 0 or -ENOMEM. */
int judged_take(struct judged *judged, const struct report *report);
void judged_release(struct judged *judged);

int marked_take(struct marked *marked, const struct snapshot *snapshot); /* 0 or -ENOMEM */
/* Its live bytes at the mark; 0 for a stack that came later. */
uint64_t marked_bytes(const struct marked *marked, uint64_t stack_id);
void marked_release(struct marked *marked);

/*
 * Write a snapshot into a file of its own; begin or end a recording. If there is a recording: add
 * its next snapshot; end it. 0 or -ENOMEM: failed writes are only logged.
 */
int watcher_save(struct watcher *watcher);
int watcher_record(struct watcher *watcher);
int watcher_record_more(struct watcher *watcher);
void watcher_record_end(struct watcher *watcher);

/* Fills in view->text. 0 or -ENOMEM. */
int watcher_page(struct watcher *watcher, const struct live_request *request,
		 struct live_view *view);

#endif

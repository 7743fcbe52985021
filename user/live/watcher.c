// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/live/watcher.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/parse.h"
#include "user/base/util.h"
#include "user/export/export.h"
#include "user/live/watcher_internal.h"

/* So many stacks of an ended process keep their names: the best in the chosen order. */
#define KEPT_NAMES 1000

/* ---- the process's life ------------------------------------------------------------------- */

/*
 * Forgets all about the target: its frames' names are about to go with it, or it is another process
 * now.
 */
static void watcher_forget(struct watcher *w)
{
	if (w->target_id)
		pipeline_forget(session_pipeline(w->session), w->target_id);
	judged_release(&w->judged);
	marked_release(&w->marked);
	id_map_free(&w->searched.found);
	frame_table_free(w->kept);
	w->kept = NULL;
	free(TAKE_PTR(w->inspection));
	w->ages_stack = 0;
	w->rates_known = false;
}

static void watcher_on_attached(void *ctx, struct target *target)
{
	struct watcher *w = ctx;

	/* The program before its exec is gone. */
	watcher_forget(w);
	w->target_id = target_number(target);
	w->pid = target_pid(target);
	snprintf(w->comm, sizeof(w->comm), "%s", target_comm(target));
	w->state = LIVE_RUNNING;
	w->changed = true;
}

/* Copies the names, which can be asked for only now. */
static int watcher_keep_names(struct watcher *w)
{
	struct pipeline *pipeline = session_pipeline(w->session);
	_cleanup_free_ const struct stack **top = calloc(KEPT_NAMES, sizeof(struct stack *));
	struct report *r = watcher_report(w);
	int err = top ? 0 : -ENOMEM;
	size_t n, all;

	w->kept = frame_table_new();
	if (err || !w->kept)
		return -ENOMEM;
	n = pipeline_rank(pipeline, w->target_id, (enum rank_by)w->obeyed.sort, top, KEPT_NAMES,
			  &all);
	for (size_t i = 0; !err && i < n; i++) {
		struct stack_notes *notes = report_notes_to_fill(r, top[i]);

		err = pipeline_describe(pipeline, w->target_id, top[i]);
		if (!err && notes->frames)
			err = frame_table_keep(w->kept, &notes->frames, &notes->frame_count);
	}
	return err;
}

static void watcher_on_ended(void *ctx, struct target *target)
{
	struct watcher *w = ctx;
	struct report *r;

	if (target_number(target) != w->target_id)
		return;
	r = watcher_report(w);
	w->state = r && r->snapshot->execed ? LIVE_EXECED : LIVE_EXITED;
	if (r)
		w->end = r->snapshot->end;
	w->changed = true;
	if (r)
		watcher_record_more(w);
	watcher_record_end(w);
	if (r && watcher_keep_names(w))
		log_warn("no memory for the names of its stacks");
}

static void watcher_on_inspected(void *ctx, const struct inspection *inspection)
{
	const struct export_options options = {.width = 0};
	const struct exporter_format *format = export_find_format("text");
	struct watcher *w = ctx;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct exporter *e = out ? format->open(out, &options) : NULL;
	int err = e ? format->inspection(e, inspection, 30) : -ENOMEM;

	if (e)
		format->close(e);
	if (out && close_memstream(out))
		err = -ENOMEM;
	if (err) {
		free(text);
		log_errno(err, "no memory for the inspection");
		return;
	}
	free(w->inspection);
	w->inspection = text;
}

/* ---- beginning and end -------------------------------------------------------------------- */

struct watcher *watcher_new(const struct show_config *show,
			    void (*busy)(void *ctx, const char *what), void *ctx)
{
	struct watcher *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->options = (struct export_options){.sites = show_sites(show), .by = show->by};
	w->on_busy = busy;
	w->on_busy_ctx = ctx;
	w->viewer = (struct session_viewer){.ctx = w,
					    .attached = watcher_on_attached,
					    .ended = watcher_on_ended,
					    .inspected = watcher_on_inspected};
	return w;
}

void watcher_free(struct watcher *w)
{
	if (!w)
		return;
	watcher_record_end(w);
	judged_release(&w->judged);
	marked_release(&w->marked);
	id_map_free(&w->searched.found);
	frame_table_free(w->kept);
	free(w->inspection);
	free(w);
}

const struct session_viewer *watcher_viewer(struct watcher *w)
{
	return &w->viewer;
}

/* Our CPU time, with the children that look for us. */
static uint64_t watcher_tool_ns(void)
{
	static const int whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(whose); i++) {
		struct rusage use;

		if (getrusage(whose[i], &use))
			continue;
		sum += (uint64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * NS_PER_S +
		       (uint64_t)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1000;
	}
	return sum;
}

/* Computes shares since the last time. */
static void watcher_measure(struct watcher *w)
{
	struct trace *trace = session_trace(w->session);
	uint64_t now = monotonic_ns(), tool = watcher_tool_ns();
	double passed = (double)(now - w->cost_time_ns);
	struct trace_cost probes = {0};

	if (w->cost.probes_known && trace_cost_read(trace, &probes))
		w->cost.probes_known = false;
	if (w->cost_time_ns && passed > 0) {
		w->cost.tool = (double)(tool - w->tool_ns) / passed;
		w->cost.probes = (double)(probes.ns - w->probes.ns) / passed;
		w->cost.hits = (double)(probes.hits - w->probes.hits) / passed * 1e9;
	}
	w->cost_time_ns = now;
	w->tool_ns = tool;
	w->probes = probes;
}

void watcher_prepare(struct watcher *w, struct session *session)
{
	w->session = session;
}

void watcher_begin(struct watcher *w)
{
	/* The kernel counts since trace_cost_start(), for those who may ask it to. */
	w->cost.probes_known = trace_cost_counts(session_trace(w->session));
	watcher_measure(w);
}

/* ---- looks -------------------------------------------------------------------------------- */

static void watcher_note_rates(struct watcher *w)
{
	const struct report *r = watcher_report(w);
	const struct snapshot *s = r ? r->snapshot : NULL;

	if (!s)
		return;
	w->rates_known = s->interval_ns > 0;
	if (w->rates_known) {
		double seconds = (double)s->interval_ns / 1e9;

		w->alloc_rate = saturate_u64((double)(s->alloc.bytes - w->alloc_bytes) / seconds);
		w->free_rate = saturate_u64((double)(s->free.bytes - w->free_bytes) / seconds);
	}
	w->alloc_bytes = s->alloc.bytes;
	w->free_bytes = s->free.bytes;
}

static int watcher_report_by(struct watcher *w, int (*report)(struct session *session))
{
	int err = report(w->session);

	watcher_note_rates(w);
	return err ?: watcher_record_more(w);
}

static int watcher_plain_report(struct session *session)
{
	return session_report(session, false);
}

int watcher_look(struct watcher *w)
{
	watcher_measure(w);
	if (w->obeyed.paused || w->state != LIVE_RUNNING)
		return 0;
	return watcher_report_by(w, watcher_plain_report);
}

bool watcher_changed(const struct watcher *w)
{
	return w->changed;
}

/* ---- orders ------------------------------------------------------------------------------- */

static void watcher_say_verdict(const struct verdict *v)
{
	char lost[FORMAT_BYTES_MAX], possible[FORMAT_BYTES_MAX], pause[FORMAT_DURATION_MAX];

	log_info("verdict: %s lost, %s possibly lost; the process stood still for %s",
		 format_bytes(lost, judged_lost(v->classes)),
		 format_bytes(possible, v->classes[VERDICT_POSSIBLE].bytes),
		 format_duration(pause, v->pause_ns));
}

static int watcher_judge(struct watcher *w, const char *what,
			 int (*report)(struct session *session))
{
	const struct report *r;
	int err;

	if (w->state != LIVE_RUNNING)
		return 0;
	w->on_busy(w->on_busy_ctx, what);
	err = watcher_report_by(w, report);
	w->on_busy(w->on_busy_ctx, NULL);
	r = err ? NULL : watcher_report(w);
	if (!r)
		return err;
	if (r->snapshot->verdict.state != VERDICT_TAKEN) {
		log_warn("no verdict: %s", r->snapshot->verdict.reason);
		return 0;
	}
	watcher_say_verdict(&r->snapshot->verdict);
	return judged_take(&w->judged, r);
}

struct watched_target {
	uint32_t id;
	struct target *target;
};

static void watcher_match(void *ctx, struct target *target)
{
	struct watched_target *watched = ctx;

	if (target_number(target) == watched->id)
		watched->target = target;
}

/* Attaches to the process anew; if the new way fails, by the old one. */
static int watcher_attach_anew(struct watcher *w, struct target *target, bool gate)
{
	struct trace *trace = session_trace(w->session);
	char reason[REASON_MAX] = "";
	const pid_t pid = w->pid;
	int err = gate ? trace_gate_suits(trace, target, reason) : 0;

	err = err ?: trace_set_gate(trace, gate, reason);

	if (err) {
		log_warn("no gate: %s", reason);
		return 0;
	}
	/* New counts would be another process in the file, beside this one. */
	watcher_record_more(w);
	watcher_record_end(w);
	watcher_forget(w);
	trace_remove_target(trace, target);
	err = trace_add_process(trace, pid);
	if (err && err != -ESRCH && !trace_set_gate(trace, !gate, reason))
		err = trace_add_process(trace, pid);
	if (!err)
		return 1;
	/* The reason has been logged. */
	w->state = LIVE_EXITED;
	w->changed = true;
	return 0;
}

static bool watcher_has_gate(const struct report *r)
{
	return r->snapshot->attached == ATTACHED_BY_GATE ||
	       r->snapshot->attached == ATTACHED_BY_GATE_AND_PROBES;
}

/*
 * Changes from traps to the gate, or back. Blocks live at that time are forgotten: a message says
 * so.
 */
static int watcher_switch(struct watcher *w)
{
	struct watched_target watched = {.id = w->target_id};
	const struct report *r = watcher_report(w);
	char live[FORMAT_BYTES_MAX], blocks[FORMAT_GROUPED_MAX];
	bool gate;
	int err;

	trace_for_each_target(session_trace(w->session), watcher_match, &watched);
	if (!r || !watched.target || w->state != LIVE_RUNNING)
		return 0;
	gate = !watcher_has_gate(r);
	format_bytes(live, r->snapshot->live.bytes);
	format_grouped(blocks, r->snapshot->live.count);
	w->on_busy(w->on_busy_ctx, gate ? "going over to the gate" : "going over to traps");
	err = watcher_attach_anew(w, watched.target, gate);
	if (err > 0)
		err = watcher_report_by(w, watcher_plain_report);
	else
		gate = !gate;
	w->on_busy(w->on_busy_ctx, NULL);
	r = err ? NULL : watcher_report(w);
	/*
	 * If it cannot have a gate, which has been logged, it has traps again: these count anew,
	 * too.
	 */
	if (r && w->target_id != watched.id)
		log_info("%s %s, counting anew: %s in %s blocks from before are forgotten",
			 watcher_has_gate(r) ? "the gate" : "traps",
			 watcher_has_gate(r) == gate ? "now" : "as before", live, blocks);
	return err;
}

static int watcher_mark(struct watcher *w)
{
	const struct report *r = watcher_report(w);

	return r ? marked_take(&w->marked, r->snapshot) : 0;
}

int watcher_obey(struct watcher *w, const struct live_request *request)
{
	const struct live_request before = w->obeyed;
	int err = 0;

	w->obeyed = *request;
	if (request->marks != before.marks)
		err = watcher_mark(w);
	if (!err && request->verdicts != before.verdicts)
		err = watcher_judge(w, "taking a verdict", session_report_verdicts);
	if (!err && request->inspections != before.inspections)
		err = watcher_judge(w, "inspecting the heap", session_report_inspections);
	if (!err && request->saves != before.saves)
		err = watcher_save(w);
	if (!err && request->recordings != before.recordings)
		err = watcher_record(w);
	if (!err && request->switches != before.switches)
		err = watcher_switch(w);
	return err;
}

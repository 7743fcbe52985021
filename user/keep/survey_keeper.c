// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/keep/survey_keeper.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/keep/keep_asked.h"
#include "user/keep/keep_attach.h"
#include "user/keep/keep_budget.h"
#include "user/keep/keep_drill.h"
#include "user/keep/keep_entry.h"
#include "user/keep/keep_figures.h"
#include "user/keep/keep_filter.h"
#include "user/keep/keep_options.h"
#include "user/keep/keep_refused.h"
#include "user/keep/keep_room.h"
#include "user/keep/keep_shares.h"
#include "user/trace/cost.h"

/* A gate takes some 50 ms, most of it waiting: the survey goes on in between. */
#define ATTACH_NS (300 * NS_PER_MS)

/* What is given up takes a moment to be cleared. */
#define MEMORY_NS NS_PER_S

struct survey_keeper {
	const struct survey_config *config;
	struct history *history;
	const struct survey_scope *scope;
	struct suppressions *suppressions; /* NULL: none */
	struct keep_filters *filters;
	struct kept *kept; /* uthash by pid */
	size_t sampled;
	struct trace *trace; /* NULL: not loaded yet */
	struct keep_budget budget;
	struct keep_drills drills;
	struct keep_ends ends;
	struct keep_shares shares;
	uint64_t memory_ns;   /* is looked at again then */
	bool hungry, started; /* some wait for the next tick only; survey_keeper_started() */
	int error;	      /* from inside a callback */
	uint64_t lost[LOSSES_ROOM];
	struct survey_keep_report report;
};

/* ---- beginning and end -------------------------------------------------------------------- */

struct survey_keeper *survey_keeper_new(const struct survey_config *config, struct history *history,
					const struct survey_scope *scope,
					struct suppressions *suppressions)
{
	struct survey_keeper *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->config = config;
	k->history = history;
	k->scope = scope;
	k->suppressions = suppressions;
	keep_budget_begin(&k->budget, config->keep.rate, monotonic_ns());
	k->drills = (struct keep_drills){.config = config, .frames = frame_table_new()};
	k->filters = keep_filters_new(&config->keep.filters);
	if (k->drills.frames && k->filters)
		return k;
	survey_keeper_free(k);
	return NULL;
}

static void survey_keeper_forget(struct survey_keeper *k, struct kept *kept)
{
	HASH_DEL(k->kept, kept);
	free(kept);
}

void survey_keeper_free(struct survey_keeper *k)
{
	struct kept *kept, *next;

	if (!k)
		return;
	trace_free(k->trace);
	keep_ends_clear(&k->ends);
	keep_shares_clear(&k->shares);
	frame_table_free(k->drills.frames);
	HASH_ITER (hh, k->kept, kept, next)
		survey_keeper_forget(k, kept);
	keep_filters_free(k->filters);
	free(k);
}

/* ---- the trace ---------------------------------------------------------------------------- */

static struct kept *survey_keeper_find(const struct survey_keeper *k, pid_t pid)
{
	struct kept *kept;

	HASH_FIND_INT(k->kept, &pid, kept);
	return kept;
}

static void survey_keeper_on_attached(void *ctx, struct target *target)
{
	struct survey_keeper *k = ctx;
	struct kept *kept = survey_keeper_find(k, target_pid(target));

	if (!kept)
		return;
	log_debug("%d (%s) is sampled from now on", kept->pid, target_comm(target));
	kept->target = target;
	kept->since_ns = monotonic_ns();
	kept->reason[0] = '\0';
	kept->tries = 0;
	kept->told = false;
	snprintf(kept->comm, sizeof(kept->comm), "%s", target_comm(target));
	*target_user_data(target) = kept;
	k->sampled++;
	keep_shares_changed(&k->shares);
	keep_asked_note_build_id(kept);
}

/* It had been given up, and has books of its own again: what it had shown before that has no row any more. */
static void survey_keeper_begin_anew(struct survey_keeper *k, struct survey_process *data)
{
	if (!data->kept_last)
		return;
	keep_ends_count(&k->ends, data);
	keep_figures_forget(data);
}

/* What it had done until now: whoever looks next finds no target any more. */
static void survey_keeper_read_last(struct survey_keeper *k, const struct kept *kept,
				    struct target *target, bool ended)
{
	struct history_process *p = history_find_begun(k->history, kept->pid, kept->start_ticks);
	struct survey_process *data = p ? p->user_data : NULL;
	bool replaced = ended && target_is_replaced(target);
	uint64_t now = monotonic_ns();
	struct process_sample sample;

	if (!data)
		return;
	survey_keeper_begin_anew(k, data);
	keep_figures_read_last(k->trace, target, k->suppressions, now - kept->since_ns,
			       k->drills.frames, data);
	if (!ended && !p->ended)
		return;
	sample = p->now;
	memcpy(sample.comm, kept->comm, sizeof(sample.comm));
	keep_ends_add(&k->ends, &sample, data, replaced, now);
	/* What follows is another program, with books of its own. */
	if (replaced)
		keep_figures_forget(data);
}

/* What has been lost on its account is not told by anybody else any more. */
static void survey_keeper_let_go(struct survey_keeper *k, struct target *target, bool ended)
{
	struct kept *kept = *target_user_data(target);
	uint64_t lost[LOSSES_ROOM];

	if (kept)
		survey_keeper_read_last(k, kept, target, ended);
	trace_lost(k->trace, target, lost);
	for (int i = 0; i < LOSSES_ROOM; i++)
		k->lost[i] += lost[i];
	*target_user_data(target) = NULL;
	if (!kept)
		return;
	kept->target = NULL;
	kept->since_ns = 0;
	k->sampled--;
	keep_shares_changed(&k->shares);
}

static void survey_keeper_on_ended(void *ctx, struct target *target)
{
	struct kept *kept = *target_user_data(target);

	survey_keeper_let_go(ctx, target, true);
	/* Until a look finds that it is not there. */
	if (kept && !target_is_replaced(target)) {
		kept->ended = true;
		kept->retry_ns = monotonic_ns() + KEEP_RETRY_NS;
	}
}

static int survey_keeper_load(struct survey_keeper *k)
{
	const struct trace_callbacks callbacks = {
		.ctx = k, .attached = survey_keeper_on_attached, .ended = survey_keeper_on_ended};
	struct trace_options t = keep_trace_options(k->config, !k->started);
	int err = trace_options_choose(&t, ATTACH_AUTO);

	err = err ?: trace_new(&t, &callbacks, &k->trace);
	if (err)
		return err;
	keep_budget_begin(&k->budget, k->config->keep.rate, monotonic_ns());
	trace_alarm_at(k->trace, keep_budget_alarm(&k->budget));
	return 0;
}

void survey_keeper_started(struct survey_keeper *k)
{
	k->started = true;
	trace_started(k->trace);
}

int survey_keeper_fd(const struct survey_keeper *k)
{
	return k->trace ? trace_fd(k->trace) : -1;
}

/* Keeps to what there may be. */
static void survey_keeper_look_at_rate(struct survey_keeper *k)
{
	unsigned before = k->budget.level;

	if (!k->trace)
		return;
	if (keep_budget_look(&k->budget, monotonic_ns(), trace_samples(k->trace))) {
		log_debug("%.0f samples a second of %llu: one in %llu KiB from now on",
			  k->budget.rate, (unsigned long long)k->budget.per_second,
			  (unsigned long long)(k->config->keep.sample_bytes << k->budget.level) >>
				  10);
		trace_set_level(k->trace, k->budget.level);
	}
	if (k->budget.level > before && before == 0)
		log_info("the processes that are kept allocate too much for %u samples a second "
			 "(--keep-rate): fewer are drawn",
			 k->config->keep.rate);
	trace_alarm_at(k->trace, keep_budget_alarm(&k->budget));
}

int survey_keeper_process(struct survey_keeper *k)
{
	int err = k->trace ? trace_process(k->trace) : 0;

	if (!err && k->trace && trace_samples(k->trace) >= keep_budget_alarm(&k->budget))
		survey_keeper_look_at_rate(k);
	return err ?: k->error;
}

/* ---- who is kept -------------------------------------------------------------------------- */

static bool survey_keeper_names(const struct survey_keeper *k, const struct history_process *p,
				const struct survey_process *data)
{
	return survey_scope_has(k->scope, p, data) && keep_filters_have(k->filters, p, data);
}

/* Without the trace's own end of it; the process may go on. */
static void survey_keeper_release(struct survey_keeper *k, struct kept *kept)
{
	struct target *target = kept->target;

	if (!target)
		return;
	survey_keeper_let_go(k, target, false);
	trace_remove_target(k->trace, target);
}

static void survey_keeper_drop(struct survey_keeper *k, struct kept *kept)
{
	struct target *begun;

	survey_keeper_release(k, kept);
	/* What it has become by exec, and has no gate yet: it would get one when it maps its allocator, and nobody would know. */
	begun = k->trace ? trace_find_target(k->trace, kept->pid) : NULL;
	if (begun)
		trace_remove_target(k->trace, begun);
	keep_figures_set_aside(history_find_begun(k->history, kept->pid, kept->start_ticks));
	survey_keeper_forget(k, kept);
}

/*
 * While there is more memory than there may be, one after the other: the one that came last. By how much they
 * hold, those would go first that leak.
 */
static void survey_keeper_keep_to_memory(struct survey_keeper *k)
{
	struct kept *kept, *next, *last = NULL;
	uint64_t now = monotonic_ns();
	char reason[REASON_MAX];
	unsigned times;

	if (!k->sampled || now < k->memory_ns || !keep_is_too_much(&k->config->keep, reason))
		return;
	HASH_ITER (hh, k->kept, kept, next) {
		if (kept->target && (!last || kept->since_ns > last->since_ns))
			last = kept;
	}
	if (!last)
		return;
	survey_keeper_release(k, last);
	malloc_trim(0);
	memcpy(last->reason, reason, sizeof(reason));
	times = last->given_up < KEEP_RETRIES_LONG ? last->given_up : KEEP_RETRIES_LONG;
	last->given_up++;
	last->retry_ns = now + (KEEP_RETRY_NS << times);
	k->memory_ns = now + MEMORY_NS;
	log_info("process %d is not sampled any more: %s", last->pid, reason);
}

/* 0 and *out: it is, or is to be; NULL: no memory, which *err says. */
static struct kept *survey_keeper_take(struct survey_keeper *k, const struct history_process *p)
{
	struct kept *kept = survey_keeper_find(k, p->now.pid);

	if (kept && kept->start_ticks != p->now.start_ticks) {
		survey_keeper_drop(k, kept);
		kept = NULL;
	}
	if (kept) {
		kept->owner = share_of_user(p->now.ruid);
		return kept;
	}
	kept = calloc(1, sizeof(*kept));
	if (!kept)
		return NULL;
	kept->pid = p->now.pid;
	kept->start_ticks = p->now.start_ticks;
	kept->owner = share_of_user(p->now.ruid);
	HASH_ADD_INT(k->kept, pid, kept);
	if (kept->hh.tbl)
		return kept;
	free(kept);
	return NULL;
}

static int survey_keeper_attach(struct survey_keeper *k, struct kept *kept, uint64_t now)
{
	int err = k->trace ? 0 : survey_keeper_load(k);

	return err ?: keep_attach(k->trace, kept, now);
}

/* One of another's, who has more, goes for it: *giving_way. False: there is none, for kept->reason. */
static bool survey_keeper_has_room(struct survey_keeper *k, struct kept *kept,
				   struct kept **giving_way)
{
	char reason[REASON_MAX] = "";
	bool full = k->sampled >= k->config->keep.processes, room;

	*giving_way =
		full ? keep_shares_giving_way(&k->shares, k->kept, &kept->owner, reason) : NULL;
	room = (!full || *giving_way) && keep_has_room(&k->config->keep, reason);
	if (!room)
		memcpy(kept->reason, reason, sizeof(reason));
	return room;
}

static void survey_keeper_give_place(struct survey_keeper *k, struct kept *from,
				     const struct kept *to)
{
	if (!from || !from->target || !to->target)
		return;
	survey_keeper_release(k, from);
	refuse(from->reason, -EUSERS,
	       "its user has most of those that may be sampled (--keep-processes), and user %llu's "
	       "process %d has its place",
	       (unsigned long long)to->owner.one, to->pid);
	from->retry_ns = monotonic_ns() + KEEP_RETRY_NS;
	log_info("process %d is not sampled any more: %s", from->pid, from->reason);
}

/* Whether it waits for a gate, and can have one. */
static bool survey_keeper_waits(struct survey_keeper *k, struct kept *kept,
				const struct survey_process *data, uint64_t now)
{
	struct kept *giving_way;

	if (kept->target || now < kept->retry_ns)
		return false;
	/* Probes of our own are on it: afterwards. */
	if (data->drill.open) {
		refuse(kept->reason, -EBUSY, "probes are on it now");
		return false;
	}
	return survey_keeper_has_room(k, kept, &giving_way) && !keep_refused_stands(kept);
}

static int survey_keeper_see_to(struct survey_keeper *k, struct kept *kept,
				struct history_process *p, struct survey_process *data)
{
	const struct keep_waiter waiter = {kept, p, data};
	uint64_t now = monotonic_ns();

	if (kept->target && keep_drill_is_due(&k->drills, p, data, now))
		return keep_drill(&k->drills, k->trace, kept->target, p, data);
	return survey_keeper_waits(k, kept, data, now) ? keep_shares_add(&k->shares, &waiter) : 0;
}

/* One after the other, by turns; the rest at the next look, which is soon. */
static int survey_keeper_serve(struct survey_keeper *k, uint64_t until)
{
	int err = 0;

	while (!err && k->shares.count) {
		uint64_t now = monotonic_ns();
		struct keep_waiter next;
		struct kept *giving_way;

		k->hungry = now > until || !keep_shares_next(&k->shares, &next) ||
			    !survey_keeper_has_room(k, next.kept, &giving_way);
		if (k->hungry)
			break;
		next.data->bytes_at_open = process_bytes(&next.process->now);
		err = survey_keeper_attach(k, next.kept, now);
		if (!err)
			survey_keeper_give_place(k, giving_way, next.kept);
	}
	return err;
}

/* ---- what is known of them ---------------------------------------------------------------- */

static void survey_keeper_fill(struct survey_keeper *k, struct kept *kept,
			       const struct history_process *p, struct survey_process *data,
			       uint64_t now)
{
	if (kept->ended)
		return;
	k->report.left_out += !kept->target;
	if (!kept->target) {
		keep_figures_stand(data, *kept->reason ? kept->reason : "its turn comes");
		return;
	}
	memcpy(kept->comm, p->now.comm, sizeof(kept->comm));
	survey_keeper_begin_anew(k, data);
	keep_figures_read(k->trace, kept->target, k->suppressions, now - kept->since_ns, data);
	k->report.guarded += data->kept.guards.state.on;
	k->report.not_guarded += k->report.guards && !data->kept.guards.state.on;
	k->report.live_samples += data->kept.live_samples;
}

static void survey_keeper_report_on(struct survey_keeper *k)
{
	struct history_process *const *ranked;
	uint64_t now = monotonic_ns();
	size_t count;

	k->report = (struct survey_keep_report){
		.sampled = k->sampled,
		.samples = k->trace ? trace_samples(k->trace) : 0,
		.samples_per_s = k->trace ? k->budget.rate : 0,
		.sample_bytes = k->config->keep.sample_bytes << k->budget.level,
		.rate = k->config->keep.rate,
		.guards = k->config->keep.guard.period != 0,
	};
	if (k->trace)
		trace_sum_live(k->trace);
	ranked = history_ranked(k->history, &count);
	for (size_t i = 0; i < count; i++) {
		struct survey_process *data = ranked[i]->user_data;
		struct kept *kept = survey_keeper_find(k, ranked[i]->now.pid);

		if (!data)
			continue;
		data->kept_named = kept && !ranked[i]->ended &&
				   kept->start_ticks == ranked[i]->now.start_ticks;
		if (data->kept_named)
			survey_keeper_fill(k, kept, ranked[i], data, now);
		/* It had been given up before its end. */
		else if (ranked[i]->ended && data->kept_last)
			keep_ends_add(&k->ends, &ranked[i]->now, data, false, now);
	}
	keep_ends_sweep(&k->ends, now);
	memcpy(k->report.ended_bad_accesses, k->ends.bad_accesses, sizeof(k->ends.bad_accesses));
}

struct keep_ends *survey_keeper_ends(struct survey_keeper *k)
{
	return &k->ends;
}

const struct survey_keep_report *survey_keeper_report(const struct survey_keeper *k)
{
	return &k->report;
}

void survey_keeper_add_lost(const struct survey_keeper *k, uint64_t lost[LOSSES_ROOM])
{
	const struct kept *kept, *next;
	uint64_t some[LOSSES_ROOM];

	for (int i = 0; i < LOSSES_ROOM; i++)
		lost[i] += k->lost[i];
	if (!k->trace)
		return;
	trace_lost(k->trace, NULL, some);
	for (int i = 0; i < LOSSES_ROOM; i++)
		lost[i] += some[i];
	HASH_ITER (hh, k->kept, kept, next) {
		if (!kept->target)
			continue;
		trace_lost(k->trace, kept->target, some);
		for (int i = 0; i < LOSSES_ROOM; i++)
			lost[i] += some[i];
	}
}

/* ---- a look ------------------------------------------------------------------------------- */

static int survey_keeper_look_at_all(struct survey_keeper *k)
{
	uint64_t until = monotonic_ns() + ATTACH_NS;
	struct history_process *const *ranked;
	size_t count;
	int err = 0;

	k->hungry = false;
	k->shares.count = 0;
	keep_shares_changed(&k->shares);
	ranked = history_ranked(k->history, &count);
	for (size_t i = 0; i < count && !err; i++) {
		struct survey_process *data = survey_process_of(ranked[i]);
		struct kept *kept;

		if (!data)
			return -ENOMEM;
		if (ranked[i]->ended || !survey_keeper_names(k, ranked[i], data))
			continue;
		kept = survey_keeper_take(k, ranked[i]);
		if (!kept)
			return -ENOMEM;
		kept->seen = true;
		err = survey_keeper_see_to(k, kept, ranked[i], data);
	}
	return err ?: survey_keeper_serve(k, until);
}

int survey_keeper_tick(struct survey_keeper *k)
{
	struct kept *kept, *next;
	int err = survey_keeper_process(k);

	HASH_ITER (hh, k->kept, kept, next)
		kept->seen = false;
	if (!err)
		survey_keeper_keep_to_memory(k);
	err = err ?: survey_keeper_look_at_all(k);
	if (err)
		return log_errno(err, "cannot keep sampling processes");
	HASH_ITER (hh, k->kept, kept, next) {
		if (!kept->seen)
			survey_keeper_drop(k, kept);
	}
	survey_keeper_look_at_rate(k);
	survey_keeper_report_on(k);
	return 0;
}

int survey_keeper_finish(struct survey_keeper *k)
{
	struct kept *kept, *next;
	int err = survey_keeper_process(k);

	if (err)
		return log_errno(err, "cannot keep sampling processes");
	HASH_ITER (hh, k->kept, kept, next) {
		const struct history_process *p = history_find(k->history, kept->pid);

		if (!p || p->now.start_ticks != kept->start_ticks)
			survey_keeper_drop(k, kept);
	}
	survey_keeper_report_on(k);
	return 0;
}

bool survey_keeper_is_hungry(const struct survey_keeper *k)
{
	return k->hungry;
}

/* ---- for who asks ------------------------------------------------------------------------- */

int survey_keeper_each(const struct survey_keeper *k,
		       int (*visit)(void *ctx, const struct kept_process *p), void *ctx)
{
	return keep_asked_each(k->kept, k->history, visit, ctx);
}

int survey_keeper_snapshot(struct survey_keeper *k, pid_t pid, struct report **out)
{
	const struct kept *kept;
	int err = survey_keeper_process(k);

	if (err)
		return err;
	kept = survey_keeper_find(k, pid);
	if (!kept || !kept->target)
		return -ESRCH;
	return keep_asked_snapshot(k->trace, kept->target, out);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/survey/survey_driller.h"

#include <errno.h>
#include <string.h>

#include "bpf/abi.h"
#include "bpf/lost_cause.h"
#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/survey/survey_budget.h"
#include "user/look/survey_result.h"
#include "user/survey/survey_suspects.h"
#include "user/process/proc.h"
#include "user/target/scope_spec.h"
#include "user/trace/cost.h"
#include "user/trace/trace.h"

/* Suspects get their probes one after the other, so that what each costs can be told. */
#define STEP_NS (300 * NS_PER_MS)
/*
 * Blocks that are younger than this part of the window rank after older ones: most of them are
 * about to be freed.
 */
#define YOUNG_PART 4
/*
 * More than the budget has allocations for in a window, sampled as they are; each walk over the map
 * pays for its whole size.
 */
#define MAX_LIVE	 (1u << 18)
#define MAX_STACKS	 (1u << 15)
#define MAX_SAMPLE_BYTES (1u << 20)
#define COARSER		 4

struct survey_suspect {
	pid_t pid;
	uint64_t start_ticks;
	uint64_t added_ns;	  /* 0: waits for its turn */
	struct survey_drill best; /* of itself and its children, so far */
};

/* What the trace keeps for us per target. */
struct survey_watched {
	pid_t suspect; /* the target, or its parent */
};

struct survey_driller {
	const struct survey_config *config;
	struct history *history;
	const struct survey_scope *scope;
	struct trace *trace;	    /* NULL: not loaded */
	struct frame_table *frames; /* of all results: they outlive the trace */
	uint32_t windows;	    /* results so far, by which each has a number */
	uint64_t sample_bytes;
	bool coarsen;			 /* before the next window */
	struct survey_suspect *suspects; /* room for config->probes.suspects */
	size_t count;			 /* 0: no window is open */
	uint64_t last_add_ns;
	struct survey_budget budget;
	struct scope_spec *scopes;
	size_t scope_count;
	uint64_t lost[LOSSES_ROOM]; /* of targets that are done */
	pid_t wanted;		    /* 0: none */
	uint64_t wanted_start;
	int error; /* in a callback */
};

static int survey_driller_parse_scopes(struct survey_driller *d)
{
	const struct string_list *list = &d->config->scopes;
	int err;

	d->scopes = calloc(list->count + 1, sizeof(*d->scopes));
	if (!d->scopes)
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++) {
		err = scope_spec_parse(list->items[i], &d->scopes[i]);
		if (err)
			return err;
		d->scope_count++;
	}
	return 0;
}

struct survey_driller *survey_driller_new(const struct survey_config *config,
					  struct history *history, const struct survey_scope *scope)
{
	struct survey_driller *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->config = config;
	d->history = history;
	d->scope = scope;
	d->sample_bytes = config->sample_bytes;
	d->budget.share = config->probes.budget / 1000.0;
	d->suspects = calloc(config->probes.suspects, sizeof(*d->suspects));
	d->frames = frame_table_new();
	if (d->suspects && d->frames && !survey_driller_parse_scopes(d))
		return d;
	survey_driller_free(d);
	return NULL;
}

static void survey_driller_free_watched(void *ctx, struct target *target)
{
	(void)ctx;
	free(*target_user_data(target));
	*target_user_data(target) = NULL;
}

static void survey_driller_add_lost(struct survey_driller *d, const struct target *target)
{
	uint64_t lost[LOSSES_ROOM];

	trace_lost(d->trace, target, lost);
	for (int i = 0; i < LOST_CAUSES; i++)
		d->lost[i] += lost[i];
}

static void survey_driller_unload(struct survey_driller *d)
{
	if (d->trace)
		survey_driller_add_lost(d, NULL);
	if (d->trace)
		trace_for_each_target(d->trace, survey_driller_free_watched, NULL);
	trace_free(d->trace);
	d->trace = NULL;
	survey_budget_unloaded(&d->budget);
}

void survey_driller_free(struct survey_driller *d)
{
	if (!d)
		return;
	survey_driller_unload(d);
	for (size_t i = 0; i < d->count; i++)
		survey_result_clear(&d->suspects[i].best);
	for (size_t i = 0; i < d->scope_count; i++)
		scope_spec_release(&d->scopes[i]);
	free(d->scopes);
	free(d->suspects);
	frame_table_free(d->frames);
	free(d);
}

/* ---- results ------------------------------------------------------------------------------ */

static struct survey_suspect *survey_driller_find_suspect(struct survey_driller *d, pid_t pid)
{
	for (size_t i = 0; i < d->count; i++) {
		if (d->suspects[i].pid == pid)
			return &d->suspects[i];
	}
	return NULL;
}

/* Of a suspect and its children, what the one that holds most has allocated is the result. */
static int survey_driller_consider(struct survey_driller *d, struct target *target)
{
	struct survey_watched *watched = *target_user_data(target);
	struct survey_suspect *suspect =
		watched ? survey_driller_find_suspect(d, watched->suspect) : NULL;
	struct survey_drill result = {0};
	int err;

	survey_driller_add_lost(d, target);
	if (!suspect)
		return 0;
	err = survey_result_take(d->trace, target, &result);
	if (err)
		return err;
	if (suspect->best.snapshot &&
	    suspect->best.snapshot->live.bytes >= result.snapshot->live.bytes) {
		survey_result_clear(&result);
		return 0;
	}
	/* Those of a trace begin anew with each one. */
	result.snapshot->target_id = ++d->windows;
	result.snapshot->window = true;
	err = survey_result_name(d->trace, target, d->frames, d->config->show.top, &result);
	if (!err && (d->config->record || d->config->show.format->wants_all))
		err = survey_result_name_all(d->trace, target, d->frames, &result);
	if (err) {
		survey_result_clear(&result);
		return err;
	}
	survey_result_clear(&suspect->best);
	suspect->best = result;
	return 0;
}

/* ---- the trace ---------------------------------------------------------------------------- */

static void survey_driller_on_attached(void *ctx, struct target *target)
{
	struct survey_driller *d = ctx;
	struct survey_watched *watched;
	struct proc_stat stat;
	pid_t pid = target_pid(target);

	log_debug("probes on %d (%s)", pid, target_comm(target));
	if (!survey_driller_find_suspect(d, pid)) {
		/* A child; one that has ended already has told nothing. */
		if (proc_stat(pid, &stat) || !survey_driller_find_suspect(d, stat.ppid))
			return;
		pid = stat.ppid;
	}
	watched = malloc(sizeof(*watched));
	if (!watched) {
		d->error = -ENOMEM;
		return;
	}
	watched->suspect = pid;
	*target_user_data(target) = watched;
}

static void survey_driller_on_ended(void *ctx, struct target *target)
{
	struct survey_driller *d = ctx;
	int err = survey_driller_consider(d, target);

	if (err)
		d->error = err;
	survey_driller_free_watched(NULL, target);
}

static int survey_driller_load(struct survey_driller *d)
{
	const struct trace_callbacks callbacks = {
		.ctx = d, .attached = survey_driller_on_attached, .ended = survey_driller_on_ended};
	struct trace_options t = {
		.children = CHILDREN_LATE,
		.max_size = UINT64_MAX,
		.older_ns = d->config->probes.window_ns / YOUNG_PART,
		.sample_bytes = d->sample_bytes,
		.max_frames = ABI_MAX_FRAMES,
		.max_live = MAX_LIVE,
		.max_stacks = MAX_STACKS,
		.ages = true,
		.gate = d->config->gate,
		.providers = {.mmap = !d->config->gate},
		.symbols = d->config->symbols,
		.scopes = d->scopes,
		.scope_count = d->scope_count,
		.scope_anywhere = true,
	};
	int err = trace_options_choose(&t, ATTACH_AUTO);

	if (!err)
		err = trace_new(&t, &callbacks, &d->trace);
	if (!err)
		err = trace_cost_start(d->trace);
	return err;
}

int survey_driller_fd(const struct survey_driller *d)
{
	return d->trace ? trace_fd(d->trace) : -1;
}

int survey_driller_process(struct survey_driller *d)
{
	uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int err = d->trace ? trace_process(d->trace) : 0;

	survey_budget_add_own(&d->budget, clock_ns(CLOCK_THREAD_CPUTIME_ID) - start);
	return err ? err : d->error;
}

/* ---- closing ------------------------------------------------------------------------------ */

struct survey_targets {
	struct target **items;
	size_t count, room;
	pid_t suspect;
};

static void survey_driller_collect(void *ctx, struct target *target)
{
	const struct survey_watched *watched = *target_user_data(target);
	struct survey_targets *list = ctx;

	/*
	 * A target whose suspect is not known is a child's child: it goes with the first that
	 * closes.
	 */
	if ((!watched || watched->suspect == list->suspect) && list->count < list->room)
		list->items[list->count++] = target;
}

static void survey_driller_settle(struct survey_driller *d, struct survey_suspect *suspect,
				  const char *note, bool cut)
{
	struct history_process *process =
		survey_suspects_find(d->history, suspect->pid, suspect->start_ticks);
	struct survey_process *data = process ? survey_process_of(process) : NULL;

	if (!data) {
		survey_result_clear(&suspect->best);
		return;
	}
	suspect->best.grown = (int64_t)(process_bytes(&process->now) - data->bytes_at_open);
	suspect->best.note = note ? note : survey_result_meaning(&suspect->best, cut);
	survey_result_clear(&data->drill);
	data->drill = suspect->best;
	data->drilled = true;
	data->drilled_ns = monotonic_ns();
}

/* Takes the probes off a suspect, and it off the list. */
static int survey_driller_close_suspect(struct survey_driller *d, size_t index, const char *note,
					bool cut)
{
	struct survey_suspect *suspect = &d->suspects[index];
	struct survey_targets list = {.suspect = suspect->pid};
	int err = 0;

	if (suspect->added_ns) {
		list.room = trace_target_count(d->trace);
		list.items = calloc(list.room ? list.room : 1, sizeof(struct target *));
		if (!list.items)
			return log_errno(ENOMEM, "survey");
		trace_for_each_target(d->trace, survey_driller_collect, &list);
		for (size_t i = 0; i < list.count; i++) {
			err = err ? err : survey_driller_consider(d, list.items[i]);
			survey_driller_free_watched(NULL, list.items[i]);
			trace_remove_target(d->trace, list.items[i]);
		}
		free(list.items);
		survey_driller_settle(d, suspect, note, cut);
	}
	memmove(suspect, suspect + 1, (--d->count - index) * sizeof(*suspect));
	return err;
}

static int survey_driller_close_all(struct survey_driller *d, bool cut)
{
	int err = 0;

	while (d->count && !err)
		err = survey_driller_close_suspect(d, d->count - 1, NULL, cut);
	return err;
}

void survey_driller_close(struct survey_driller *d)
{
	if (d->trace && !trace_process(d->trace))
		survey_driller_close_all(d, false);
}

/* ---- opening ------------------------------------------------------------------------------ */

void survey_driller_want(struct survey_driller *d, pid_t pid, uint64_t start_ticks)
{
	d->wanted = pid;
	d->wanted_start = start_ticks;
}

static void survey_driller_take(struct survey_driller *d, const struct history_process *process)
{
	if (d->count < d->config->probes.suspects &&
	    !survey_driller_find_suspect(d, process->now.pid))
		d->suspects[d->count++] = (struct survey_suspect){
			.pid = process->now.pid, .start_ticks = process->now.start_ticks};
}

static void survey_driller_take_wanted(struct survey_driller *d)
{
	struct history_process *process =
		d->wanted ? survey_suspects_find(d->history, d->wanted, d->wanted_start) : NULL;
	struct survey_process *data =
		process && !process->ended ? survey_process_of(process) : NULL;

	if (data && !data->refused)
		survey_driller_take(d, process);
}

/* As many as there is room for, beside those that are there. */
static void survey_driller_choose_suspects(struct survey_driller *d, uint64_t now)
{
	struct history_process *chosen[SURVEY_SUSPECTS_MAX];
	size_t n = survey_suspects_choose(d->config, d->history, d->scope, now, chosen);

	survey_driller_take_wanted(d);
	for (size_t i = 0; i < n; i++)
		survey_driller_take(d, chosen[i]);
}

static int survey_driller_add_suspect(struct survey_driller *d, size_t index, uint64_t now)
{
	struct survey_suspect *suspect = &d->suspects[index];
	struct history_process *process = history_find(d->history, suspect->pid);
	struct survey_process *data = process ? survey_process_of(process) : NULL;
	struct proc_stat stat;
	int err;

	if (!data || proc_stat(suspect->pid, &stat) || stat.start_ticks != suspect->start_ticks)
		return survey_driller_close_suspect(d, index, NULL, false);
	data->bytes_at_open = process_bytes(&process->now);
	d->last_add_ns = now;
	survey_budget_adding(&d->budget);
	err = trace_add_process(d->trace, suspect->pid);
	if (!err) {
		suspect->added_ns = monotonic_ns();
		data->drill.open = true;
		return 0;
	}
	if (err == -ENOMEM)
		return err;
	if (err != -ESRCH) {
		data->refused = true;
		data->drilled = true;
		survey_result_clear(&data->drill);
		data->drill.note = survey_result_refusal(d->trace, err);
	}
	return survey_driller_close_suspect(d, index, NULL, false);
}

static int survey_driller_open_window(struct survey_driller *d, uint64_t now)
{
	int err = 0;

	if (!survey_budget_has_room(&d->budget, now))
		return 0;
	survey_driller_choose_suspects(d, now);
	if (!d->count)
		return 0;
	survey_budget_open(&d->budget, now);
	if (d->coarsen) {
		survey_driller_unload(d);
		d->sample_bytes *= COARSER;
		if (d->sample_bytes > MAX_SAMPLE_BYTES)
			d->sample_bytes = MAX_SAMPLE_BYTES;
		d->coarsen = false;
	}
	if (!d->trace)
		err = survey_driller_load(d);
	return err ? err : survey_driller_add_suspect(d, 0, now);
}

/* ---- the budget --------------------------------------------------------------------------- */

static void survey_driller_rest_window(struct survey_driller *d)
{
	uint64_t spent = survey_budget_rest(&d->budget), now = monotonic_ns();
	uint64_t until = d->budget.rest_until_ns;

	log_debug("a window took %llu ms of CPU time; the next one in %llu s at the earliest",
		  (unsigned long long)(spent / NS_PER_MS),
		  (unsigned long long)(until > now ? (until - now) / NS_PER_S : 0));
}

static int survey_driller_measure(struct survey_driller *d, uint64_t now)
{
	struct trace_cost cost;
	int err;

	if (!survey_budget_is_due(&d->budget, now))
		return 0;
	err = trace_cost_read(d->trace, &cost);
	if (!err)
		survey_budget_measure(&d->budget, now, &cost);
	return err;
}

static int survey_driller_over_budget(struct survey_driller *d)
{
	d->coarsen = d->sample_bytes < MAX_SAMPLE_BYTES && survey_budget_is_for_walks(&d->budget);
	log_debug("the probes' budget is used up: window closed%s",
		  d->coarsen ? ", the next one samples less" : "");
	return survey_driller_close_all(d, true);
}

static int survey_driller_too_busy(struct survey_driller *d)
{
	bool by_last = survey_budget_blame_last(&d->budget);
	size_t last = d->count;

	while (last > 0 && !d->suspects[last - 1].added_ns)
		last--;
	if (!last)
		return 0;
	if (!by_last)
		return survey_driller_over_budget(d);
	return survey_driller_close_suspect(
		d, last - 1,
		"too busy for the budget: probes would take a good part of a CPU; "
		"raise --budget, or trace it alone with -p",
		true);
}

static int survey_driller_next_suspect(struct survey_driller *d, uint64_t now)
{
	/* While somebody is busy, the last one that was added is to be the one. */
	if (now - d->last_add_ns < STEP_NS || survey_budget_is_busy(&d->budget))
		return 0;
	for (size_t i = 0; i < d->count; i++) {
		if (!d->suspects[i].added_ns)
			return survey_driller_add_suspect(d, i, now);
	}
	return 0;
}

static int survey_driller_close_those_due(struct survey_driller *d, uint64_t now)
{
	int err = 0;

	for (size_t i = d->count; i-- > 0 && !err;) {
		const struct survey_suspect *s = &d->suspects[i];
		const struct history_process *process = history_find(d->history, s->pid);

		if (!process || process->now.start_ticks != s->start_ticks ||
		    (s->added_ns && now >= s->added_ns + d->config->probes.window_ns))
			err = survey_driller_close_suspect(d, i, NULL, false);
	}
	return err;
}

static int survey_driller_go_on(struct survey_driller *d)
{
	uint64_t now = monotonic_ns();
	int err = d->trace ? survey_driller_measure(d, now) : 0;

	if (err)
		return err;
	if (!d->count)
		return survey_driller_open_window(d, now);
	err = survey_driller_close_those_due(d, now);
	if (err || !d->count)
		return err;
	if (survey_budget_is_too_busy(&d->budget, now))
		return survey_driller_too_busy(d);
	if (survey_budget_is_used_up(&d->budget, now))
		return survey_driller_over_budget(d);
	/*
	 * Who is found suspect a little later has its turn, too: the next window may be long in
	 * coming.
	 */
	if (now < d->budget.opened_ns + d->config->probes.window_ns)
		survey_driller_choose_suspects(d, now);
	return survey_driller_next_suspect(d, now);
}

int survey_driller_tick(struct survey_driller *d)
{
	uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int err;

	if (!d->config->probes.wanted)
		return 0;
	err = survey_driller_go_on(d);
	survey_budget_add_own(&d->budget, clock_ns(CLOCK_THREAD_CPUTIME_ID) - start);
	if (!d->count && !survey_budget_rests(&d->budget))
		survey_driller_rest_window(d);
	return err;
}

bool survey_driller_is_open(const struct survey_driller *d)
{
	return d->count > 0;
}

size_t survey_driller_watched(const struct survey_driller *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->count; i++)
		n += d->suspects[i].added_ns != 0;
	return n;
}

double survey_driller_share(const struct survey_driller *d)
{
	return survey_budget_spent(&d->budget, monotonic_ns());
}

uint64_t survey_driller_sample_bytes(const struct survey_driller *d)
{
	return d->sample_bytes;
}

void survey_driller_totals(const struct survey_driller *d, struct survey_totals *totals)
{
	uint64_t lost[LOSSES_ROOM] = {0};

	if (d->trace)
		trace_lost(d->trace, NULL, lost);
	for (int i = 0; i < LOST_CAUSES; i++)
		totals->lost[i] = d->lost[i] + lost[i];
	totals->probe_hits = d->budget.probe_hits;
	totals->probe_ns = d->budget.probe_ns;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/survey/survey_drill.h"

#include <errno.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/survey/cpu_account.h"
#include "user/survey/survey_result.h"
#include "user/survey/survey_suspects.h"
#include "user/process/proc.h"
#include "user/trace/cost.h"
#include "user/trace/trace.h"

/* Suspects get their probes one after the other, so that what each costs can be told. */
#define STEP_NS	       (300 * NS_PER_MS)
#define MIN_MEASURE_NS (50 * NS_PER_MS)
/*
 * More than that of a CPU, for longer than a burst of calls takes, is never a sample of a suspect
 * but a burden: its probes come off. Until then it has cost a third of what a minute has by the
 * default budget at most.
 */
#define BUSY_SHARE 0.25
#define BUSY_NS	   (400 * NS_PER_MS)
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

struct suspect {
	pid_t pid;
	uint64_t start_ticks;
	uint64_t added_ns;	  /* 0: waits for its turn */
	struct survey_drill best; /* of itself and its children, so far */
};

/* What the trace keeps for us per target. */
struct watched {
	pid_t suspect; /* the target, or its parent */
};

struct drill {
	const struct survey_config *config;
	struct history *history;
	const struct scope *scope;
	struct trace *trace;	    /* NULL: not loaded */
	struct frame_table *frames; /* of all results: they outlive the trace */
	uint32_t windows;	    /* results so far, by which each has a number */
	uint64_t sample_bytes;
	bool coarsen;		  /* before the next window */
	struct suspect *suspects; /* room for config->probes.suspects */
	size_t count;		  /* 0: no window is open */
	uint64_t last_add_ns;
	double share_before_add, share_now;
	uint64_t busy_since_ns; /* share_now has been above BUSY_SHARE since then; 0: it is not */
	struct trace_cost cost;
	uint64_t cost_ns_at; /* when it was read; 0: never */
	struct cpu_account account;
	uint64_t own_ns;		     /* CPU time that we took for all this ourselves */
	uint64_t opened_ns, cost_at_opening; /* of the window */
	uint64_t rest_until_ns;		     /* the next one opens no sooner */
	struct survey_totals totals; /* of what has been measured and of targets that are done */
	int error;		     /* in a callback */
};

struct drill *drill_new(const struct survey_config *config, struct history *history,
			const struct scope *scope)
{
	struct drill *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->config = config;
	d->history = history;
	d->scope = scope;
	d->sample_bytes = config->sample_bytes;
	d->suspects = calloc(config->probes.suspects, sizeof(*d->suspects));
	d->frames = frame_table_new();
	if (d->suspects && d->frames)
		return d;
	drill_free(d);
	return NULL;
}

static void free_watched(void *ctx, struct target *target)
{
	(void)ctx;
	free(*target_user_data(target));
	*target_user_data(target) = NULL;
}

static void add_lost(struct drill *d, const struct target *target)
{
	uint64_t lost[LOST_CAUSES];

	trace_lost(d->trace, target, lost);
	for (int i = 0; i < LOST_CAUSES; i++)
		d->totals.lost[i] += lost[i];
}

static void unload(struct drill *d)
{
	if (d->trace)
		add_lost(d, NULL);
	if (d->trace)
		trace_for_each_target(d->trace, free_watched, NULL);
	trace_free(d->trace);
	d->trace = NULL;
	d->cost_ns_at = d->busy_since_ns = 0;
}

void drill_free(struct drill *d)
{
	if (!d)
		return;
	unload(d);
	for (size_t i = 0; i < d->count; i++)
		survey_result_clear(&d->suspects[i].best);
	free(d->suspects);
	frame_table_free(d->frames);
	free(d);
}

/* ---- results ------------------------------------------------------------------------------ */

static struct suspect *find_suspect(struct drill *d, pid_t pid)
{
	for (size_t i = 0; i < d->count; i++) {
		if (d->suspects[i].pid == pid)
			return &d->suspects[i];
	}
	return NULL;
}

/* Of a suspect and its children, what the one that holds most has allocated is the result. */
static int consider(struct drill *d, struct target *target)
{
	struct watched *watched = *target_user_data(target);
	struct suspect *suspect = watched ? find_suspect(d, watched->suspect) : NULL;
	struct survey_drill result = {0};
	int err;

	add_lost(d, target);
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

static void on_attached(void *ctx, struct target *target)
{
	struct drill *d = ctx;
	struct watched *watched;
	struct proc_stat stat;
	pid_t pid = target_pid(target);

	log_debug("probes on %d (%s)", pid, target_comm(target));
	if (!find_suspect(d, pid)) {
		/* A child; one that has ended already has told nothing. */
		if (proc_stat(pid, &stat) || !find_suspect(d, stat.ppid))
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

static void on_ended(void *ctx, struct target *target)
{
	struct drill *d = ctx;
	int err = consider(d, target);

	if (err)
		d->error = err;
	free_watched(NULL, target);
}

static int load(struct drill *d)
{
	const struct trace_callbacks callbacks = {
		.ctx = d, .attached = on_attached, .ended = on_ended};
	struct trace_options t = {
		.children = CHILDREN_LATE,
		.max_size = UINT64_MAX,
		.older_ns = d->config->probes.window_ns / YOUNG_PART,
		.sample_bytes = d->sample_bytes,
		.max_frames = ABI_MAX_FRAMES,
		.max_live = MAX_LIVE,
		.max_stacks = MAX_STACKS,
		.ages = true,
		.providers = {.mmap = true},
		.symbols = d->config->symbols,
	};
	int err = trace_options_choose(&t, ATTACH_AUTO);

	if (!err)
		err = trace_new(&t, &callbacks, &d->trace);
	if (!err)
		err = trace_cost_start(d->trace);
	return err;
}

int drill_fd(const struct drill *d)
{
	return d->trace ? trace_fd(d->trace) : -1;
}

int drill_process(struct drill *d)
{
	uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int err = d->trace ? trace_process(d->trace) : 0;

	d->own_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
	return err ? err : d->error;
}

/* ---- closing ------------------------------------------------------------------------------ */

struct target_list {
	struct target **items;
	size_t count, room;
	pid_t suspect;
};

static void collect(void *ctx, struct target *target)
{
	const struct watched *watched = *target_user_data(target);
	struct target_list *list = ctx;

	/*
	 * A target whose suspect is not known is a child's child: it goes with the first that
	 * closes.
	 */
	if ((!watched || watched->suspect == list->suspect) && list->count < list->room)
		list->items[list->count++] = target;
}

static void settle(struct drill *d, struct suspect *suspect, const char *note, bool cut)
{
	struct history_process *process =
		suspects_find(d->history, suspect->pid, suspect->start_ticks);
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
static int close_suspect(struct drill *d, size_t index, const char *note, bool cut)
{
	struct suspect *suspect = &d->suspects[index];
	struct target_list list = {.suspect = suspect->pid};
	int err = 0;

	if (suspect->added_ns) {
		list.room = trace_target_count(d->trace);
		list.items = calloc(list.room ? list.room : 1, sizeof(struct target *));
		if (!list.items)
			return log_errno(ENOMEM, "survey");
		trace_for_each_target(d->trace, collect, &list);
		for (size_t i = 0; i < list.count; i++) {
			err = err ? err : consider(d, list.items[i]);
			free_watched(NULL, list.items[i]);
			trace_remove_target(d->trace, list.items[i]);
		}
		free(list.items);
		settle(d, suspect, note, cut);
	}
	memmove(suspect, suspect + 1, (--d->count - index) * sizeof(*suspect));
	return err;
}

static int close_all(struct drill *d, bool cut)
{
	int err = 0;

	while (d->count && !err)
		err = close_suspect(d, d->count - 1, NULL, cut);
	return err;
}

void drill_close(struct drill *d)
{
	if (d->trace && !trace_process(d->trace))
		close_all(d, false);
}

/* ---- opening ------------------------------------------------------------------------------ */

/* As many as there is room for, beside those that are there. */
static void choose_suspects(struct drill *d, uint64_t now)
{
	struct history_process *chosen[SUSPECTS_MAX];
	size_t n = suspects_choose(d->config, d->history, d->scope, now, chosen);

	for (size_t i = 0; i < n && d->count < d->config->probes.suspects; i++) {
		if (!find_suspect(d, chosen[i]->now.pid))
			d->suspects[d->count++] =
				(struct suspect){.pid = chosen[i]->now.pid,
						 .start_ticks = chosen[i]->now.start_ticks};
	}
}

static int add_suspect(struct drill *d, size_t index, uint64_t now)
{
	struct suspect *suspect = &d->suspects[index];
	struct history_process *process = history_find(d->history, suspect->pid);
	struct survey_process *data = process ? survey_process_of(process) : NULL;
	struct proc_stat stat;
	int err;

	if (!data || proc_stat(suspect->pid, &stat) || stat.start_ticks != suspect->start_ticks)
		return close_suspect(d, index, NULL, false);
	data->bytes_at_open = process_bytes(&process->now);
	d->last_add_ns = now;
	d->share_before_add = d->share_now;
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
		data->drill.note = survey_result_refusal(err);
	}
	return close_suspect(d, index, NULL, false);
}

static int open_window(struct drill *d, uint64_t now)
{
	double spent = cpu_account_spent(&d->account, now);
	int err = 0;

	/* Half of it must be there: a window that ends as soon as it has begun finds nothing. */
	if (now < d->rest_until_ns || spent > d->config->probes.budget / 1000.0 / 2)
		return 0;
	choose_suspects(d, now);
	if (!d->count)
		return 0;
	d->opened_ns = now;
	d->cost_at_opening = d->own_ns + d->totals.probe_ns;
	if (d->coarsen) {
		unload(d);
		d->sample_bytes *= COARSER;
		if (d->sample_bytes > MAX_SAMPLE_BYTES)
			d->sample_bytes = MAX_SAMPLE_BYTES;
		d->coarsen = false;
	}
	if (!d->trace)
		err = load(d);
	return err ? err : add_suspect(d, 0, now);
}

/* ---- the budget --------------------------------------------------------------------------- */

/*
 * What loading, placing and naming took of our own time counts, too: the next window waits until
 * all of it is within the budget.
 */
static void rest(struct drill *d)
{
	uint64_t cost = d->own_ns + d->totals.probe_ns - d->cost_at_opening;

	d->rest_until_ns =
		d->opened_ns + (uint64_t)((double)cost * 1000 / d->config->probes.budget);
	log_debug("a window took %llu ms of CPU time; the next one in %lld s at the earliest",
		  (unsigned long long)(cost / NS_PER_MS),
		  d->rest_until_ns > monotonic_ns()
			  ? (long long)((d->rest_until_ns - monotonic_ns()) / NS_PER_S)
			  : 0);
}

static int measure(struct drill *d, uint64_t now)
{
	struct trace_cost cost;
	int err;

	/* Over less than that a share says nothing. */
	if (d->cost_ns_at && now - d->cost_ns_at < MIN_MEASURE_NS)
		return 0;
	err = trace_cost_read(d->trace, &cost);
	if (err)
		return err;
	if (d->cost_ns_at && now > d->cost_ns_at) {
		uint64_t spent = cost.ns - d->cost.ns;

		d->share_now = (double)spent / (double)(now - d->cost_ns_at);
		if (d->share_now <= BUSY_SHARE)
			d->busy_since_ns = 0;
		else if (!d->busy_since_ns)
			d->busy_since_ns = d->cost_ns_at;
		cpu_account_add(&d->account, now, spent);
		d->totals.probe_hits += cost.hits - d->cost.hits;
		d->totals.probe_ns += spent;
	}
	d->cost = cost;
	d->cost_ns_at = now;
	return 0;
}

/* Walking stacks, which sampling makes rarer, costs more than the traps, which it does not. */
static bool coarser_would_help(const struct drill *d)
{
	return d->sample_bytes < MAX_SAMPLE_BYTES && d->cost.run_ns * 2 > d->cost.ns;
}

static int over_budget(struct drill *d)
{
	d->coarsen = coarser_would_help(d);
	log_debug("the probes' budget is used up: window closed%s",
		  d->coarsen ? ", the next one samples less" : "");
	return close_all(d, true);
}

/* The one that was added last is what the share has risen by. */
static int too_busy(struct drill *d)
{
	size_t last = d->count;

	d->busy_since_ns = 0; /* whoever stays is measured anew */
	while (last > 0 && !d->suspects[last - 1].added_ns)
		last--;
	if (!last)
		return 0;
	if (d->share_now - d->share_before_add < BUSY_SHARE)
		return over_budget(d);
	return close_suspect(d, last - 1,
			     "too busy for the budget: probes would take a good part of a CPU; "
			     "raise --budget, or trace it alone with -p",
			     true);
}

static int next_suspect(struct drill *d, uint64_t now)
{
	/* While somebody is busy, the last one that was added is to be the one. */
	if (now - d->last_add_ns < STEP_NS || d->busy_since_ns)
		return 0;
	for (size_t i = 0; i < d->count; i++) {
		if (!d->suspects[i].added_ns)
			return add_suspect(d, i, now);
	}
	return 0;
}

static int close_those_due(struct drill *d, uint64_t now)
{
	int err = 0;

	for (size_t i = d->count; i-- > 0 && !err;) {
		const struct suspect *s = &d->suspects[i];
		const struct history_process *process = history_find(d->history, s->pid);

		if (!process || process->now.start_ticks != s->start_ticks ||
		    (s->added_ns && now >= s->added_ns + d->config->probes.window_ns))
			err = close_suspect(d, i, NULL, false);
	}
	return err;
}

static int tick(struct drill *d)
{
	uint64_t now = monotonic_ns();
	int err = d->trace ? measure(d, now) : 0;

	if (err)
		return err;
	if (!d->count)
		return open_window(d, now);
	err = close_those_due(d, now);
	if (err || !d->count)
		return err;
	if (d->busy_since_ns && now - d->busy_since_ns > BUSY_NS)
		return too_busy(d);
	if (cpu_account_spent(&d->account, now) > d->config->probes.budget / 1000.0)
		return over_budget(d);
	/*
	 * Who is found suspect a little later has its turn, too: the next window may be long in
	 * coming.
	 */
	if (now < d->opened_ns + d->config->probes.window_ns)
		choose_suspects(d, now);
	return next_suspect(d, now);
}

int drill_tick(struct drill *d)
{
	uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int err;

	if (!d->config->probes.wanted)
		return 0;
	err = tick(d);
	d->own_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
	if (!d->count && d->opened_ns > d->rest_until_ns)
		rest(d);
	return err;
}

bool drill_open(const struct drill *d)
{
	return d->count > 0;
}

size_t drill_watched(const struct drill *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->count; i++)
		n += d->suspects[i].added_ns != 0;
	return n;
}

double drill_share(const struct drill *d)
{
	return cpu_account_spent(&d->account, monotonic_ns());
}

uint64_t drill_sample_bytes(const struct drill *d)
{
	return d->sample_bytes;
}

void drill_totals(const struct drill *d, struct survey_totals *totals)
{
	uint64_t lost[LOST_CAUSES] = {0};

	if (d->trace)
		trace_lost(d->trace, NULL, lost);
	for (int i = 0; i < LOST_CAUSES; i++)
		totals->lost[i] = d->totals.lost[i] + lost[i];
	totals->probe_hits = d->totals.probe_hits;
	totals->probe_ns = d->totals.probe_ns;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/look/history.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/base/hash.h"
#include "user/analysis/trend_series.h"
#include "user/look/history_heirs.h"
#include "user/look/history_trend.h"

/*
 * From its third sample on, what a child takes counts for its parent, until the child is judged by
 * itself. Before that every program takes memory to start with.
 */
#define CHILD_FIRST_SAMPLE  3
#define CHILD_LAST_SAMPLE   TREND_MIN_SAMPLES
#define CHILDREN_MIN_EXITED 3 /* fewer are no pattern */

/* A process is moved to its own control group soon after it has been forked. */
#define LINEAGE_SAMPLES 4

/* A jump by less, or by a smaller share of what is there, makes nobody look closer. */
#define JUMP_BYTES (8 * HISTORY_FLOOR_BYTES)
#define JUMP_PART  20

struct history_key {
	pid_t pid;
	uint32_t pad; /* zero: part of a hash table's key */
	uint64_t start_ticks;
};

struct history_entry {
	struct history_process process; /* first: a pointer to it is one to the entry */
	struct history_key key;
	uint64_t generation; /* of the update that last saw it */
	struct regime regime;
	uint64_t lineage;    /* 0: none, or not asked yet */
	uint64_t at_look_ns; /* the last one at which `bytes` was its memory */
	double bytes, jump;  /* jump: bytes a second, between the last two looks; 0: too small */
	struct trend_series *series;
	struct trend_series *children; /* sums of what children took; NULL: had none */
	struct trend own_trend, children_trend;
	int64_t children_sum;
	unsigned children_grown; /* that have exited after they were seen for long enough to grow */
	UT_hash_handle hh, hh_pid;
};

struct history {
	struct history_entry *by_key;
	struct history_entry *by_pid; /* of those that live */
	uint64_t generation;
	size_t left_out;
	bool exits_known; /* by the source */
	struct history_process **ranked;
	size_t ranked_room;
	struct history_hooks hooks;
	uint64_t look_ns;
	struct history_heirs *heirs;
};

struct history *history_new(uint64_t look_ns, const struct history_hooks *hooks)
{
	struct history *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->hooks = *hooks;
	h->look_ns = look_ns;
	h->heirs = history_heirs_new();
	if (h->heirs)
		return h;
	free(h);
	return NULL;
}

static void history_forget(struct history *h, struct history_entry *e)
{
	HASH_DEL(h->by_key, e);
	if (!e->process.ended)
		HASH_DELETE(hh_pid, h->by_pid, e);
	if (e->process.user_data)
		h->hooks.release(e->process.user_data);
	trend_series_free(e->series);
	trend_series_free(e->children);
	free(e);
}

void history_free(struct history *h)
{
	struct history_entry *e, *next;

	if (!h)
		return;
	HASH_ITER (hh, h->by_key, e, next)
		history_forget(h, e);
	history_heirs_free(h->heirs);
	free(h->ranked);
	free(h);
}

static struct history_entry *history_find_pid(struct history *h, pid_t pid)
{
	struct history_entry *e;

	HASH_FIND(hh_pid, h->by_pid, &pid, sizeof(pid), e);
	return e;
}

static struct history_entry *history_find_key(struct history *h,
					      const struct process_sample *sample)
{
	struct history_key key = {.pid = sample->pid, .start_ticks = sample->start_ticks};
	struct history_entry *e;

	HASH_FIND(hh, h->by_key, &key, sizeof(key), e);
	return e;
}

static struct history_entry *history_add(struct history *h, const struct process_sample *sample)
{
	struct history_entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	regime_init(&e->regime, h->look_ns, HISTORY_FLOOR_BYTES);
	e->process.left = INFINITY;
	e->series = trend_series_new_small();
	if (!e->series) {
		free(e);
		return NULL;
	}
	e->key = (struct history_key){.pid = sample->pid, .start_ticks = sample->start_ticks};
	HASH_ADD(hh, h->by_key, key, sizeof(e->key), e);
	if (e->hh.tbl)
		HASH_ADD(hh_pid, h->by_pid, key.pid, sizeof(e->key.pid), e);
	if (e->hh_pid.tbl)
		return e;
	if (e->hh.tbl)
		HASH_DELETE(hh, h->by_key, e);
	trend_series_free(e->series);
	free(e);
	return NULL;
}

static void history_end(struct history *h, struct history_entry *e)
{
	struct history_entry *parent;

	HASH_DELETE(hh_pid, h->by_pid, e);
	e->process.ended = true;
	if (e->lineage)
		history_heirs_leave(h->heirs, e->lineage, &e->regime);
	parent = history_find_pid(h, e->process.now.ppid);
	if (!parent)
		return;
	parent->children_grown += e->process.samples >= CHILD_FIRST_SAMPLE;
	if (!h->exits_known)
		parent->process.children_exited++;
}

/* Those that have been shown as ended go; those that were not in the list have ended. */
static void history_sweep(struct history *h, bool shown)
{
	struct history_entry *e, *next;

	HASH_ITER (hh, h->by_key, e, next) {
		if (shown && e->process.ended)
			history_forget(h, e);
		else if (!shown && !e->process.ended && e->generation != h->generation)
			history_end(h, e);
	}
}

/* ---- the judgement ------------------------------------------------------------------------ */

static void history_ask_left(const struct history *h, struct history_process *p)
{
	if (h->hooks.left && p->left == INFINITY)
		p->left = h->hooks.left(p);
}

static void history_judge_regime(struct history *h, struct history_entry *e)
{
	struct history_process *p = &e->process;

	p->left = INFINITY;
	/* Asking for what is left takes system calls. */
	if (regime_is_open(&e->regime) || e->jump > 0)
		history_ask_left(h, p);
	regime_judge(&e->regime, p->left, &p->growth);
}

static void history_judge(struct history *h, struct history_entry *e)
{
	struct history_process *p = &e->process;
	double first, last;

	history_judge_regime(h, e);
	/* The thirds of a watch are of no use to what grows now. */
	if (trend_changed(e->series) && p->growth.word < REGIME_FILLING)
		trend_judge(e->series, HISTORY_FLOOR_BYTES, &e->own_trend);
	if (trend_changed(e->series) && trend_lows(e->series, &first, &last)) {
		p->low_then = (uint64_t)first;
		p->low_now = (uint64_t)last;
	}
	if (e->children && e->children_grown >= CHILDREN_MIN_EXITED && trend_changed(e->children))
		trend_judge(e->children, HISTORY_FLOOR_BYTES, &e->children_trend);
	history_trend_of(&p->growth, &e->own_trend, &p->trend);
	p->of_children = p->trend.kind != TREND_GROWING && e->children_trend.kind == TREND_GROWING;
	if (p->of_children) {
		p->trend = e->children_trend;
		/* A job that needs its memory to the end does the same: this stays a suspicion. */
		p->trend.leaking = false;
		p->trend.reason = "its children grow until they exit";
	}
	if (p->trend.kind == TREND_GROWING)
		history_ask_left(h, p);
}

/* Once it is where it belongs: what is known of the one before is known of it. */
static void history_take_place(struct history *h, struct history_entry *e)
{
	if (!h->hooks.lineage || e->process.samples != LINEAGE_SAMPLES)
		return;
	e->lineage = h->hooks.lineage(&e->process);
	if (e->lineage)
		history_heirs_take(h->heirs, e->lineage, &e->regime);
}

/* A jump so large that at its pace it matters soon is worth a closer look. */
static void history_add_look(struct history_entry *e, uint64_t time_ns)
{
	double bytes = (double)process_bytes(&e->process.now), jump = bytes - e->bytes;

	e->jump = 0;
	if (e->at_look_ns && jump > JUMP_BYTES && jump > bytes / JUMP_PART)
		e->jump = jump / ((double)(time_ns - e->at_look_ns) / NS_PER_S);
	e->bytes = bytes;
	e->at_look_ns = time_ns;
	regime_add(&e->regime, time_ns, bytes);
}

/* ---- looks -------------------------------------------------------------------------------- */

static int history_take_sample(struct history *h, uint64_t time_ns,
			       const struct process_sample *sample)
{
	struct history_entry *e = history_find_key(h, sample), *parent;
	uint64_t before;

	if (!e) {
		if (HASH_COUNT(h->by_key) >= HISTORY_MAX) {
			h->left_out++;
			return 0;
		}
		e = history_find_pid(h, sample->pid);
		if (e) /* its pid has been given to another process since */
			history_end(h, e);
		e = history_add(h, sample);
		if (!e)
			return -ENOMEM;
	}
	before = process_bytes(&e->process.now);
	e->process.now = *sample;
	e->process.samples++;
	if (h->exits_known) {
		e->process.children_exited = sample->exited;
		e->process.children_peak = sample->exited_peak;
	}
	e->generation = h->generation;
	if (e->process.samples >= CHILD_FIRST_SAMPLE && e->process.samples <= CHILD_LAST_SAMPLE) {
		parent = history_find_pid(h, sample->ppid);
		if (parent)
			parent->children_sum += (int64_t)(process_bytes(sample) - before);
	}
	history_add_look(e, time_ns);
	history_take_place(h, e);
	return trend_add(e->series, time_ns, process_bytes(sample));
}

static int history_add_children(struct history_entry *e, uint64_t time_ns)
{
	if (!e->children && !e->children_grown)
		return 0;
	if (!e->children)
		e->children = trend_series_new_small();
	if (!e->children)
		return -ENOMEM;
	return trend_add(e->children, time_ns, e->children_sum > 0 ? (uint64_t)e->children_sum : 0);
}

int history_update(struct history *h, uint64_t time_ns, const struct process_list *list)
{
	struct history_entry *e, *next;
	int err = 0;

	history_sweep(h, true);
	h->generation++;
	h->left_out = 0;
	h->exits_known = list->exits_known;
	for (size_t i = 0; !err && i < list->count; i++)
		err = history_take_sample(h, time_ns, &list->items[i]);
	if (err)
		return err;
	history_sweep(h, false);
	HASH_ITER (hh, h->by_key, e, next) {
		if (e->process.ended)
			continue;
		err = history_add_children(e, time_ns);
		if (err)
			return err;
		history_judge(h, e);
	}
	return 0;
}

int history_look_closer(struct history *h, uint64_t time_ns, const struct process_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct history_entry *e = history_find_key(h, &list->items[i]);

		if (!e || e->process.ended || e->at_look_ns >= time_ns)
			continue;
		e->process.now = list->items[i];
		history_add_look(e, time_ns);
		if (regime_is_open(&e->regime) || e->jump > 0)
			history_judge(h, e);
	}
	return 0;
}

bool history_is_urgent(const struct history *h, double within_s)
{
	const struct history_entry *e, *next;

	HASH_ITER (hh, h->by_key, e, next) {
		const struct regime_judgement *growth = &e->process.growth;

		if (e->process.ended)
			continue;
		if (growth->word >= REGIME_GROWING && growth->limit_known &&
		    growth->limit_s < within_s)
			return true;
		if (e->jump > 0 && isfinite(e->process.left) &&
		    e->jump * within_s > e->process.left)
			return true;
	}
	return false;
}

/* ---- ranking ------------------------------------------------------------------------------ */

static int history_suspicion(const struct history_process *p)
{
	return p->trend.kind != TREND_GROWING ? 0 : p->trend.leaking ? 2 : 1;
}

static double history_rank_growth(const struct history_process *p)
{
	bool counts = p->trend.kind == TREND_GROWING || p->trend.kind == TREND_TOO_EARLY;

	return counts && p->trend.growth_known && p->trend.growth > 0 ? p->trend.growth : 0;
}

static double history_rank_limit(const struct history_process *p)
{
	return history_suspicion(p) && p->growth.limit_known ? p->growth.limit_s : INFINITY;
}

static int history_more_suspect(const void *a, const void *b)
{
	const struct history_process *x = *(struct history_process *const *)a;
	const struct history_process *y = *(struct history_process *const *)b;
	uint64_t bytes_x = process_bytes(&x->now), bytes_y = process_bytes(&y->now);
	double growth_x = history_rank_growth(x), growth_y = history_rank_growth(y);

	if (history_suspicion(x) != history_suspicion(y))
		return history_suspicion(y) - history_suspicion(x);
	if (history_rank_limit(x) != history_rank_limit(y))
		return history_rank_limit(x) < history_rank_limit(y) ? -1 : 1;
	if (growth_x != growth_y)
		return growth_x > growth_y ? -1 : 1;
	if (bytes_x != bytes_y)
		return bytes_x > bytes_y ? -1 : 1;
	return x->now.pid < y->now.pid ? -1 : x->now.pid > y->now.pid;
}

struct history_process *const *history_ranked(struct history *h, size_t *count)
{
	size_t n = HASH_COUNT(h->by_key), i = 0;
	struct history_entry *e, *next;

	*count = 0;
	if (n > h->ranked_room || !h->ranked) {
		struct history_process **grown =
			reallocarray(h->ranked, n ? n : 1, sizeof(struct history_process *));

		if (!grown)
			return NULL;
		h->ranked = grown;
		h->ranked_room = n;
	}
	HASH_ITER (hh, h->by_key, e, next)
		h->ranked[i++] = &e->process;
	qsort(h->ranked, n, sizeof(struct history_process *), history_more_suspect);
	*count = n;
	return h->ranked;
}

struct history_process *history_find(struct history *h, pid_t pid)
{
	struct history_entry *e = history_find_pid(h, pid);

	return e ? &e->process : NULL;
}

struct history_process *history_find_begun(struct history *h, pid_t pid, uint64_t start_ticks)
{
	const struct process_sample sample = {.pid = pid, .start_ticks = start_ticks};
	struct history_entry *e = history_find_key(h, &sample);

	return e ? &e->process : NULL;
}

size_t history_values(const struct history_process *process, double *values, size_t max)
{
	const struct history_entry *e = (const struct history_entry *)process;

	return trend_values(process->of_children ? e->children : e->series, values, max);
}

size_t history_left_out(const struct history *h)
{
	return h->left_out;
}

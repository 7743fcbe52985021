// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/analysis/merge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/lost_cause.h"
#include "user/base/util.h"
#include "user/model/id_map.h"

bool merge_same_program(const struct snapshot *a, const struct snapshot *b)
{
	return !strncmp(a->comm, b->comm, sizeof(a->comm));
}

static uint64_t merge_larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void merge_add_stack(struct stack *to, const struct stack *from)
{
	amount_add(&to->live, &from->live);
	amount_add(&to->alloc, &from->alloc);
	amount_add(&to->free, &from->free);
	amount_add(&to->older, &from->older);
	to->error_bytes = hypot(to->error_bytes, from->error_bytes);
	to->oldest_ns = merge_larger(to->oldest_ns, from->oldest_ns);
	if (to->figures && from->figures)
		figures_add(to->figures, from->figures);
}

static void merge_add_notes(struct stack_notes *to, const struct stack_notes *from)
{
	to->delta_bytes += from->delta_bytes;
	to->delta_count += from->delta_count;
	/* One process only may have found the names. */
	if (!to->frames && from->frames) {
		to->frames = from->frames;
		to->frame_count = from->frame_count;
	}
}

/* A sum with an unknown part is unknown: 0. */
static void merge_add_heaps(struct untraced_heaps *to, const struct untraced_heaps *from)
{
	for (size_t i = 0; i < UNTRACED_HEAPS; i++) {
		bool others = to->kinds & 1u << i;

		if (!(from->kinds & 1u << i))
			continue;
		to->bytes[i] = from->bytes[i] && (to->bytes[i] || !others)
				       ? to->bytes[i] + from->bytes[i]
				       : 0;
	}
	to->kinds |= from->kinds;
}

/* Adds the figures of the processes themselves. */
static void merge_add_head(struct snapshot *to, const struct snapshot *from)
{
	to->time_ns = merge_larger(to->time_ns, from->time_ns);
	to->elapsed_ns = merge_larger(to->elapsed_ns, from->elapsed_ns);
	to->interval_ns = merge_larger(to->interval_ns, from->interval_ns);
	to->final &= from->final;
	to->children_late |= from->children_late;
	amount_add(&to->arenas, &from->arenas);
	merge_add_heaps(&to->heaps, &from->heaps);
	to->unknown_frees += from->unknown_frees;
	/* Exact plus sampled is an estimate. */
	to->sample_bytes = merge_larger(to->sample_bytes, from->sample_bytes);
	if (to->attached != from->attached)
		to->attached = ATTACHED_BY_UNKNOWN;
	/* Each snapshot has all losses that belong to no target: counted once. */
	for (size_t i = 0; i < LOST_CAUSES; i++)
		to->lost[i] += from->lost[i] - from->lost_anywhere[i];
	to->memory.rss += from->memory.rss;
	to->memory.anon += from->memory.anon;
	to->memory.pss += from->memory.pss;
	to->ages_unread = merge_larger(to->ages_unread, from->ages_unread);
	to->growth.anon += from->growth.anon;
	to->growth.untraced += from->growth.untraced;
	to->growth.mmap_traced |= from->growth.mmap_traced;
	to->figures_kept = figures_of_bits(figures_bits(&to->figures_kept) &
					   figures_bits(&from->figures_kept));
	to->processes += from->processes ? from->processes : 1;
	to->ended += from->processes ? from->ended : from->exited || from->execed;
}

/* The sum that is being made. */
struct merge {
	struct snapshot *sum;
	struct stack_notes *notes; /* of sum->stacks */
	struct id_map map;	   /* stack id -> index there */
};

/* places[i]: the index in the sum, from 1, of the snapshot's scope i. 0 or -ENOMEM. */
static int merge_add_scopes(struct merge *m, const struct snapshot *from, uint32_t *places)
{
	struct scopes_list *sum = &m->sum->scopes;

	m->sum->scoped |= from->scoped;
	for (size_t i = 0; i < from->scopes.count; i++) {
		const struct scope *scope = &from->scopes.items[i];
		struct scope *to = scopes_list_get(sum, scope->function, scope->tag);

		if (!to || scope_add_figures(to, scope))
			return -ENOMEM;
		places[i] = (uint32_t)(to - sum->items) + 1;
	}
	return 0;
}

static int merge_add_stacks(struct merge *m, const struct report *from, uint32_t number,
			    const uint32_t *places)
{
	for (size_t i = 0; i < from->snapshot->stack_count; i++) {
		const struct stack *stack = &from->snapshot->stacks[i];
		struct stack *to;
		uint32_t at;

		if (id_map_get(&m->map, stack->id, &at)) {
			merge_add_stack(&m->sum->stacks[at], stack);
			merge_add_notes(&m->notes[at], &from->notes[i]);
			continue;
		}
		at = (uint32_t)m->sum->stack_count++;
		to = &m->sum->stacks[at];
		*to = *stack;
		to->index = number;
		to->scope = stack->scope && stack->scope <= from->snapshot->scopes.count
				    ? places[stack->scope - 1]
				    : 0;
		memset(to->verdict, 0, sizeof(to->verdict));
		to->unjoined = (struct unjoined_threads){0};
		to->kept = to->hangs = (struct amount){0};
		/* Those belong to the process's own snapshot. */
		to->held_by = to->contents = NULL;
		to->contents_len = 0;
		to->figures = m->sum->figures ? &m->sum->figures[at] : NULL;
		if (to->figures && stack->figures)
			*to->figures = *stack->figures;
		merge_add_notes(&m->notes[at], &from->notes[i]);
		if (id_map_put(&m->map, stack->id, at))
			return -ENOMEM;
	}
	return 0;
}

/* The pool that forgets first gives the age. */
static void merge_add_guard(struct guard_state *to, const struct guard_state *from)
{
	to->asked |= from->asked;
	to->on |= from->on;
	to->reason = to->reason ?: from->reason;
	to->period = merge_larger(to->period, from->period);
	to->places += from->places;
	to->in_use += from->in_use;
	to->guarded += from->guarded;
	to->freed += from->freed;
	to->full += from->full;
	to->passed += from->passed;
	to->unfit += from->unfit;
	to->amid += from->amid;
	to->unseen += from->unseen;
	if (from->oldest_free_ms &&
	    (!to->oldest_free_ms || from->oldest_free_ms < to->oldest_free_ms))
		to->oldest_free_ms = from->oldest_free_ms;
	to->no_use_after_free |= from->no_use_after_free;
	to->lost += from->lost;
}

/* There are few of them. 0 or -ENOMEM. */
static int merge_add_accesses(struct snapshot *sum, const struct report *from)
{
	const struct misuse_list *more = &from->misuses[MISUSE_BY_GUARD];
	struct misuse_list *list = &sum->misuses[MISUSE_BY_GUARD];
	struct misuse *grown;

	if (!more->count)
		return 0;
	grown = reallocarray(list->items, list->count + more->count, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	list->items = grown;
	for (size_t i = 0; i < more->count; i++) {
		const struct misuse *misuse = &more->items[i];
		size_t at = 0;

		while (at < list->count &&
		       (grown[at].kind != misuse->kind || !misuse_same_calls(&grown[at], misuse)))
			at++;
		if (at < list->count) {
			grown[at].count += misuse->count;
			continue;
		}
		grown[list->count] = *misuse;
		grown[list->count++].suppressed = NULL;
	}
	return 0;
}

/* Replaces the notes of a first snapshot by the sum's own. 0 or -ENOMEM. */
static int merge_finish(struct merge *m, struct report **out)
{
	struct report *report;

	m->sum->exited = m->sum->ended == m->sum->processes;
	misuses_sort(m->sum->misuses[MISUSE_BY_GUARD].items,
		     m->sum->misuses[MISUSE_BY_GUARD].count);
	snapshot_total(m->sum);
	report = report_new(TAKE_PTR(m->sum));
	if (!report)
		return -ENOMEM;
	report->delta_bytes = report->delta_count = 0;
	for (size_t i = 0; i < report->snapshot->stack_count; i++) {
		report->notes[i] = m->notes[i];
		report->delta_bytes += m->notes[i].delta_bytes;
		report->delta_count += m->notes[i].delta_count;
	}
	*out = report;
	return 0;
}

static int merge_begin(struct merge *m, const struct report *const *list, size_t count)
{
	const struct snapshot *first = list[0]->snapshot;
	size_t room = 1;

	for (size_t i = 0; i < count; i++)
		room += list[i]->snapshot->stack_count;
	*m = (struct merge){.sum = calloc(1, sizeof(*m->sum)),
			    .notes = calloc(room, sizeof(*m->notes))};
	if (!m->sum || !m->notes)
		return -ENOMEM;
	m->sum->stacks = calloc(room, sizeof(*m->sum->stacks));
	if (!m->sum->stacks)
		return -ENOMEM;
	if (first->figures) {
		m->sum->figures = calloc(room, sizeof(*m->sum->figures));
		if (!m->sum->figures)
			return -ENOMEM;
	}
	m->sum->figures_kept = first->figures_kept;
	/* Processes have their peaks at different times. */
	m->sum->figures_kept.peak = false;
	m->sum->target_id = first->target_id;
	m->sum->pid = first->pid;
	m->sum->sample_bytes = first->sample_bytes;
	m->sum->attached = first->attached;
	memcpy(m->sum->comm, first->comm, sizeof(m->sum->comm));
	memcpy(m->sum->lost, first->lost_anywhere, sizeof(m->sum->lost));
	memcpy(m->sum->lost_anywhere, first->lost_anywhere, sizeof(m->sum->lost));
	m->sum->final = true;
	return 0;
}

int merge_reports(const struct report *const *list, size_t count, const struct merge_identity *as,
		  struct report **out)
{
	struct merge m;
	int err = merge_begin(&m, list, count);

	for (size_t i = 0; !err && i < count; i++) {
		const struct snapshot *s = list[i]->snapshot;
		_cleanup_free_ uint32_t *places =
			calloc(s->scopes.count ? s->scopes.count : 1, sizeof(*places));

		merge_add_head(m.sum, s);
		merge_add_guard(&m.sum->guard, &s->guard);
		err = places ? merge_add_scopes(&m, s, places) : -ENOMEM;
		err = err ?: merge_add_stacks(&m, list[i], (uint32_t)i, places);
		err = err ?: merge_add_accesses(m.sum, list[i]);
	}
	if (!err && as) {
		m.sum->target_id = as->target_id;
		m.sum->pid = as->pid;
		m.sum->final = as->final;
	}
	err = err ?: merge_finish(&m, out);
	id_map_free(&m.map);
	snapshot_free(m.sum);
	free(m.notes);
	return err;
}

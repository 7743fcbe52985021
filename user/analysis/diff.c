// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/analysis/diff.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/lost_cause.h"
#include "user/analysis/diff_accesses.h"
#include "user/analysis/stack_key.h"
#include "user/base/hash.h"
#include "user/base/util.h"

/* One stack, by its names, or one row. */
struct entry {
	char *key;
	uint64_t largest; /* bytes of the stack whose names it has */
	char *names;	  /* of a row: what its first stack would have for a key */
	struct compared_stack stack;
	UT_hash_handle hh;
};

struct diff {
	enum site_by by;
	struct site_rules rules;
	struct entry *entries;
	struct comparison comparison;
	struct scopes_list old_scopes, new_scopes;
	struct diff_accesses accesses;
};

struct diff *diff_new(enum site_by by, const struct site_rules *rules)
{
	struct diff *diff = calloc(1, sizeof(struct diff));

	if (!diff)
		return NULL;
	diff->by = by;
	if (rules)
		diff->rules = *rules;
	return diff;
}

void diff_free(struct diff *diff)
{
	struct entry *entry, *next;

	if (!diff)
		return;
	HASH_ITER (hh, diff->entries, entry, next) {
		HASH_DEL(diff->entries, entry);
		free(entry->key);
		free(entry->names);
		free(entry);
	}
	free(diff->comparison.stacks);
	free(diff->comparison.scopes);
	free(diff->comparison.accesses);
	diff_accesses_release(&diff->accesses);
	scopes_list_release(&diff->old_scopes);
	scopes_list_release(&diff->new_scopes);
	free(diff);
}

/* Of the stack's names, or by the site alone where it is to be in a row. */
static char *diff_make_key(const struct diff *diff, const struct stack *stack,
			   const struct stack_notes *notes, bool in_row)
{
	char *key = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&key, &len);

	if (!out)
		return NULL;
	if (in_row)
		fprintf(out, "%" PRIx64,
			site_row_id(notes->frames, notes->frame_count, diff->by, &diff->rules));
	else
		stack_key_put(out, notes->frames, notes->frame_count, stack->end);
	if (close_memstream(out)) {
		free(key);
		return NULL;
	}
	return key;
}

static struct stack diff_names_of(const struct stack *stack, const struct stack_notes *notes)
{
	return (struct stack){
		.id = stack->id,
		.truncated = stack->truncated,
		.end = stack->end,
		.frames = notes->frames,
		.frame_count = notes->frame_count,
	};
}

/* A stack of a row that is there: the row has the names of its largest one. */
static int diff_note_names(const struct diff *diff, struct entry *entry, const struct stack *stack,
			   const struct stack_notes *notes)
{
	_cleanup_free_ char *names = diff_make_key(diff, stack, notes, false);

	if (!names)
		return -ENOMEM;
	if (!entry->names)
		entry->names = TAKE_PTR(names);
	else
		entry->stack.several |= strcmp(entry->names, names) != 0;
	if (stack->live.bytes > entry->largest) {
		entry->largest = stack->live.bytes;
		entry->stack.names = diff_names_of(stack, notes);
	}
	return 0;
}

/* Finds the entry of a stack's names, or makes it. */
static struct entry *diff_get_entry(struct diff *diff, const struct stack *stack,
				    const struct stack_notes *notes, bool in_row)
{
	char *key = diff_make_key(diff, stack, notes, in_row);
	struct entry *entry = NULL;

	if (!key)
		return NULL;
	HASH_FIND_STR(diff->entries, key, entry);
	if (entry) {
		free(key);
		return in_row && diff_note_names(diff, entry, stack, notes) ? NULL : entry;
	}
	entry = calloc(1, sizeof(*entry));
	if (!entry) {
		free(key);
		return NULL;
	}
	entry->key = key;
	entry->stack.names = diff_names_of(stack, notes);
	entry->largest = stack->live.bytes;
	HASH_ADD_KEYPTR(hh, diff->entries, entry->key, strlen(entry->key), entry);
	if (entry->hh.tbl)
		return in_row && diff_note_names(diff, entry, stack, notes) ? NULL : entry;
	free(entry);
	free(key);
	return NULL;
}

static void diff_add_side(struct compared_side *side, const struct report *report)
{
	const struct snapshot *s = report->snapshot;

	if (!side->processes++) {
		side->pid = s->pid;
		memcpy(side->comm, s->comm, sizeof(side->comm));
	}
	side->ended += s->exited;
	if (s->time_ns > side->time_ns) {
		side->time_ns = s->time_ns;
		side->elapsed_ns = s->elapsed_ns;
	}
	side->sample_bytes = s->sample_bytes;
	side->inspected = s->inspected;
	side->surveyed = s->surveyed;
	for (int i = 0; i < LOST_CAUSES; i++)
		side->lost += s->lost[i];
}

/* 0 or -ENOMEM. */
static int diff_add_accesses(struct diff *diff, const struct report *report, bool is_new)
{
	struct compared_side *side = is_new ? &diff->comparison.now : &diff->comparison.old;
	const struct misuse_list *list = &report->misuses[MISUSE_BY_GUARD];
	const struct snapshot *s = report->snapshot;
	int err = 0;

	side->guarded |= s->guard.asked || list->count;
	side->guarded_blocks += s->guard.guarded;
	side->not_listed += s->guard.lost;
	for (size_t i = 0; !err && i < list->count; i++) {
		const struct misuse *misuse = &list->items[i];

		if (misuse->suppressed || !misuse->count)
			continue;
		side->bad_accesses += misuse->count;
		err = diff_accesses_add(&diff->accesses, misuse, is_new);
	}
	return err;
}

/* 0 or -ENOMEM. */
static int diff_add_scopes(struct scopes_list *to, const struct snapshot *s)
{
	for (size_t i = 0; i < s->scopes.count; i++) {
		const struct scope *from = &s->scopes.items[i];
		struct scope *scope = scopes_list_get(to, from->function, from->tag);

		if (!scope || scope_add_figures(scope, from))
			return -ENOMEM;
	}
	return 0;
}

int diff_add(struct diff *diff, const struct report *report, bool is_new)
{
	const struct snapshot *s = report->snapshot;
	struct comparison *c = &diff->comparison;
	struct compared_side *side = is_new ? &c->now : &c->old;

	/* The process became another program: it has no memory that could be compared. */
	if (s->execed)
		return diff_add_accesses(diff, report, is_new);
	diff_add_side(side, report);
	if (diff_add_scopes(is_new ? &diff->new_scopes : &diff->old_scopes, s) ||
	    diff_add_accesses(diff, report, is_new))
		return -ENOMEM;
	for (size_t i = 0; i < s->stack_count; i++) {
		const struct stack *stack = &s->stacks[i];
		struct amount *sum;
		struct entry *entry;

		if (!stack->live.count && !stack->live.bytes)
			continue;
		if (report->notes[i].hidden) {
			amount_add(&side->suppressed, &stack->live);
			continue;
		}
		entry = diff_get_entry(diff, stack, &report->notes[i],
				       diff->by != BY_STACK && !s->inspected);
		if (!entry)
			return -ENOMEM;
		sum = is_new ? &entry->stack.now : &entry->stack.old;
		amount_add(sum, &stack->live);
		amount_add(&side->live, &stack->live);
	}
	return 0;
}

static int diff_compare_entries(int64_t a, int64_t b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

static int diff_compare_stacks(const void *a, const void *b, void *by_count)
{
	const struct compared_stack *x = a, *y = b;
	int bytes = diff_compare_entries((int64_t)(x->now.bytes - x->old.bytes),
					 (int64_t)(y->now.bytes - y->old.bytes));
	int count = diff_compare_entries((int64_t)(x->now.count - x->old.count),
					 (int64_t)(y->now.count - y->old.count));
	int order = *(const bool *)by_count ? (count ? count : bytes) : (bytes ? bytes : count);

	if (order)
		return order;
	return x->names.id < y->names.id ? -1 : x->names.id > y->names.id;
}

static void diff_count_change(struct comparison *c, const struct compared_stack *stack)
{
	size_t *const counts[] = {
		[CHANGE_SAME] = &c->same,     [CHANGE_GREW] = &c->grown, [CHANGE_NEW] = &c->fresh,
		[CHANGE_SHRANK] = &c->shrunk, [CHANGE_GONE] = &c->gone,
	};

	++*counts[compared_change(stack)];
}

static double diff_more_per_call(const struct compared_scope *scope)
{
	return (scope->now ? scope_kept_per_call(scope->now) : 0) -
	       (scope->old ? scope_kept_per_call(scope->old) : 0);
}

static int diff_compare_scopes(const void *a, const void *b)
{
	const struct compared_scope *x = a, *y = b;
	double more_x = diff_more_per_call(x), more_y = diff_more_per_call(y);
	int names;

	if (more_x != more_y)
		return more_x > more_y ? -1 : 1;
	names = strcmp(x->function, y->function);
	return names ? names : strcmp(x->tag ?: "", y->tag ?: "");
}

static int diff_finish_scopes(struct diff *diff)
{
	const struct scopes_list *old = &diff->old_scopes, *now = &diff->new_scopes;
	struct comparison *c = &diff->comparison;

	c->scopes = calloc(old->count + now->count + 1, sizeof(*c->scopes));
	if (!c->scopes)
		return -ENOMEM;
	for (size_t i = 0; i < now->count; i++) {
		const struct scope *scope = &now->items[i];

		c->scopes[c->scope_count++] = (struct compared_scope){
			.function = scope->function,
			.tag = scope->tag,
			.old = scopes_list_find(old, scope->function, scope->tag),
			.now = scope,
		};
	}
	for (size_t i = 0; i < old->count; i++) {
		const struct scope *scope = &old->items[i];

		if (!scopes_list_find(now, scope->function, scope->tag))
			c->scopes[c->scope_count++] = (struct compared_scope){
				.function = scope->function, .tag = scope->tag, .old = scope};
	}
	qsort(c->scopes, c->scope_count, sizeof(*c->scopes), diff_compare_scopes);
	return 0;
}

const struct comparison *diff_finish(struct diff *diff, bool by_count)
{
	struct comparison *c = &diff->comparison;
	size_t count = HASH_COUNT(diff->entries), n = 0;
	struct entry *entry, *next;

	c->stacks = calloc(count ? count : 1, sizeof(*c->stacks));
	if (!c->stacks || diff_finish_scopes(diff) || diff_accesses_finish(&diff->accesses, c))
		return NULL;
	HASH_ITER (hh, diff->entries, entry, next) {
		c->stacks[n++] = entry->stack;
		diff_count_change(c, &entry->stack);
	}
	c->stack_count = n;
	qsort_r(c->stacks, n, sizeof(*c->stacks), diff_compare_stacks, &by_count);
	return c;
}

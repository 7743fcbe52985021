// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/scope_sums.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void scope_release(struct scope *scope)
{
	free(scope->function);
	free(scope->tag);
	free(scope->kept_calls);
}

void scopes_list_release(struct scopes_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		scope_release(&list->items[i]);
	free(list->items);
	*list = (struct scopes_list){0};
}

static bool scope_is(const struct scope *scope, const char *function, const char *tag)
{
	return !strcmp(scope->function, function) && !scope->tag == !tag &&
	       (!tag || !strcmp(scope->tag, tag));
}

struct scope *scopes_list_find(const struct scopes_list *list, const char *function,
			       const char *tag)
{
	for (size_t i = 0; i < list->count; i++) {
		if (scope_is(&list->items[i], function, tag))
			return &list->items[i];
	}
	return NULL;
}

static struct scope *scopes_list_append(struct scopes_list *list, const char *function,
					const char *tag)
{
	struct scope *there, *grown;

	/* Doubles at powers of two: few lists are long. */
	if (!(list->count & (list->count - 1))) {
		grown = realloc(list->items, (list->count ? 2 * list->count : 1) * sizeof(*grown));
		if (!grown)
			return NULL;
		list->items = grown;
	}
	there = &list->items[list->count];
	*there = (struct scope){.function = strdup(function), .tag = tag ? strdup(tag) : NULL};
	if (!there->function || !there->tag != !tag) {
		scope_release(there);
		return NULL;
	}
	list->count++;
	return there;
}

struct scope *scopes_list_get(struct scopes_list *list, const char *function, const char *tag)
{
	struct scope *there = scopes_list_find(list, function, tag);

	return there ?: scopes_list_append(list, function, tag);
}

int scope_add_kept_calls(struct scope *scope, uint64_t bytes, uint64_t bytes_max, uint64_t calls)
{
	struct scope_kept *grown, *at;
	size_t i = 0;

	while (i < scope->kept_count &&
	       (scope->kept_calls[i].bytes < bytes || (scope->kept_calls[i].bytes == bytes &&
						       scope->kept_calls[i].bytes_max < bytes_max)))
		i++;
	at = &scope->kept_calls[i];
	if (i < scope->kept_count && at->bytes == bytes && at->bytes_max == bytes_max) {
		at->calls += calls;
		return 0;
	}
	grown = realloc(scope->kept_calls, (scope->kept_count + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	scope->kept_calls = grown;
	memmove(grown + i + 1, grown + i, (scope->kept_count - i) * sizeof(*grown));
	grown[i] = (struct scope_kept){.bytes = bytes, .bytes_max = bytes_max, .calls = calls};
	scope->kept_count++;
	return 0;
}

int scope_add_figures(struct scope *to, const struct scope *from)
{
	int err = 0;

	to->calls += from->calls;
	to->open += from->open;
	to->left += from->left;
	to->timed += from->timed;
	to->time_ns += from->time_ns;
	if (from->time_max_ns > to->time_max_ns)
		to->time_max_ns = from->time_max_ns;
	for (size_t i = 0; i < SCOPE_TIMES; i++)
		to->times[i] += from->times[i];
	/* Nobody knows how many tags both have. */
	to->tags = to->tags && from->tags ? 0 : to->tags + from->tags;
	to->kept_error = hypot(to->kept_error, from->kept_error);
	to->live_error = hypot(to->live_error, from->live_error);
	amount_add(&to->alloc, &from->alloc);
	amount_add(&to->freed, &from->freed);
	amount_add(&to->kept, &from->kept);
	amount_add(&to->live, &from->live);
	amount_add(&to->own_alloc, &from->own_alloc);
	amount_add(&to->own_kept, &from->own_kept);
	amount_add(&to->own_live, &from->own_live);
	for (size_t i = 0; i < from->kept_count && !err; i++)
		err = scope_add_kept_calls(to, from->kept_calls[i].bytes,
					   from->kept_calls[i].bytes_max,
					   from->kept_calls[i].calls);
	return err;
}

/* All members that are no pointers. */
#define SCOPE_FIGURES	   offsetof(struct scope, calls)
#define SCOPE_FIGURES_SIZE (offsetof(struct scope, kept_calls) - SCOPE_FIGURES)

bool scope_same_figures(const struct scope *a, const struct scope *b)
{
	return !memcmp((const char *)a + SCOPE_FIGURES, (const char *)b + SCOPE_FIGURES,
		       SCOPE_FIGURES_SIZE) &&
	       a->kept_count == b->kept_count &&
	       (!a->kept_count ||
		!memcmp(a->kept_calls, b->kept_calls, a->kept_count * sizeof(*a->kept_calls)));
}

int scope_set_figures(struct scope *to, const struct scope *from)
{
	memset((char *)to + SCOPE_FIGURES, 0, SCOPE_FIGURES_SIZE);
	to->kept_count = 0;
	return scope_add_figures(to, from);
}

int scopes_list_copy(struct scopes_list *to, const struct scopes_list *from)
{
	*to = (struct scopes_list){0};
	for (size_t i = 0; i < from->count; i++) {
		const struct scope *scope = &from->items[i];
		struct scope *copy = scopes_list_append(to, scope->function, scope->tag);

		if (!copy || scope_add_figures(copy, scope)) {
			scopes_list_release(to);
			return -ENOMEM;
		}
	}
	return 0;
}

double scope_kept_per_call(const struct scope *scope)
{
	return scope->calls > scope->open
		       ? (double)scope->kept.bytes / (double)(scope->calls - scope->open)
		       : 0;
}

char *scope_name(char buf[static SCOPE_NAME_MAX], const struct scope *scope)
{
	snprintf(buf, SCOPE_NAME_MAX, "%s%s%s", scope->function, scope->tag ? " #" : "",
		 scope->tag ?: "");
	return buf;
}

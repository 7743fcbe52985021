// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Scopes on the page, and what is known of stacks beside their sums: those of each target's last snapshot. */
#include <errno.h>
#include <stdlib.h>

#include "user/base/util.h"
#include "user/export/html.h"

void html_scopes_release(struct html_target *t)
{
	scopes_list_release(&t->scopes);
	for (size_t i = 0; i < t->row_count; i++)
		free(t->rows[i].figures);
}

int html_take_scopes(struct html_target *t, const struct report *r)
{
	const struct snapshot *s = r->snapshot;

	t->scoped = s->scoped;
	t->figures_kept = s->figures_kept;
	t->peak = s->peak;
	scopes_list_release(&t->scopes);
	return scopes_list_copy(&t->scopes, &s->scopes);
}

int html_take_figures(struct html_row *row, const struct stack *stack)
{
	row->scope = stack->scope;
	if (!stack->figures)
		return 0;
	if (!row->figures)
		row->figures = malloc(sizeof(*row->figures));
	if (!row->figures)
		return -ENOMEM;
	*row->figures = *stack->figures;
	return 0;
}

/* Pairs: what, and how many. */
static void html_put_classes_of(struct json *to, const uint64_t *counts, size_t count,
				uint64_t (*start)(size_t class))
{
	json_array(to, NULL);
	for (size_t i = 0; i < count; i++) {
		if (!counts[i])
			continue;
		json_number(to, NULL, start(i));
		json_number(to, NULL, counts[i]);
	}
	json_end(to);
}

static uint64_t html_power(size_t class)
{
	return 1ull << class;
}

static void html_put_amount(struct json *to, const struct amount *amount)
{
	json_number(to, NULL, amount->bytes);
	json_number(to, NULL, amount->count);
}

static void html_put_scope(struct json *to, const struct html_target *t, const struct scope *scope)
{
	json_line(to);
	json_array(to, NULL);
	json_text(to, NULL, scope->function);
	json_text(to, NULL, scope->tag ?: "");
	json_bool(to, NULL, scope->tag != NULL);
	json_number(to, NULL, scope->calls);
	json_number(to, NULL, scope->open);
	json_number(to, NULL, scope->left);
	json_number(to, NULL, scope->timed);
	json_number(to, NULL, scope->time_ns);
	json_number(to, NULL, scope->time_max_ns);
	html_put_amount(to, &scope->alloc);
	html_put_amount(to, &scope->kept);
	html_put_amount(to, &scope->live);
	html_put_amount(to, &scope->own_live);
	html_put_classes_of(to, scope->times, SCOPE_TIMES, html_power);
	json_array(to, NULL);
	/* A sample says nothing of one call. */
	for (size_t i = 0; !t->sample_bytes && i < scope->kept_count; i++) {
		json_number(to, NULL, scope->kept_calls[i].bytes);
		json_number(to, NULL, scope->kept_calls[i].bytes_max);
		json_number(to, NULL, scope->kept_calls[i].calls);
	}
	json_end(to);
	json_number(to, NULL, scope->tags);
	json_end(to);
}

void html_put_scopes(struct json *to, const struct html_target *t)
{
	if (!t->scoped)
		return;
	json_line(to);
	json_array(to, "scopes");
	for (size_t i = 0; i < t->scopes.count; i++)
		html_put_scope(to, t, &t->scopes.items[i]);
	json_end(to);
}

static void html_put_row_figures(struct json *to, const struct html_target *t,
				 const struct html_row *row, size_t number)
{
	const struct stack_figures *f = row->figures;

	json_line(to);
	json_object(to, NULL);
	json_number(to, "row", number);
	if (row->scope && row->scope <= t->scopes.count)
		json_number(to, "scope", row->scope - 1);
	if (f && t->figures_kept.lifetimes) {
		json_array(to, "lifetimes");
		for (size_t i = 0; i < LIFETIME_CLASSES; i++)
			json_number(to, NULL, f->lifetimes[i]);
		json_end(to);
		json_array(to, "outlived");
		json_number(to, NULL, f->outlived_ns);
		html_put_amount(to, &f->outlived);
		json_end(to);
	}
	if (f && t->figures_kept.temporary) {
		json_array(to, "temporary");
		html_put_amount(to, &f->temporary);
		json_end(to);
	}
	if (f && t->figures_kept.sizes) {
		json_bool(to, "powers", f->sizes.by_power);
		json_array(to, "sizes");
		for (size_t i = 0; i < (f->sizes.by_power ? SIZE_CLASSES : SIZES_DISTINCT); i++) {
			if (!f->sizes.counts[i])
				continue;
			json_number(to, NULL,
				    f->sizes.by_power ? size_class_bytes(i) : f->sizes.values[i]);
			json_number(to, NULL, f->sizes.counts[i]);
		}
		json_end(to);
	}
	if (f && t->figures_kept.usable) {
		json_array(to, "usable");
		html_put_amount(to, &f->usable);
		json_number(to, NULL, f->usable_asked);
		json_end(to);
	}
	if (f && t->figures_kept.peak) {
		json_array(to, "peak");
		html_put_amount(to, &f->at_peak);
		json_number(to, NULL, f->peak_bytes);
		json_end(to);
	}
	json_end(to);
}

void html_put_figures(struct json *to, const struct html_target *t)
{
	size_t number = 0;

	if (t->figures_kept.peak && t->peak.bytes) {
		json_array(to, "peak");
		json_number(to, NULL, t->peak.bytes);
		json_number(to, NULL, t->peak.time_ns / 1000000);
		json_number(to, NULL, t->peak.captured_bytes);
		json_end(to);
	}
	if (!t->scopes.count && !figures_any(&t->figures_kept))
		return;
	json_line(to);
	json_array(to, "figures");
	for (size_t i = 0; i < t->row_count; i++) {
		const struct html_row *row = &t->rows[i];

		if (row->hidden)
			continue;
		if (row->figures || row->scope)
			html_put_row_figures(to, t, row, number);
		number++;
	}
	json_end(to);
}

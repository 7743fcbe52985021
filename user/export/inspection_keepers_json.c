// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Who keeps the free memory of a process, and what would give it back, as JSON. */
#include "user/export/json_parts.h"
#include "user/export/render.h"

static void keepers_json_put_kind(struct json *to, const char *key, const struct inspected_group *g)
{
	json_object(to, key);
	json_text(to, "kind", group_kind_name(g->kind));
	json_text(to, "name", g->name);
	json_text(to, "module", g->module);
	/* One group stands for all blocks of its size, however they begin. */
	if (g->size)
		json_number(to, "size", g->size);
	json_end(to);
}

static void keepers_json_put_one(struct json *to, const struct inspection *i,
				 const struct inspected_keeper *k)
{
	json_object(to, NULL);
	if (k->group != SIZE_MAX) {
		keepers_json_put_kind(to, "blocks_of", &i->groups[k->group]);
	} else if (k->stack_id) {
		char id[17];

		snprintf(id, sizeof(id), "%016llx", (unsigned long long)k->stack_id);
		json_text(to, "id", id);
		json_text(to, "function", k->function);
		json_number(to, "oldest_ms", k->oldest_ms);
	} else {
		json_bool(to, "before_attach", true);
	}
	json_number(to, "kept_bytes", k->kept);
	json_number(to, "alone_bytes", k->alone);
	json_number(to, "count", k->blocks);
	if (k->with != SIZE_MAX)
		keepers_json_put_kind(to, "with", &i->groups[k->with]);
	json_end(to);
}

static void keepers_json_put_list(struct json *to, const char *key, const struct inspection *i,
				  size_t allocator, bool stacks)
{
	json_array(to, key);
	for (size_t n = 0; n < i->keeper_count; n++) {
		const struct inspected_keeper *k = &i->keepers[n];

		if (k->allocator == allocator && (k->group == SIZE_MAX) == stacks)
			keepers_json_put_one(to, i, k);
	}
	json_end(to);
}

static void keepers_json_put_help(struct json *to, const struct inspected_help *h)
{
	json_object(to, NULL);
	json_text(to, "what", help_kind_name(h->kind));
	json_number(to, h->exact ? "bytes" : "bytes_at_most", h->bytes);
	json_bool(to, "exact", h->exact);
	if (h->kind == HELP_MALLOC_TRIM) {
		json_number(to, "top_bytes", h->top);
		json_number(to, "left_bytes", h->left);
	}
	if (h->kind == HELP_MMAP_THRESHOLD) {
		json_number(to, "mmap_threshold_bytes", h->mmap_threshold);
		json_number(to, "trim_threshold_bytes", h->trim_threshold);
	}
	json_end(to);
}

void inspection_json_put_keepers(struct json *to, const struct inspection *i)
{
	json_array(to, "keepers");
	for (size_t n = 0; n < i->allocator_count; n++) {
		const struct inspected_allocator *a = &i->allocators[n];

		json_object(to, NULL);
		json_text(to, "allocator", a->name);
		json_text(to, "unit", *a->unit ? a->unit : "page");
		if (a->units)
			json_number(to, "units", a->units);
		json_number(to, "kept_units", a->kept_units);
		json_number(to, "free_resident_bytes", a->free_resident);
		json_number(to, "kept_bytes", a->kept_resident);
		json_number(to, "cached_bytes", a->cached_resident);
		json_number(to, "untold_bytes", a->untold_resident);
		keepers_json_put_list(to, "by", i, n, false);
		if (i->traced)
			keepers_json_put_list(to, "by_stack", i, n, true);
		json_array(to, "helps");
		for (size_t k = 0; k < i->help_count; k++) {
			if (i->helps[k].allocator == n)
				keepers_json_put_help(to, &i->helps[k]);
		}
		json_end(to);
		json_end(to);
	}
	json_end(to);
}

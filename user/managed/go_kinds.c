// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/managed/go_kinds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/parse.h"
#include "user/base/util.h"

#define TABLE_SIZE  (1u << 20)
#define NAME_BYTES  512
#define KINDS_SHOWN 4096 /* the others are summed up */

struct go_kind {
	enum go_kind_form form;
	uint64_t what;
	struct amount live;
};

struct go_kinds {
	const struct go_program *program;
	struct go_type_table *table;
	struct go_kind *kinds; /* by number - 1 */
	size_t count, room;
	uint32_t *numbers; /* by hash */
};

struct go_kinds *go_kinds_new(const struct go_program *program, struct go_type_table *table)
{
	struct go_kinds *kinds = calloc(1, sizeof(*kinds));

	if (!kinds)
		return NULL;
	kinds->program = program;
	kinds->table = table;
	kinds->numbers = calloc(TABLE_SIZE, sizeof(*kinds->numbers));
	if (!kinds->numbers) {
		free(kinds);
		return NULL;
	}
	return kinds;
}

void go_kinds_free(struct go_kinds *kinds)
{
	if (!kinds)
		return;
	free(kinds->kinds);
	free(kinds->numbers);
	free(kinds);
}

int go_kinds_get(struct go_kinds *kinds, enum go_kind_form form, uint64_t what, uint32_t *kind)
{
	size_t i = (size_t)((what * 16 + form) * 0x9e3779b97f4a7c15ull >> 44) % TABLE_SIZE;

	*kind = 0;
	while (kinds->numbers[i]) {
		const struct go_kind *k = &kinds->kinds[kinds->numbers[i] - 1];

		if (k->form == form && k->what == what) {
			*kind = kinds->numbers[i];
			return 0;
		}
		i = (i + 1) % TABLE_SIZE;
	}
	if (kinds->count == GO_KINDS_MAX)
		return 0;
	if (!RESERVE_ITEM(kinds->kinds, kinds->count, kinds->room, 1024))
		return -ENOMEM;
	kinds->kinds[kinds->count++] = (struct go_kind){.form = form, .what = what};
	*kind = kinds->numbers[i] = (uint32_t)kinds->count;
	return 0;
}

uint32_t go_kinds_followed(const struct go_kinds *kinds, uint32_t kind)
{
	const struct go_kind *k = kind ? &kinds->kinds[kind - 1] : NULL;

	return k && k->form <= GO_FORM_LAST_FOLLOWED ? (uint32_t)k->what : 0;
}

bool go_kinds_is_one(const struct go_kinds *kinds, uint32_t kind)
{
	return kind && kinds->kinds[kind - 1].form == GO_FORM_ONE;
}

void go_kinds_count(struct go_kinds *kinds, uint32_t kind, const struct amount *one)
{
	if (kind)
		amount_add(&kinds->kinds[kind - 1].live, one);
}

/* "map.bucket[string]*main.T" and "noalg.map.group[string]*main.T" are how the compiler calls a map's entries. */
static const char *entries_of(const char *name)
{
	static const char *const beginnings[] = {"map.bucket[", "map.group["};

	if (!strncmp(name, "noalg.", 6))
		name += 6;
	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++) {
		size_t len = strlen(beginnings[i]);

		if (!strncmp(name, beginnings[i], len))
			return name + len - 1;
	}
	return NULL;
}

static void name_type(const struct go_kinds *kinds, const struct go_kind *k,
		      char name[static NAME_BYTES])
{
	const char *type = go_type_of(kinds->table, (uint32_t)k->what)->name;
	const char *entries = entries_of(type);

	if (entries)
		snprintf(name, NAME_BYTES, "map%s (entries)", entries);
	else if (k->form == GO_FORM_ENTRIES)
		snprintf(name, NAME_BYTES, "%s (entries of a map)", type);
	else
		snprintf(name, NAME_BYTES, "%s%s%s", k->form == GO_FORM_SLICE ? "[]" : "", type,
			 k->form == GO_FORM_DIRECTORY ? " (directory)"
			 : k->form == GO_FORM_TABLE   ? " (table)"
						      : "");
}

static void name_kind(const struct go_kinds *kinds, const struct go_kind *k,
		      char name[static NAME_BYTES])
{
	const char *function, *file;
	char human[FORMAT_BYTES_MAX];
	uint32_t line;

	switch (k->form) {
	case GO_FORM_STRING:
		snprintf(name, NAME_BYTES, "string");
		break;
	case GO_FORM_CLOSURE:
		go_program_place(kinds->program, k->what, &function, &file, &line);
		snprintf(name, NAME_BYTES, "closure %.480s", function ?: "?");
		break;
	case GO_FORM_GOROUTINE:
		snprintf(name, NAME_BYTES, "runtime.g");
		break;
	case GO_FORM_WITH_POINTERS:
		snprintf(name, NAME_BYTES, "objects of %s with pointers",
			 format_bytes(human, k->what));
		break;
	case GO_FORM_PLAIN:
		snprintf(name, NAME_BYTES, "objects of %s without pointers",
			 format_bytes(human, k->what));
		break;
	default:
		name_type(kinds, k, name);
		break;
	}
}

static int by_name(const void *a, const void *b)
{
	return managed_kind_compare(a, b);
}

static int by_bytes(const void *a, const void *b)
{
	const struct managed_kind *x = a, *y = b;

	if (x->live.bytes != y->live.bytes)
		return x->live.bytes > y->live.bytes ? -1 : 1;
	return managed_kind_compare(x, y);
}

/* Types of the same name are one line; beyond those that are shown all are one. */
static void merge(struct managed_heap *out)
{
	size_t n = 0;

	qsort(out->kinds, out->kind_count, sizeof(*out->kinds), by_name);
	for (size_t i = 0; i < out->kind_count; i++) {
		if (n && !managed_kind_compare(&out->kinds[n - 1], &out->kinds[i])) {
			amount_add(&out->kinds[n - 1].live, &out->kinds[i].live);
			free(out->kinds[i].name);
		} else {
			out->kinds[n++] = out->kinds[i];
		}
	}
	out->kind_count = n;
	qsort(out->kinds, n, sizeof(*out->kinds), by_bytes);
	while (out->kind_count > KINDS_SHOWN) {
		struct managed_kind *last = &out->kinds[--out->kind_count];

		amount_add(&out->kinds[KINDS_SHOWN - 1].live, &last->live);
		free(last->name);
		if (out->kind_count == KINDS_SHOWN)
			snprintf(out->kinds[KINDS_SHOWN - 1].name, 2, "?");
	}
}

int go_kinds_take(struct go_kinds *kinds, struct managed_heap *out)
{
	out->kinds = calloc(kinds->count + 1, sizeof(*out->kinds));
	if (!out->kinds)
		return -ENOMEM;
	for (size_t i = 0; i < kinds->count; i++) {
		const struct go_kind *k = &kinds->kinds[i];
		char name[NAME_BYTES];

		if (!k->live.count)
			continue;
		name_kind(kinds, k, name);
		out->kinds[out->kind_count] = (struct managed_kind){
			.name = strdup(name),
			.type_known = k->form < GO_FORM_WITH_POINTERS,
			.live = k->live,
		};
		if (!out->kinds[out->kind_count].name)
			return -ENOMEM;
		out->kind_count++;
	}
	merge(out);
	return 0;
}

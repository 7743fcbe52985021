// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/symbol/kallsyms.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"

struct kallsyms_item {
	uint64_t address;
	uint32_t name, module; /* offsets of `names`; module 0: none */
};

struct kallsyms {
	struct kallsyms_item *items; /* ascending */
	size_t count, room;
	char *names; /* strings; the first is empty */
	size_t names_used, names_room;
	uint32_t last_module; /* modules come one behind the other */
};

/* UINT32_MAX when out of memory. */
static uint32_t kallsyms_keep(struct kallsyms *k, const char *text)
{
	const size_t len = strlen(text) + 1, at = k->names_used;

	while (k->names_room - k->names_used < len) {
		size_t room = k->names_room ? 2 * k->names_room : 1 << 20;
		char *names = room < UINT32_MAX ? realloc(k->names, room) : NULL;

		if (!names)
			return UINT32_MAX;
		k->names = names;
		k->names_room = room;
	}
	memcpy(k->names + at, text, len);
	k->names_used += len;
	return (uint32_t)at;
}

static bool kallsyms_add(struct kallsyms *k, uint64_t address, const char *name, const char *module)
{
	struct kallsyms_item item = {.address = address};

	if (!RESERVE_ITEM(k->items, k->count, k->room, 1 << 16))
		return false;
	item.name = kallsyms_keep(k, name);
	if (*module) {
		if (!k->last_module || strcmp(k->names + k->last_module, module) != 0)
			k->last_module = kallsyms_keep(k, module);
		item.module = k->last_module;
	}
	if (item.name == UINT32_MAX || item.module == UINT32_MAX)
		return false;
	k->items[k->count++] = item;
	return true;
}

static int kallsyms_order(const void *a, const void *b)
{
	return compare_u64(&((const struct kallsyms_item *)a)->address,
			   &((const struct kallsyms_item *)b)->address);
}

struct kallsyms *kallsyms_read(FILE *file)
{
	struct kallsyms *k = calloc(1, sizeof(*k));
	char line[1024], name[512], module[128], type;
	bool whole = k && kallsyms_keep(k, "") == 0;
	uint64_t address;

	while (whole && fgets(line, sizeof(line), file)) {
		*module = '\0';
		if (sscanf(line, "%" SCNx64 " %c %511s [%127[^]]]", &address, &type, name,
			   module) >= 3 &&
		    address && strchr("tTwW", type))
			whole = kallsyms_add(k, address, name, module);
	}
	if (!whole) {
		kallsyms_free(k);
		return NULL;
	}
	if (k->count)
		qsort(k->items, k->count, sizeof(*k->items), kallsyms_order);
	return k;
}

void kallsyms_free(struct kallsyms *k)
{
	if (k) {
		free(k->items);
		free(k->names);
	}
	free(k);
}

bool kallsyms_known(const struct kallsyms *k)
{
	return k->count != 0;
}

bool kallsyms_find(const struct kallsyms *k, uint64_t address, struct kallsyms_symbol *out)
{
	size_t above = BISECT(i, 0, k->count, k->items[i].address <= address);
	const struct kallsyms_item *item;

	if (!above)
		return false;
	/* Of several names the first that the file has. */
	item = &k->items[above - 1];
	while (item > k->items && item[-1].address == item->address)
		item--;
	out->name = k->names + item->name;
	out->module = item->module ? k->names + item->module : NULL;
	out->offset = address - item->address;
	return true;
}

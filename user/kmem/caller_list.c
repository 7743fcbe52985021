// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kmem/caller_list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"

/* Areas have no more than some dozens of callers. */
static int caller_list_add(struct caller_list *list, const struct caller *one)
{
	for (size_t i = 0; i < list->count; i++) {
		struct caller *c = &list->items[i];

		if (!strcmp(c->function, one->function) && !strcmp(c->module, one->module)) {
			c->blocks += one->blocks;
			c->bytes += one->bytes;
			return 0;
		}
	}
	if (!RESERVE_ITEM(list->items, list->count, list->room, 64))
		return -ENOMEM;
	list->items[list->count++] = *one;
	return 0;
}

int caller_list_areas(FILE *file, uint64_t page_bytes, struct caller_list *out)
{
	char line[512];
	int err = 0;

	out->count = 0;
	while (!err && fgets(line, sizeof(line), file)) {
		struct caller one = {.blocks = 1};
		const char *pages = strstr(line, " pages=");
		uint64_t count;

		if (!pages || sscanf(pages, " pages=%" SCNu64, &count) != 1)
			continue;
		/* ADDRESS-ADDRESS SIZE FUNCTION+OFFSET/SIZE [MODULE] */
		if (sscanf(line, "%*s %*u %127[^+ \n]%*s [%63[^] ]]", one.function, one.module) < 1)
			continue;
		one.bytes = count * page_bytes;
		err = caller_list_add(out, &one);
	}
	return err;
}

int caller_list_sites(FILE *file, struct caller_list *out)
{
	char line[512];

	out->count = 0;
	if (!fgets(line, sizeof(line), file) || strncmp(line, "allocinfo - version: ", 21) != 0)
		return -EINVAL;
	while (fgets(line, sizeof(line), file)) {
		const char *function = strstr(line, " func:"), *module = strstr(line, " [");
		struct caller one = {0};

		if (!function ||
		    sscanf(line, "%" SCNu64 " %" SCNu64 " %127[^: ]:%u", &one.bytes, &one.blocks,
			   one.file, &one.line) != 4 ||
		    sscanf(function, " func:%127s", one.function) != 1 || !one.bytes)
			continue;
		if (module && module < function)
			sscanf(module, " [%63[^] ]", one.module);
		if (!RESERVE_ITEM(out->items, out->count, out->room, 1024))
			return -ENOMEM;
		out->items[out->count++] = one;
	}
	return 0;
}

void caller_list_free(struct caller_list *list)
{
	free(list->items);
	*list = (struct caller_list){0};
}

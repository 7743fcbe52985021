// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kmem/slabinfo.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"

/* A name may have blanks: the numbers are the last five words before " : tunables". */
static char *slabinfo_numbers(char *line)
{
	char *end = strstr(line, " : tunables"), *at;

	if (!end)
		return NULL;
	*end = '\0';
	at = end;
	for (int words = 0; words < 5; words++) {
		while (at > line && at[-1] == ' ')
			at--;
		while (at > line && at[-1] != ' ')
			at--;
	}
	return at > line ? at : NULL;
}

static int slabinfo_take(struct slabinfo *out, char *line)
{
	const char *data = strstr(line, ": slabdata");
	struct slabinfo_cache cache = {0};
	uint64_t total;
	char *numbers;
	size_t len;

	if (!data || sscanf(data, ": slabdata %*u %" SCNu64, &cache.slabs) != 1)
		return 0;
	numbers = slabinfo_numbers(line);
	if (!numbers || sscanf(numbers, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
			       &cache.active, &total, &cache.object_bytes, &cache.objects_per_slab,
			       &cache.pages_per_slab) != 5)
		return 0;
	len = (size_t)(numbers - line);
	while (len && line[len - 1] == ' ')
		len--;
	if (!len || len >= sizeof(cache.name))
		return 0;
	memcpy(cache.name, line, len);
	if (!RESERVE_ITEM(out->caches, out->count, out->room, 256))
		return -ENOMEM;
	out->caches[out->count++] = cache;
	return 0;
}

int slabinfo_parse(FILE *file, struct slabinfo *out)
{
	char line[512];
	int err = 0;

	out->count = 0;
	if (!fgets(line, sizeof(line), file) || strncmp(line, "slabinfo - version: 2.", 22) != 0)
		return -EINVAL;
	while (!err && fgets(line, sizeof(line), file)) {
		if (*line != '#')
			err = slabinfo_take(out, line);
	}
	return err;
}

void slabinfo_free(struct slabinfo *info)
{
	free(info->caches);
	*info = (struct slabinfo){0};
}

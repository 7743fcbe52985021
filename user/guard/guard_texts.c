// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/guard/guard_texts.h"

#include <string.h>

#include "user/gate/below.h"
#include "user/gate/leftover.h"

/* Returns that are waited for come to "[uprobes]"; "[vdso]" and "[vsyscall]" call nobody. */
static bool texts_is_between(const struct mapping *mapping)
{
	return mapping->path[0] == '[' || !strcmp(mapping->path, GATE_PATH) ||
	       !strcmp(mapping->path, GATE_GUARD_PATH);
}

/*
 * The index of the text that is nearest to the one before. 0: each has something else in front of
 * it.
 */
static size_t texts_nearest(const struct guard_text *texts, const bool *apart, size_t count)
{
	size_t best = 0;

	for (size_t i = 1; i < count; i++) {
		if (!apart[i] && (!best || texts[i].from - texts[i - 1].to <
						   texts[best].from - texts[best - 1].to))
			best = i;
	}
	return best;
}

void guard_texts_find(const struct maps *maps, struct guard_text texts[GUARD_TEXTS])
{
	/* One more than there is room for; apart: not next to the one before. */
	struct guard_text found[GUARD_TEXTS + 1] = {0};
	bool apart[GUARD_TEXTS + 1] = {0}, between = true;
	size_t count = 0;

	for (size_t i = 0; i < maps_count(maps); i++) {
		const struct mapping *mapping = maps_at(maps, i);
		size_t near;

		if (!mapping->exec)
			continue;
		if (texts_is_between(mapping)) {
			between = true;
			continue;
		}
		apart[count] = between;
		found[count++] = (struct guard_text){mapping->start, mapping->end};
		between = false;
		if (count <= GUARD_TEXTS)
			continue;
		near = texts_nearest(found, apart, count);
		count--;
		if (!near)
			continue;
		found[near - 1].to = found[near].to;
		memmove(&found[near], &found[near + 1], (count - near) * sizeof(*found));
		memmove(&apart[near], &apart[near + 1], (count - near) * sizeof(*apart));
	}
	memset(texts, 0, GUARD_TEXTS * sizeof(*texts));
	memcpy(texts, found, count * sizeof(*found));
}

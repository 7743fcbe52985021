// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/kept.h"

#include <stdlib.h>

struct kept *kept_find(struct kept *table, uint32_t target_id)
{
	struct kept *kept;

	HASH_FIND(hh, table, &target_id, sizeof(target_id), kept);
	return kept;
}

struct kept *kept_get(struct kept **table, uint32_t target_id, bool trends)
{
	struct kept *kept = kept_find(*table, target_id);

	if (kept)
		return kept;
	kept = calloc(1, sizeof(*kept));
	if (!kept)
		return NULL;
	kept->target_id = target_id;
	if (trends) {
		kept->trends = stack_trends_new();
		if (!kept->trends) {
			free(kept);
			return NULL;
		}
	}
	HASH_ADD(hh, *table, target_id, sizeof(kept->target_id), kept);
	if (kept->hh.tbl)
		return kept;
	stack_trends_free(kept->trends);
	free(kept);
	return NULL;
}

void kept_replace(struct kept *kept, struct report *now)
{
	report_free(kept->last);
	kept->last = now;
}

void kept_push(struct kept *kept, struct report *now)
{
	report_free(kept->before);
	kept->before = kept->last;
	kept->last = now;
}

void kept_forget(struct kept **table, struct kept *kept)
{
	HASH_DEL(*table, kept);
	report_free(kept->last);
	report_free(kept->before);
	stack_trends_free(kept->trends);
	rows_known_release(&kept->rows);
	free(kept);
}

void kept_free(struct kept **table)
{
	struct kept *kept, *next;

	HASH_ITER (hh, *table, kept, next)
		kept_forget(table, kept);
}

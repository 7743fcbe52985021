// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/looks.h"

#include <stdlib.h>

#include "user/analysis/findings.h"
#include "user/analysis/inspection_order.h"
#include "user/session/report_inspection.h"

int looks_relate(struct looks *looks, struct inspection *now, enum rank_by sort)
{
	int err = looks->before ? inspection_find_growth(now, looks->before) : 0;

	if (!looks->first_ns)
		looks->first_ns = now->time_ns;
	if (now->time_ns > looks->first_ns)
		now->elapsed_ns = now->time_ns - looks->first_ns;
	err = err ?: inspection_sort(now, report_inspection_order(sort));
	return err ?: findings_of_inspection(now);
}

void looks_keep(struct looks *looks, struct inspection *now)
{
	inspection_free(looks->before);
	looks->before = now;
}

struct looks *looks_get(struct looks **table, uint32_t target_id)
{
	struct looks *looks;

	HASH_FIND(hh, *table, &target_id, sizeof(target_id), looks);
	if (looks)
		return looks;
	looks = calloc(1, sizeof(*looks));
	if (!looks)
		return NULL;
	looks->target_id = target_id;
	HASH_ADD(hh, *table, target_id, sizeof(looks->target_id), looks);
	/* There was no memory to enter it. */
	if (!looks->hh.tbl) {
		free(looks);
		return NULL;
	}
	return looks;
}

static void looks_drop(struct looks **table, struct looks *looks)
{
	HASH_DEL(*table, looks);
	looks_keep(looks, NULL);
	free(looks);
}

void looks_forget(struct looks **table, uint32_t target_id)
{
	struct looks *looks;

	HASH_FIND(hh, *table, &target_id, sizeof(target_id), looks);
	if (looks)
		looks_drop(table, looks);
}

void looks_free(struct looks **table)
{
	struct looks *looks, *next;

	HASH_ITER (hh, *table, looks, next)
		looks_drop(table, looks);
}

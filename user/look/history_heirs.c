// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/look/history_heirs.h"

#include <stdlib.h>

#include "user/base/hash.h"

struct history_heir {
	uint64_t lineage;
	struct regime_legacy legacy;
	UT_hash_handle hh; /* in the order of use, the last one last */
};

struct history_heirs {
	struct history_heir *all;
};

struct history_heirs *history_heirs_new(void)
{
	return calloc(1, sizeof(struct history_heirs));
}

static void history_heirs_drop(struct history_heirs *heirs, struct history_heir *heir)
{
	HASH_DEL(heirs->all, heir);
	free(heir);
}

void history_heirs_free(struct history_heirs *heirs)
{
	struct history_heir *heir, *next;

	if (!heirs)
		return;
	HASH_ITER (hh, heirs->all, heir, next)
		history_heirs_drop(heirs, heir);
	free(heirs);
}

static struct history_heir *history_heirs_find(struct history_heirs *heirs, uint64_t lineage)
{
	struct history_heir *heir;

	HASH_FIND(hh, heirs->all, &lineage, sizeof(lineage), heir);
	return heir;
}

void history_heirs_leave(struct history_heirs *heirs, uint64_t lineage, const struct regime *r)
{
	struct history_heir *heir = history_heirs_find(heirs, lineage);

	/* Workers of one program live beside each other: who is known longest counts. */
	if (heir && heir->legacy.known_for > r->known_for + r->levels.tick)
		return;
	if (heir)
		history_heirs_drop(heirs, heir);
	if (HASH_COUNT(heirs->all) >= HISTORY_HEIRS_MAX)
		history_heirs_drop(heirs, heirs->all);
	heir = calloc(1, sizeof(*heir));
	if (!heir)
		return;
	heir->lineage = lineage;
	regime_leave(r, &heir->legacy);
	HASH_ADD(hh, heirs->all, lineage, sizeof(heir->lineage), heir);
	if (!heir->hh.tbl)
		free(heir);
}

void history_heirs_take(struct history_heirs *heirs, uint64_t lineage, struct regime *r)
{
	const struct history_heir *heir = history_heirs_find(heirs, lineage);

	if (heir)
		regime_inherit(r, &heir->legacy);
}

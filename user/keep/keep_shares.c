// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/keep/keep_shares.h"

#include <errno.h>
#include <stdlib.h>

#include "user/base/util.h"

int keep_shares_add(struct keep_shares *shares, const struct keep_waiter *waiter)
{
	if (!RESERVE_ITEM(shares->waiters, shares->count, shares->room, 16))
		return -ENOMEM;
	shares->waiters[shares->count++] = *waiter;
	return 0;
}

/* Between those of one owner the survey's order stays. */
bool keep_shares_next(struct keep_shares *shares, struct keep_waiter *out)
{
	size_t next = 0;

	if (!shares->count)
		return false;
	for (size_t i = 1; i < shares->count; i++) {
		if (share_turns_compare(&shares->turns, &shares->waiters[i].kept->owner,
					&shares->waiters[next].kept->owner) < 0)
			next = i;
	}
	*out = shares->waiters[next];
	share_turns_note(&shares->turns, &out->kept->owner);
	shares->count--;
	for (size_t i = next; i < shares->count; i++)
		shares->waiters[i] = shares->waiters[i + 1];
	return true;
}

/* False: no memory. */
static bool keep_shares_look(struct keep_shares *shares, const struct kept *all)
{
	const struct kept *kept, *next;

	if (shares->known)
		return true;
	shares->place_count = 0;
	shares->refused = false;
	HASH_ITER (hh, all, kept, next) {
		if (!kept->target)
			continue;
		if (!RESERVE_ITEM(shares->places, shares->place_count, shares->place_room, 64))
			return false;
		shares->places[shares->place_count++] = kept->owner;
	}
	shares_sort(shares->places, shares->place_count);
	shares->known = true;
	return true;
}

static int keep_shares_refuse(const struct keep_shares *shares, const struct share_owner *comer,
			      char reason[static REASON_MAX])
{
	size_t own = 0;

	for (size_t i = 0; i < shares->place_count; i++)
		own += share_same_group(&shares->places[i], comer);
	return refuse(
		reason, -EUSERS,
		"%zu are sampled already (--keep-processes), %zu of them its own user's, which is "
		"that user's share",
		shares->place_count, own);
}

struct kept *keep_shares_giving_way(struct keep_shares *shares, struct kept *all,
				    const struct share_owner *comer, char reason[static REASON_MAX])
{
	struct kept *kept, *next, *last = NULL;
	struct share_owner most = *comer;

	if (!keep_shares_look(shares, all)) {
		refuse(reason, -ENOMEM, "no memory");
		return NULL;
	}
	if (!shares->refused || !share_same_owner(&shares->refused_one, comer)) {
		most = shares_most(shares->places, shares->place_count, comer);
		shares->refused = share_same_owner(&most, comer);
		shares->refused_one = *comer;
	}
	if (shares->refused) {
		keep_shares_refuse(shares, comer, reason);
		return NULL;
	}
	HASH_ITER (hh, all, kept, next) {
		if (kept->target && share_same_owner(&kept->owner, &most) &&
		    (!last || kept->since_ns > last->since_ns))
			last = kept;
	}
	return last;
}

void keep_shares_changed(struct keep_shares *shares)
{
	shares->known = false;
}

void keep_shares_clear(struct keep_shares *shares)
{
	free(shares->waiters);
	free(shares->places);
	*shares = (struct keep_shares){0};
}

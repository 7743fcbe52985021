/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Anybody can give a process any name. So processes that --keep names get places and turns by their
 * owner. Nobody who has many of that name keeps others out. Part of the keeper.
 */
#ifndef MEMLEAKBPF_KEEP_KEEP_SHARES_H
#define MEMLEAKBPF_KEEP_KEEP_SHARES_H

#include <stdbool.h>
#include <stddef.h>

#include "user/look/history.h"
#include "user/keep/keep_entry.h"
#include "user/look/survey_process.h"

struct keep_waiter {
	struct kept *kept;
	struct history_process *process;
	struct survey_process *data;
};

struct keep_shares {
	struct keep_waiter *waiters; /* of this look */
	size_t count, room;
	struct share_turns turns;

	struct share_owner *places; /* whose are taken, sorted */
	size_t place_count, place_room;
	bool known;   /* that is as it is now */
	bool refused; /* nobody gives a place up to this one, as it is now */
	struct share_owner refused_one;
};

/* It is to be sampled and is not. 0 or -ENOMEM. */
int keep_shares_add(struct keep_shares *shares, const struct keep_waiter *waiter);

/* The one whose turn it is is none that waits any more. False: nobody waits. */
bool keep_shares_next(struct keep_shares *shares, struct keep_waiter *out);

/*
 * All places are taken by some of `all` (uthash). The one that gives its own up to one of that owner: of whoever has most
 * of them the last that came. NULL: nobody has more than he, and that is the reason; or no memory.
 */
struct kept *keep_shares_giving_way(struct keep_shares *shares, struct kept *all,
				    const struct share_owner *comer,
				    char reason[static REASON_MAX]);

/* Another has a place now, or one has none any more. */
void keep_shares_changed(struct keep_shares *shares);

void keep_shares_clear(struct keep_shares *shares);

#endif

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/serve/shares.h"

#include <stdlib.h>

#include "user/base/util.h"

#define RANGE 65536 /* as many as useradd(8) gives a user, and systemd a container */

struct share_owner share_of_user(uid_t uid)
{
	return (struct share_owner){
		.kind = SHARE_USER,
		.group = uid < RANGE ? uid : RANGE + uid / RANGE,
		.one = uid,
	};
}

static int share_compare(const void *a, const void *b)
{
	const struct share_owner *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return (x->one > y->one) - (x->one < y->one);
}

void shares_sort(struct share_owner *owners, size_t count)
{
	if (count)
		qsort(owners, count, sizeof(*owners), share_compare);
}

typedef bool share_same(const struct share_owner *a, const struct share_owner *b);

/* How many there are from there on that are the same. */
static size_t shares_run(const struct share_owner *owners, size_t count, share_same *same)
{
	size_t n = 0;

	while (n < count && same(&owners[n], owners))
		n++;
	return n;
}

/* Of runs of the same the longest, where the comer's is one longer than it is; the comer's if none is longer. */
static struct share_owner shares_longest(const struct share_owner *owners, size_t count,
					 const struct share_owner *comer, share_same *same)
{
	struct share_owner longest = comer ? *comer : owners[0];
	size_t most = comer != NULL, run;

	for (size_t i = 0; comer && i < count; i++)
		most += same(&owners[i], comer);
	for (size_t i = 0; i < count; i += run) {
		run = shares_run(owners + i, count - i, same);
		if (run > most) {
			most = run;
			longest = owners[i];
		}
	}
	return longest;
}

struct share_owner shares_most(const struct share_owner *sorted, size_t count,
			       const struct share_owner *comer)
{
	const struct share_owner group = shares_longest(sorted, count, comer, share_same_group);
	size_t first = 0;

	while (first < count && !share_same_group(&sorted[first], &group))
		first++;
	return shares_longest(sorted + first,
			      shares_run(sorted + first, count - first, share_same_group),
			      share_same_group(&group, comer) ? comer : NULL, share_same_owner);
}

void share_turns_note(struct share_turns *turns, const struct share_owner *owner)
{
	turns->had[turns->count++ % SHARE_TURNS] = *owner;
}

/* How many turns ago it was his; more than any number where that is forgotten. */
static uint64_t share_turns_since(const struct share_turns *turns, const struct share_owner *owner,
				  share_same *same)
{
	for (uint64_t n = 0; n < SHARE_TURNS && n < turns->count; n++) {
		if (same(&turns->had[(turns->count - 1 - n) % SHARE_TURNS], owner))
			return n;
	}
	return UINT64_MAX;
}

int share_turns_compare(const struct share_turns *turns, const struct share_owner *a,
			const struct share_owner *b)
{
	share_same *const levels[] = {share_same_group, share_same_owner};

	if (share_same_owner(a, b))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		uint64_t x = share_turns_since(turns, a, levels[i]);
		uint64_t y = share_turns_since(turns, b, levels[i]);

		if (x != y)
			return x > y ? -1 : 1;
	}
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Few places are shared among owners. Who an owner is goes by what nobody chooses freely. Where all
 * are taken and one more is wanted, the owner who has the most gives one up.
 */
#ifndef MEMLEAKBPF_SERVE_SHARES_H
#define MEMLEAKBPF_SERVE_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum share_kind {
	SHARE_USER,	/* of this machine */
	SHARE_LOOPBACK, /* somebody of this machine */
	SHARE_IPV4,
	SHARE_IPV6, /* a network of 64 bits, of which a host may have all addresses */
};

struct share_owner {
	enum share_kind kind;
	/* Those of a group have one share, and share that among themselves. */
	uint64_t group, one;
};

/*
 * The first 65,536 users are each a group of their own. Of those above whole ranges are a user's, to make into users of his
 * containers as he likes (subuid(5)).
 */
struct share_owner share_of_user(uid_t uid);

static inline bool share_same_group(const struct share_owner *a, const struct share_owner *b)
{
	return a->kind == b->kind && a->group == b->group;
}

static inline bool share_same_owner(const struct share_owner *a, const struct share_owner *b)
{
	return share_same_group(a, b) && a->one == b->one;
}

/* For shares_most(): those of one owner behind one another, and his group's around them. */
void shares_sort(struct share_owner *owners, size_t count);

/*
 * Who has the most of these places (sorted, one of them each), with one more for `comer`. It is an
 * owner of the group that has the most. Where others have no more than the comer, it is the comer.
 */
struct share_owner shares_most(const struct share_owner *sorted, size_t count,
			       const struct share_owner *comer);

#define SHARE_TURNS 256

/* Whose turn it was: as many as are remembered. */
struct share_turns {
	struct share_owner had[SHARE_TURNS]; /* a ring */
	uint64_t count;			     /* so far */
};

void share_turns_note(struct share_turns *turns, const struct share_owner *owner);

/*
 * Whose turn comes first: whose group has had its own longest ago, be it for want of asking; within a group, who has. Below
 * 0: a's, above it b's, 0: there is nothing between them.
 */
int share_turns_compare(const struct share_turns *turns, const struct share_owner *a,
			const struct share_owner *b);

#endif

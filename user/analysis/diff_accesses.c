// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/analysis/diff_accesses.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/analysis/stack_key.h"
#include "user/base/hash.h"
#include "user/base/util.h"

#define ACCESS_MODES (ACCESS_WRITE + 1)

/* Those of one kind and with the same functions, by whether they read or wrote. */
struct diff_access {
	char *key;
	struct compared_access by_mode[ACCESS_MODES];
	UT_hash_handle hh;
};

static char *diff_access_key(const struct misuse *misuse)
{
	char *key = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&key, &len);

	if (!out)
		return NULL;
	fprintf(out, "%d", (int)misuse->kind);
	for (int i = 0; i < MISUSE_CALLS; i++) {
		const struct reported_call *call = &misuse->calls[i];

		fputc('\n', out);
		if (call->known)
			stack_key_put(out, call->frames, call->frame_count, call->end);
	}
	if (close_memstream(out)) {
		free(key);
		return NULL;
	}
	return key;
}

static struct diff_access *diff_accesses_get(struct diff_accesses *list,
					     const struct misuse *misuse)
{
	char *key = diff_access_key(misuse);
	struct diff_access *entry = NULL;

	if (!key)
		return NULL;
	HASH_FIND_STR(list->entries, key, entry);
	if (entry) {
		free(key);
		return entry;
	}
	entry = calloc(1, sizeof(*entry));
	if (entry) {
		entry->key = key;
		HASH_ADD_KEYPTR(hh, list->entries, entry->key, strlen(entry->key), entry);
		if (entry->hh.tbl)
			return entry;
	}
	free(entry);
	free(key);
	return NULL;
}

int diff_accesses_add(struct diff_accesses *list, const struct misuse *misuse, bool is_new)
{
	struct diff_access *entry = diff_accesses_get(list, misuse);
	struct compared_access *of;

	if (!entry)
		return -ENOMEM;
	of = &entry->by_mode[(unsigned)misuse->mode <= ACCESS_WRITE ? misuse->mode
								    : ACCESS_UNKNOWN];
	/* The new side's is the one that can be looked at in what runs now. */
	if (is_new ? !of->now : !of->old && !of->now)
		of->misuse = *misuse;
	*(is_new ? &of->now : &of->old) += misuse->count;
	return 0;
}

static void diff_accesses_put(struct comparison *c, const struct compared_access *access)
{
	struct compared_access *to = &c->accesses[c->access_count++];

	*to = *access;
	to->misuse.count = to->now ?: to->old;
	c->access_counts[compared_presence(to)]++;
}

/*
 * What reads and what writes are two misuses. Where it is not known of one of them what it did, it
 * may be either: so it is called neither new nor gone.
 */
static void diff_accesses_put_modes(struct comparison *c, const struct diff_access *entry)
{
	const struct compared_access *unknown = &entry->by_mode[ACCESS_UNKNOWN];
	struct compared_access sum = {0};
	unsigned modes = 0;

	for (int mode = 0; mode < ACCESS_MODES; mode++) {
		const struct compared_access *of = &entry->by_mode[mode];

		if (!of->old && !of->now)
			continue;
		if (!unknown->old && !unknown->now) {
			diff_accesses_put(c, of);
			continue;
		}
		if (!sum.now)
			sum.misuse = of->now || !sum.old ? of->misuse : sum.misuse;
		modes |= mode == ACCESS_UNKNOWN ? 0 : 1u << mode;
		sum.old += of->old;
		sum.now += of->now;
	}
	if (!sum.old && !sum.now)
		return;
	sum.misuse.mode = modes == 1u << ACCESS_READ	? ACCESS_READ
			  : modes == 1u << ACCESS_WRITE ? ACCESS_WRITE
							: ACCESS_UNKNOWN;
	diff_accesses_put(c, &sum);
}

static int diff_accesses_order(const void *a, const void *b)
{
	const struct compared_access *x = a, *y = b;
	int presence = (int)compared_presence(x) - (int)compared_presence(y);

	if (presence)
		return presence;
	if (x->misuse.kind != y->misuse.kind)
		return x->misuse.kind < y->misuse.kind ? -1 : 1;
	if (x->misuse.count != y->misuse.count)
		return x->misuse.count > y->misuse.count ? -1 : 1;
	for (int i = 0; i < MISUSE_CALLS; i++) {
		enum misuse_call call = misuse_call_of(MISUSE_BY_GUARD, i);
		uint64_t of_x = x->misuse.calls[call].stack_id;
		uint64_t of_y = y->misuse.calls[call].stack_id;

		if (of_x != of_y)
			return of_x < of_y ? -1 : 1;
	}
	return (int)x->misuse.mode - (int)y->misuse.mode;
}

int diff_accesses_finish(const struct diff_accesses *list, struct comparison *c)
{
	size_t room = (size_t)HASH_COUNT(list->entries) * 2;
	struct diff_access *entry, *next;

	c->accesses = calloc(room + 1, sizeof(*c->accesses));
	if (!c->accesses)
		return -ENOMEM;
	HASH_ITER (hh, list->entries, entry, next)
		diff_accesses_put_modes(c, entry);
	if (c->access_count)
		qsort(c->accesses, c->access_count, sizeof(*c->accesses), diff_accesses_order);
	return 0;
}

void diff_accesses_release(struct diff_accesses *list)
{
	struct diff_access *entry, *next;

	HASH_ITER (hh, list->entries, entry, next) {
		HASH_DEL(list->entries, entry);
		free(entry->key);
		free(entry);
	}
}

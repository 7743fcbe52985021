/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frees that are wrong (--check-frees): all of one kind, with the same stacks, are one. */
#ifndef MEMLEAKBPF_MODEL_BAD_FREE_H
#define MEMLEAKBPF_MODEL_BAD_FREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/kinds.h"
#include "user/model/reported_call.h"

enum bad_free_stack {
	BAD_FREE_NOW,	/* the bad free itself */
	BAD_FREE_FIRST, /* BAD_FREE_DOUBLE: the free before it */
	BAD_FREE_ALLOC, /* where the block was allocated */
	BAD_FREE_STACKS,
};

struct bad_free {
	enum bad_free_kind kind;
	enum alloc_family alloc_family, free_family; /* FAMILY_ANY: not known */
	uint64_t count;
	/* of the first: what was freed, where its block begins, its size (0: unknown) */
	uint64_t address, block, size;
	struct reported_call calls[BAD_FREE_STACKS];
	const char *suppressed; /* name of the suppression; NULL: none */
};

const char *bad_free_kind_name(enum bad_free_kind kind); /* "double_free", … for JSON */
const char *bad_free_kind_text(enum bad_free_kind kind); /* "double free", … */
/*
 * "malloc", "new", "new[]"; and what frees it: "free", "delete", "delete[]"; NULL for FAMILY_ANY.
 */
const char *alloc_family_name(enum alloc_family family);
const char *free_family_name(enum alloc_family family);
/* The same the other way round: BAD_FREE_KINDS, FAMILY_ANY for a name that is not known here. */
enum bad_free_kind bad_free_kind_of(const char *name);
enum alloc_family alloc_family_of(const char *name);

/* The order in which they are shown: by kind, the most frequent first. */
void bad_frees_sort(struct bad_free *list, size_t count);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is kept of scopes. Private to user/scopes. */
#ifndef MEMLEAKBPF_SCOPES_SCOPES_INTERNAL_H
#define MEMLEAKBPF_SCOPES_SCOPES_INTERNAL_H

#include "bpf/scope_abi.h"
#include "user/symbol/debug_places.h"
#include "user/symbol/function_match.h"
#include "user/scopes/scopes.h"

struct scopes {
	struct scopes_options options;
	struct scopes_uses uses;
	struct function_pattern **patterns; /* of options.specs */
	size_t pattern_count;
	bool *found;	       /* likewise: some object has such a function */
	bool *placeless;       /* likewise, where no probe can be */
	struct alloc_fn *rows; /* likewise: for the providers */
	char **functions;      /* names, by number */
	size_t function_count, function_room;

	struct scope_node *nodes; /* the kernel's array, mapped */
	/* Of the snapshot at hand: its scope of each node, from 1; 0: none. */
	uint32_t row_of[SCOPE_NODES];
	uint64_t name_of[SCOPE_NODES]; /* likewise: a hash of what the scope is called */
};

/*
 * For each --scope that names a line: where the functions of the object begin that have code of
 * that line. *out has as many entries as there are options (free()); NULL: there are none. 0 or
 * -ENOMEM.
 */
int scopes_find_lines(const struct scopes *scopes, struct object *object,
		      struct debug_places **out);
bool scopes_begins_at(const struct debug_places *places, uint64_t vaddr);

#endif

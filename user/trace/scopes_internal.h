/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the trace keeps of scopes. Private to scopes*.c. */
#ifndef MEMLEAKBPF_TRACE_SCOPES_INTERNAL_H
#define MEMLEAKBPF_TRACE_SCOPES_INTERNAL_H

#include "bpf/scope_abi.h"
#include "user/symbol/debug_places.h"
#include "user/symbol/function_match.h"
#include "user/trace/state.h"

struct object;

/* Values of a function's tag that are told apart. */
#define SCOPE_TAGS 256

struct scopes {
	struct function_pattern **patterns; /* of options.scopes */
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
 * Of each --scope that is a line, where the object's functions begin that are meant: *out, so many as
 * there are options (free()); NULL: none is. 0 or -ENOMEM.
 */
int scopes_find_lines(const struct trace *trace, struct object *object, struct debug_places **out);
bool scopes_begins_at(const struct debug_places *places, uint64_t vaddr);
/* Logs why the target has nothing for a --scope, by its number. -ENOENT */
int scopes_say_missing(const struct trace *trace, const struct target *target, size_t spec);

int scopes_map(struct trace *trace); /* 0 or -errno, logged */
void scopes_unmap(struct trace *trace);

#endif

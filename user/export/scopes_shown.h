/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --scope, as the formats show it: private to user/export. */
#ifndef MEMLEAKBPF_EXPORT_SCOPES_SHOWN_H
#define MEMLEAKBPF_EXPORT_SCOPES_SHOWN_H

#include <stdio.h>

#include "user/base/json_writer.h"
#include "user/export/export.h"

/* The scope that a stack is in; NULL: none. */
const struct scope *scope_of_stack(const struct snapshot *snapshot, const struct stack *stack);

/*
 * The snapshot's scopes, those first that have most live, then by what they have kept: as many as
 * snapshot->scopes.count, to be freed. NULL when there are none, or out of memory.
 */
const struct scope **scopes_ranked(const struct snapshot *snapshot);

/* -f text: what each scope's calls left behind. Nothing without --scope. */
void text_put_scopes(FILE *out, const struct export_options *options, const struct report *r);

/*
 * The stacks, those of a scope together below its name; text_put_stack() numbers them by their
 * ranks.
 */
void text_put_stacks(FILE *out, const struct export_options *options, const struct report *r,
		     const struct stack *const *shown, size_t shown_count);

/* -f json: "scopes". Nothing without --scope. */
void json_put_scopes(struct json *to, const struct report *r);
/* A stack's "scope" and "scope_tag". Nothing where it is in none. */
void json_put_scope_of(struct json *to, const struct snapshot *s, const struct stack *stack);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A line for each: of stacks (--short), and of processes where several are reported on at one time.
 * Private to user/export.
 */
#ifndef MEMLEAKBPF_EXPORT_TEXT_BRIEF_H
#define MEMLEAKBPF_EXPORT_TEXT_BRIEF_H

#include "user/export/text_fit.h"
#include "user/export/text_parts.h"

/* What is shown, the rows of the report or its stacks, a line each, under a heading. */
void text_put_brief(FILE *out, const struct export_options *options, const struct report *r,
		    const struct stack *const *shown, size_t shown_count);

struct text_rounds;

/* Pages of one round: what is taken waits for the others. */
struct text_rounds *text_rounds_new(void);	   /* NULL when out of memory */
void text_rounds_free(struct text_rounds *rounds); /* NULL is fine */

/* Takes the page over, to be free()d; also when it fails. 0 or -ENOMEM. */
int text_rounds_take(struct text_rounds *rounds, const struct export_options *options,
		     const struct report *r, const struct stack *const *shown, size_t shown_count,
		     char *page);

/* Adds a text to the last page that was taken. 0 or -ENOMEM. */
int text_rounds_append(struct text_rounds *rounds, const char *text);

/*
 * Writes what has been taken: of several, a table of them first, and pages of those in which
 * something has changed only (with -v, and at the end, of all). 0 or -errno.
 */
int text_rounds_write(struct text_rounds *rounds, struct exporter *e);

#endif

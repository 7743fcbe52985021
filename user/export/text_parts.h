/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the outputs for people have in common: private to user/export. */
#ifndef MEMLEAKBPF_EXPORT_TEXT_PARTS_H
#define MEMLEAKBPF_EXPORT_TEXT_PARTS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "user/export/survey_shown.h"
#include "user/export/export.h"

enum text_style {
	TEXT_NONE,
	TEXT_BOLD,
	TEXT_DIM,
	TEXT_WARN,
	TEXT_BAD,
};

/* What follows looks so, where colour is allowed. */
void text_set_style(FILE *out, const struct export_options *options, enum text_style style);

#define TEXT_TIME_MAX 64
/* "2026-01-02 03:04:05", by the clock of this place; time_ns as CLOCK_REALTIME. Returns `out`. */
const char *text_time(char out[static TEXT_TIME_MAX], uint64_t time_ns);

const char *text_plural(uint64_t n, const char *one, const char *many);

/* Each line of a text that others wrote, behind `before`. */
void text_put_lines(FILE *out, const char *before, const char *text);

/* A line in which names are, folded but for -v. Returns how wide it is. */
size_t text_put_folded(FILE *out, const struct export_options *options, const char *line);

/* "1.3 MiB (1,363,148 B) in 1,024 blocks" */
void text_put_live(FILE *out, const struct amount *live);

/* Writes a page that is made: lines broken where they are wider than the terminal. 0 or -errno. */
int text_page_write(struct exporter *e, const char *text, size_t len);

/* What the stacks that are shown belong to: rows or the stacks themselves. */
static inline const struct report *text_listed(const struct report *r)
{
	return r->rows ? r->rows->sums : r;
}

/*
 * Rows, each with its sums where it has several stacks, and below it the stacks, of which -v shows
 * all.
 */
void text_put_row(FILE *out, const struct export_options *options, const struct report *r,
		  size_t number, const struct stack *row);
void text_put_rows(FILE *out, const struct export_options *options, const struct report *r,
		   const struct stack *const *shown, size_t shown_count);

/* One stack as -f text shows it, an empty line before it. */
void text_put_stack(FILE *out, const struct export_options *options, const struct report *r,
		    size_t number, const struct stack *stack);

/* The frames of a stack (NULL: not known), and how it ends, a line each. */
void text_frames(FILE *out, const struct export_options *options, const struct frame *const *frames,
		 size_t count, enum stack_end end);

/*
 * What --verdict found, of the whole snapshot and of one stack; nothing when it was not asked for.
 */
/* A line about threads that were not joined, from its first word to its end. */
void text_put_unjoined(FILE *out, const struct unjoined_threads *unjoined);
void text_put_verdict(FILE *out, const struct export_options *options, const struct report *r);
void text_put_stack_verdict(FILE *out, const struct export_options *options, const struct report *r,
			    const struct stack *stack);

/* Of one stack, what was asked for beside its sums: --lifetimes, --temporary. */
void text_put_figures(FILE *out, const struct export_options *options, const struct report *r,
		      const struct stack *stack);

/* And of all of them together: lines of the head. */
void text_put_figures_sum(FILE *out, const struct snapshot *s);

/* The calls of a misuse, each with its stack; and all of it. */
void text_put_misuse_calls(FILE *out, const struct export_options *options,
			   const struct misuse *misuse);
void text_put_misuse(FILE *out, const struct export_options *options, const struct misuse *misuse);
/* What --check-frees and --guard have found. */
void text_put_misuses(FILE *out, const struct export_options *options, const struct report *r);
/* How many of them are not shown for that; nothing for 0. */
void text_put_suppressed_misuses(FILE *out, enum misuse_finder finder, uint64_t suppressed);

/* What was found out, a line each; nothing for NULL, and for none. */
void text_put_findings(FILE *out, const struct export_options *options,
		       const struct findings *findings);

/* Lines of the head: how --guard stands; nothing without. */
void text_put_guard(FILE *out, const struct export_options *options, const struct report *r);

/*
 * struct exporter_format's survey(): a table, at most 100 columns wide, and the stacks of what was
 * drilled.
 */
int survey_write_text(struct exporter *e, const struct survey_report *report,
		      struct survey_shown *shown);

/* Its ends, a line each; nothing where there are none. */
void survey_text_put_ends(FILE *out, const struct export_options *options,
			  const struct survey_report *report);

/* struct exporter_format's kernel() */
int kernel_write_text(struct exporter *e, const struct kernel_report *report);

/* struct exporter_format's inspection() */
int inspection_write_text(struct exporter *e, const struct inspection *inspection, size_t top);

/* A part of it: what hangs on what. `top`: so many roots with -v. Nothing where that is not known. */
void inspection_text_put_ways(FILE *out, const struct export_options *options,
			      const struct inspection *inspection, size_t top);

/* Likewise: who keeps the free memory, and what would give it back. Nothing where none is free. */
void inspection_text_put_keepers(FILE *out, const struct export_options *options,
				 const struct inspection *inspection, size_t top);

/* A part of it: what languages' runtimes keep. Nothing where there is none. */
void inspection_text_put_managed(FILE *out, const struct export_options *options,
				 const struct inspection *inspection, size_t top);

/* "1.2 MiB in 30 blocks definitely lost, …": the classes that have any. */
void text_put_classes(FILE *out, const struct amount classes[static VERDICT_CLASSES]);

/* What a target wrote, so many bytes of it: printable ones as they are, others as dots; a line for 16. */
void text_put_contents(FILE *out, const char *contents, size_t len);

/* What would name the frames of these stacks that have no function; nothing where all have one. */
void text_put_unnamed(FILE *out, const struct report *r, const struct stack *const *shown,
		      size_t shown_count);

/* What suppressions have taken out; nothing without them. */
void text_put_suppressed(FILE *out, const struct report *r);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a row of a list is called: a site and its callers, a file, a scope. */
#ifndef MEMLEAKBPF_EXPORT_ROW_LABEL_H
#define MEMLEAKBPF_EXPORT_ROW_LABEL_H

#include "user/export/export.h"
#include "user/export/text_fit.h"

/* What tells two sites of one name apart. */
enum label_detail {
	LABEL_USUAL,
	LABEL_ADDRESS, /* and where in the function */
	LABEL_NUMBER,  /* and the row's number */
	LABEL_DETAILS,
};

#define LABEL_CALLERS 8 /* so many, where the width is not bounded */

/*
 * The site of a stack in `width` characters (0: any): its function, then its place, then those of
 * the `callers` frames behind it that say something, as there is room. "?" when nothing is known.
 * Returns buf.
 */
char *site_label(char buf[static TEXT_FIT_MAX], const struct export_options *options,
		 const struct stack_notes *notes, size_t width, size_t callers);

/*
 * Of a stack of the report, or of a row of its rows; of that with what all its stacks have in common.
 * Returns buf.
 */
char *row_label(char buf[static TEXT_FIT_MAX], const struct export_options *options,
		const struct report *r, const struct stack *row, size_t width,
		enum label_detail detail);

/* The callers alone, " < main" each; "" where there are none. Returns buf. */
char *row_callers(char buf[static TEXT_FIT_MAX], const struct export_options *options,
		  const struct report *r, const struct stack *row);

/*
 * Labels of `count` rows, no two of which read the same; free each, and the array. NULL: no memory.
 */
char **row_labels(const struct export_options *options, const struct report *r,
		  const struct stack *const *rows, size_t count, size_t width);
void row_labels_free(char **labels, size_t count); /* NULL is fine */

#endif

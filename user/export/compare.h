/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The formats' compare(): private to user/export and its tests. */
#ifndef MEMLEAKBPF_EXPORT_COMPARE_H
#define MEMLEAKBPF_EXPORT_COMPARE_H

#include <stddef.h>
#include <stdio.h>

#include "user/base/json_writer.h"
#include "user/export/export.h"
#include "user/model/comparison.h"

/*
 * As in struct exporter_format. text: for people. json: one object on a line. folded: "stack old
 * new" of every stack, as difffolded.pl makes it.
 */
int compare_text(FILE *out, const struct export_options *options, const struct comparison *c,
		 size_t top);
int compare_json(FILE *out, const struct export_options *options, const struct comparison *c,
		 size_t top);
int compare_folded(FILE *out, const struct export_options *options, const struct comparison *c,
		   size_t top);

/*
 * What guarded blocks have shown: of a side, as lines of its head, and compared; nothing where neither
 * side has any. At most `top` of those that are new, in both and gone; JSON has all.
 */
void compare_put_guards(FILE *out, const struct comparison *c, const struct compared_side *side);
void compare_put_accesses(FILE *out, const struct export_options *options,
			  const struct comparison *c, size_t top);
void compare_json_put_guards(struct json *to, const struct compared_side *side);
void compare_json_put_accesses(struct json *to, const struct export_options *options,
			       const struct comparison *c);

#endif

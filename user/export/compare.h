/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The formats' compare(): private to user/export and its tests. */
#ifndef MEMLEAKBPF_EXPORT_COMPARE_H
#define MEMLEAKBPF_EXPORT_COMPARE_H

#include <stddef.h>
#include <stdio.h>

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

#endif

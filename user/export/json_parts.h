/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What JSON outputs have in common: private to user/export. A value that is not known has no key.
 */
#ifndef MEMLEAKBPF_EXPORT_JSON_PARTS_H
#define MEMLEAKBPF_EXPORT_JSON_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "user/base/json_writer.h"
#include "user/export/export.h"

void json_put_rate(struct json *to, const char *key, double value); /* with one decimal */
void json_put_amount(struct json *to, const char *key, const struct amount *amount);
void json_put_amount_members(struct json *to,
			     const struct amount *amount); /* into an open object */
/* "error_bytes": one standard error of what stands before it; nothing where that is no estimate. */
void json_put_error(struct json *to, bool estimated, double error_bytes);
void json_put_delta(struct json *to, const char *key, int64_t bytes, int64_t count);
void json_put_classes(struct json *to, const struct amount classes[static VERDICT_CLASSES]);
/* "unjoined_threads"; nothing where there are none. */
void json_put_unjoined(struct json *to, const struct unjoined_threads *unjoined);
/* Milliseconds with three decimals. */
void json_put_fine_ms(struct json *to, const char *key, uint64_t ns);
void json_put_lost(struct json *to, const uint64_t lost[static LOSSES_ROOM]); /* "lost" */
void json_put_time(struct json *to, uint64_t time_ns);			      /* "time" */
void json_put_time_of(struct json *to, const char *key, uint64_t time_ns);

/*
 * Change and rate since the last snapshot; of the first one (interval_ns 0) nothing is known. What
 * is followed has a trend, else NULL: the growth over the watch instead of the last interval's, and
 * the judgement once there is one.
 */
void json_put_growth(struct json *to, int64_t bytes, int64_t count, uint64_t interval_ns,
		     const struct trend *trend);

/* An array with a string for each line of the text. */
void json_put_lines(struct json *to, const char *key, const char *text);

void json_put_frames(struct json *to, const char *key, const struct frame *const *frames,
		     size_t count, bool verbose); /* frames may be NULL */
void json_put_stack(struct json *to, const struct export_options *options, const struct report *r,
		    const struct stack *stack);
/* The site of the stack, "site"; nothing where it is not known. */
void json_put_site(struct json *to, const struct export_options *options,
		   const struct frame *const *frames, size_t count);

/* "bad_frees" or "bad_accesses" */
void json_put_misuses(struct json *to, const struct export_options *options,
		      const struct misuse_list *list, enum misuse_finder finder);
/* An element of such a list (key NULL), or a member */
void json_put_misuse(struct json *to, const char *key, const struct export_options *options,
		     const struct misuse *misuse);
/* "guard" */
void json_put_guard_state(struct json *to, const struct guard_state *g);
/* Of a stack, what was asked for beside its sums: --lifetimes, --temporary. */
void json_put_figures(struct json *to, const struct snapshot *s, const struct stack *stack);
/* And of all of them together. */
void json_put_figures_sum(struct json *to, const struct snapshot *s);

void json_put_suppressed(struct json *to, const struct suppressed *suppressed); /* "suppressed" */

/* A document that is one line, made in memory and written at once. */
struct json_output {
	struct json json;
	char *text;
	size_t len;
};

/* 0, or -ENOMEM: there is nothing to end then. */
int json_output_begin(struct json_output *output);
/* Writes it and flushes. 0 or -errno. */
int json_output_end(struct json_output *output, FILE *out);

/* struct exporter_format's inspection(): one line; likewise. */
int inspection_write_json(struct exporter *e, const struct inspection *inspection, size_t top);

/* A part of it, "managed": what languages' runtimes keep; no key where there is none. */
void inspection_json_put_managed(struct json *to, const struct inspection *i, size_t top);

/* struct exporter_format's survey(): one line; the keys are a contract (docs/memleakbpf.1). */
int survey_write_json(struct exporter *e, const struct survey_report *report);

/* struct exporter_format's kernel() */
int kernel_write_json(struct exporter *e, const struct kernel_report *report);

/* "findings"; nothing for NULL: they were not looked for. */
void json_put_findings(struct json *to, const struct findings *findings);

/* "missing"; no key where nothing is. */
void json_put_missing(struct json *to, const struct missing_parts *missing);

/* "keepers": who keeps the free memory of each allocator, and what would give it back. */
void inspection_json_put_keepers(struct json *to, const struct inspection *inspection);

#endif

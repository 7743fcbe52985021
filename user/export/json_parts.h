/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What JSON outputs have in common: private to user/export. A value that is not known has no key.
 */
#ifndef MEMLEAKBPF_EXPORT_JSON_PARTS_H
#define MEMLEAKBPF_EXPORT_JSON_PARTS_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "user/export/export.h"

/*
 * An object whose keys could not all be added is never printed: *failed says so for the whole
 * document.
 */
struct json {
	struct json_object *object;
	bool *failed;
};

/* Takes the value over. */
void json_put(struct json to, const char *key, struct json_object *value);
void json_put_number(struct json to, const char *key, uint64_t value);
void json_put_rate(struct json to, const char *key, double value); /* with one decimal */
void json_put_bool(struct json to, const char *key, bool value);
/* No key when the text is NULL; it may hold any bytes. */
void json_put_string(struct json to, const char *key, const char *text);
void json_put_amount(struct json to, const char *key, const struct amount *amount);
void json_put_classes(struct json to, const struct amount classes[static VERDICT_CLASSES]);
/* Milliseconds with three decimals. */
void json_put_fine_ms(struct json to, const char *key, uint64_t ns);
void json_put_lost(struct json to, const uint64_t lost[static LOST_CAUSES]); /* "lost" */
void json_put_time(struct json to, uint64_t time_ns);			     /* "time" */

/* Change and rate since the last snapshot; of the first one nothing is known. */
void json_put_growth(struct json to, int64_t bytes, int64_t count, uint64_t interval_ns);

/*
 * Of what is followed: the growth over the watch (instead of the last interval's), and the
 * judgement once there is one.
 */
void json_put_trend(struct json to, const struct trend *trend);

void json_append(struct json_object *array, struct json_object *value, bool *failed);

/* What is no UTF-8 becomes U+FFFD. NULL when out of memory. */
struct json_object *json_new_string(const char *text);
struct json_object *json_new_frame(const struct frame *frame, bool verbose, bool *failed);
struct json_object *json_new_stack(const struct export_options *options, const struct snapshot *s,
				   const struct stack *stack, bool *failed);

/* "bad_frees" */
void json_put_bad_frees(struct json to, const struct export_options *options,
			const struct snapshot *s);
void json_put_suppressed(struct json to, const struct snapshot *s); /* "suppressed" */
/* "suppression": one that would take the stack out, as text; nothing with SUPPRESSION_NONE. */
void json_put_suppression(struct json to, enum suppression_style style, const struct snapshot *s,
			  const struct stack *stack);

/* The object, NULL being -ENOMEM, as one line; flushes. 0 or -errno. */
int json_write_line(FILE *out, struct json_object *object);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the formats of this room share: private to user/export. */
#ifndef MEMLEAKBPF_EXPORT_RENDER_H
#define MEMLEAKBPF_EXPORT_RENDER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "user/base/text.h"
#include "user/export/export.h"
#include "user/recording/wire.h"

/* Formats that keep something between snapshots have this first in a struct of their own. */
struct exporter {
	FILE *out;
	struct export_options options;
};

/* NULL when out of memory; `out` stays the caller's. */
struct exporter *exporter_new(FILE *out, const struct export_options *options);

/* For struct exporter_format's close: frees e, which may be NULL. 0 or -errno of the last flush. */
int exporter_close(struct exporter *e);

/* 0, or -errno of what has failed on the stream. */
int stream_flush(FILE *out);

/* Writes and flushes. 0 or -errno. */
int stream_write(FILE *out, const char *text, size_t len);
int exporter_write(struct exporter *e, const char *text, size_t len);

/*
 * For formats whose file is one document: with options.rewrite it replaces what is there. Writes
 * and flushes. 0 or -errno.
 */
int exporter_write_document(struct exporter *e, const void *data, size_t len);

/*
 * A field of a message, text_for_terminal: readers refuse bytes that are no UTF-8, and print all
 * else as it is (`go tool pprof -top`). A wire that failed keeps that.
 */
void wire_put_name(struct wire *out, unsigned field, const char *name);

#define FRAME_LABEL_MAX \
	4352 /* a function of 4095 bytes, or a module of that length and its offset */

/*
 * "function", or without one "module+0x1234", or the plain address; returns buf. Strings of a frame
 * may hold any bytes.
 */
char *frame_label(const struct frame *frame, char buf[static FRAME_LABEL_MAX]);

/*
 * What stands for the callers that a stack does not show: "[truncated]", "[incomplete: no_rows]";
 * NULL when it is complete.
 */
const char *stack_end_label(enum stack_end end);
/* ... and for a stack of which no frame is known. */
#define STACK_UNKNOWN_LABEL "[stack not recorded]"

/*
 * "double free, 3 times; the first of 0x1000, a block of 40 B"; "heap buffer overflow, 3 times; the
 * first: WRITE 3 bytes after the end of a 100-byte block, by thread 7 (shop)"
 */
void misuse_put_title(FILE *out, const struct misuse *misuse);

/* Of MISUSE_BY_GUARD: "heap buffer overflow: WRITE 3 bytes after the end of a 100-byte block" */
void misuse_put_text(FILE *out, const struct misuse *misuse);

/* "read", "freed", "freed before", "allocated" */
const char *misuse_call_text(const struct misuse *misuse, enum misuse_call call);

/* A suppression that would take the stack out. */
void suppression_put(FILE *out, enum suppression_style style, const struct report *r,
		     const struct stack *stack);

extern const struct exporter_format format_text;
extern const struct exporter_format format_json;
extern const struct exporter_format format_folded;
extern const struct exporter_format format_folded_kept;
extern const struct exporter_format format_folded_retained;
extern const struct exporter_format format_perfetto;
extern const struct exporter_format format_pprof;
extern const struct exporter_format format_otlp;
extern const struct exporter_format format_android;
extern const struct exporter_format format_html;

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the formats of this folder share: private to user/export. */
#ifndef MEMLEAKBPF_EXPORT_RENDER_H
#define MEMLEAKBPF_EXPORT_RENDER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "user/export/export.h"

/* Every format so far renders each snapshot anew and keeps nothing in between. */
struct exporter {
	FILE *out;
	struct export_options options;
};

/* NULL when out of memory; `out` stays the caller's. */
struct exporter *exporter_new(FILE *out, const struct export_options *options);

/* For struct exporter_format's close: frees e, which may be NULL. 0 or -errno of the last flush. */
int exporter_close(struct exporter *e);

/* Writes and flushes. 0 or -errno. */
int exporter_write(struct exporter *e, const char *text, size_t len);

#define UTF8_INVALID UINT32_MAX

/*
 * The code point at *text, which is moved behind it; 0 at the end of the string, where it stays. Bytes that are no UTF-8 (RFC 3629: overlong
 * forms, surrogates and anything above U+10FFFF included) come out as UTF8_INVALID, one byte at a time.
 */
uint32_t utf8_next(const char **text);

extern const struct exporter_format format_text;
extern const struct exporter_format format_json;

#endif

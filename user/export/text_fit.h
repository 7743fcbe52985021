/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Making text fit: names shortened in the middle, lines broken between words. A width counts
 * characters.
 */
#ifndef MEMLEAKBPF_EXPORT_TEXT_FIT_H
#define MEMLEAKBPF_EXPORT_TEXT_FIT_H

#include <stddef.h>
#include <stdio.h>

#define TEXT_FIT_MAX 4416 /* a name of 4095 bytes, with what is added to it */

/*
 * The text, cleaned for a terminal, and where it is wider than `width` without its middle:
 * "libfound..so.6". Returns how wide it came out; buf holds it.
 */
size_t text_shorten(char buf[static TEXT_FIT_MAX], const char *text, size_t width);

/* The same of a path, which has its file's name to the last: "/usr/../bits/stl_vector.h", "../stl_vector.h". */
size_t path_shorten(char buf[static TEXT_FIT_MAX], const char *path, size_t width);

/*
 * Writes lines to `out`, breaking those wider than `width` at blanks; what is broken off begins
 * below the line's own text: behind a label ("live   ", "#1  "), or further in than it. A word is
 * broken only if it is wider than a line, and only behind "::", "(" or ",": names; suppressions,
 * which are copied into files, stay as they are. Escape sequences for colours have no width.
 */
void text_wrap(FILE *out, const char *text, size_t width);

#endif

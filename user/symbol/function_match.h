/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Is it the function that somebody has named? Takes names like gdb's break: a C name; a C++ or Rust
 * name with or without its parameters; or a glob over one of these. A name that begins with no
 * namespace or class means any: "dispatch" is Server::dispatch(Request const&) too.
 */
#ifndef MEMLEAKBPF_SYMBOL_FUNCTION_MATCH_H
#define MEMLEAKBPF_SYMBOL_FUNCTION_MATCH_H

#include <stdbool.h>
#include <stddef.h>

struct function_pattern;

/* NULL when out of memory. */
struct function_pattern *function_pattern_new(const char *text);
void function_pattern_free(struct function_pattern *pattern); /* NULL is fine */

bool function_pattern_is_glob(const struct function_pattern *pattern);

/*
 * Matches the symbol's name, `len` bytes. If it matches, *shown is the function's name for people
 * (malloc'ed; NULL when out of memory).
 */
bool function_matches(const struct function_pattern *pattern, const char *name, size_t len,
		      char **shown);

#endif

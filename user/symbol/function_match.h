/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Is it the function that somebody has named? As gdb's break takes names: a C name; a C++ or Rust one
 * with or without its parameters, of any namespace or class if it begins with none ("dispatch" is
 * Server::dispatch(Request const&) too); or a glob over one of these.
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
 * By the symbol's name, `len` bytes. *shown is what people call the function (malloc'ed; NULL when
 * out of memory), if it is one.
 */
bool function_matches(const struct function_pattern *pattern, const char *name, size_t len,
		      char **shown);

#endif

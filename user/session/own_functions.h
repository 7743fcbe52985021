/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions that the user has named: --alloc-fn, --realloc-fn and --free-fn. */
#ifndef MEMLEAKBPF_SESSION_OWN_FUNCTIONS_H
#define MEMLEAKBPF_SESSION_OWN_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct alloc_fn;
struct own_functions;
struct trace;
struct trace_config;

/*
 * 0 and *out, to be freed with own_functions_free(), or -errno. The config's texts were checked as
 * options, and live as long as it.
 */
int own_functions_new(const struct trace_config *config, struct own_functions **out);
void own_functions_free(struct own_functions *own);

/* What the trace is to take for allocators, *count of them; lives as long as `own`. */
const struct alloc_fn *own_functions_items(const struct own_functions *own, size_t *count);

/*
 * Logs once each function that no object of a target defines, and once each whose calls have all
 * failed. An all-clear of such a function would be wrong. `final`: no further report follows, so few
 * calls are judged as well.
 */
void own_functions_tell(struct own_functions *own, const struct trace *trace, bool final);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which functions count as allocators: what the user of the trace has asked for. */
#ifndef MEMLEAKBPF_TARGET_PROVIDER_OPTIONS_H
#define MEMLEAKBPF_TARGET_PROVIDER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct alloc_fn;

struct provider_options {
	const char *object; /* -O: only objects whose path or file name matches; NULL: any */
	/* --symbols-prefix: also PREFIXmalloc, … ; NULL-terminated or NULL */
	const char *const *prefixes;
	const struct alloc_fn *custom; /* --alloc-fn, --realloc-fn, --free-fn */
	size_t custom_count;
	bool mmap; /* --mmap */
};

#endif

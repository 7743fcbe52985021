/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parts that the kernel has refused us, and that we do without. */
#ifndef MEMLEAKBPF_MODEL_MISSING_H
#define MEMLEAKBPF_MODEL_MISSING_H

#include <stddef.h>

#define MISSING_MAX 16
#define MISSING_WHY 160

struct missing_part {
	const char *what;      /* a stable name, for JSON and metrics; a constant */
	const char *costs;     /* a part of a sentence that says what we lose; a constant */
	char why[MISSING_WHY]; /* "on_loaded: Invalid argument" */
};

struct missing_parts {
	struct missing_part parts[MISSING_MAX]; /* in the order in which they were missed */
	size_t count;
};

/*
 * Adds a part, with its reason as printf makes it; `what` and `costs` are constants. Adds the same
 * part only once, and none beyond MISSING_MAX. NULL: it is there already.
 */
const struct missing_part *missing_add(struct missing_parts *list, const char *what,
				       const char *costs, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif

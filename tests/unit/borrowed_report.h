/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reports of snapshots that are a test's own. */
#ifndef MEMLEAKBPF_TESTS_BORROWED_REPORT_H
#define MEMLEAKBPF_TESTS_BORROWED_REPORT_H

#include <stdlib.h>

#include "user/model/report.h"

/* As report_new(), but for report_drop(). */
static inline struct report *report_borrow(const struct snapshot *s)
{
	struct report *r = report_new((struct snapshot *)s);

	if (!r)
		abort();
	return r;
}

static inline void report_drop(struct report *r)
{
	if (r)
		r->snapshot = NULL;
	report_free(r);
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The growth between two looks at a process, by group of blocks. */
#ifndef MEMLEAKBPF_ANALYSIS_INSPECTION_ORDER_H
#define MEMLEAKBPF_ANALYSIS_INSPECTION_ORDER_H

#include "user/model/inspection.h"

/*
 * Fills in the growth of each of now's groups since an earlier look at the same process. A group
 * that was not there then has come since. 0, or -ENOMEM, not logged.
 */
int inspection_find_growth(struct inspection *now, const struct inspection *before);

enum inspection_order {
	INSPECTION_BY_BYTES,
	INSPECTION_BY_COUNT,
	INSPECTION_BY_GROWTH, /* where it is known; else by bytes */
};

/* Puts the groups into another order; the losses keep naming the same groups. 0 or -ENOMEM. */
int inspection_sort(struct inspection *inspection, enum inspection_order order);

#endif

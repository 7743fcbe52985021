/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which blocks of a report count as leaked: definitely or indirectly lost ones that no
 * suppression has; without a verdict all live ones.
 */
#ifndef MEMLEAKBPF_ANALYSIS_LEAKS_H
#define MEMLEAKBPF_ANALYSIS_LEAKS_H

#include "user/model/report.h"

/* All of them. */
struct amount leaks_of(const struct report *r);

/* --leak-only: hides the stacks that have none. */
void leaks_hide_others(struct report *r);

#endif

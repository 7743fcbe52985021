/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which blocks of a report count as leaked? Definitely or indirectly lost ones that are not
 * suppressed; without a verdict all live ones.
 */
#ifndef MEMLEAKBPF_ANALYSIS_LEAKS_H
#define MEMLEAKBPF_ANALYSIS_LEAKS_H

#include "user/model/report.h"

/* The sum of all leaked blocks. */
struct amount leaks_of(const struct report *r);

/*
 * Finds the stacks all of whose blocks hang on lost ones of others: with these they are told. Nothing where a
 * suppression has such others: then nobody tells.
 */
void leaks_find_hanging(struct report *r);

/* --leak-only: hides the stacks that have none. */
void leaks_hide_others(struct report *r);

#endif

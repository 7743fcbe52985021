/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Does it leak? One series of byte counts over time, of a process or of a stack, in bounded memory,
 * and the judgement on it. It leaks when it grew in every third of the watch at a similar pace, not
 * in one jump, and its low points rise too. tests/unit/analysis/test_trend.c shows by simulation
 * how often that is right.
 */
#ifndef MEMLEAKBPF_ANALYSIS_TREND_SERIES_H
#define MEMLEAKBPF_ANALYSIS_TREND_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/trend.h"

#define TREND_MIN_SAMPLES  12 /* below: too early */
#define TREND_LEAK_SAMPLES 30 /* growing below: suspect; from here on: leaking */

struct trend_series;

struct trend_series *trend_series_new(void); /* NULL when out of memory */

/* One of half as many points, at most 1.5 KiB. */
struct trend_series *trend_series_new_small(void);
void trend_series_free(struct trend_series *series); /* NULL is fine */

/*
 * Adds a sample; times in nanoseconds of any clock, not descending. In a long watch neighbouring
 * samples are merged, and those older than two days forgotten. At most 3 KiB. 0 or -ENOMEM, then
 * the sample is left out.
 */
int trend_add(struct trend_series *series, uint64_t time_ns, uint64_t bytes);

/*
 * Judges the series. A change below floor_bytes, and below 2 % of the median, does not count. 1 MiB
 * is right for a process's memory, a few KiB for a stack, whose counters are exact.
 */
void trend_judge(const struct trend_series *series, uint64_t floor_bytes, struct trend *out);

/* Could the last trend_add() have changed the judgement? In a long watch, not every sample does. */
bool trend_changed(const struct trend_series *series);

/* The lowest values in the first and in the last third of the watch; false when there are none. */
bool trend_lows(const struct trend_series *series, double *first, double *last);

/* Values over the watch, evenly, oldest first, at most max: for a sparkline. Returns how many. */
size_t trend_values(const struct trend_series *series, double *values, size_t max);

#endif

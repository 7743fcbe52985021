/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The slope of a few values, and how sure it is. */
#ifndef MEMLEAKBPF_REGIME_REGIME_SLOPE_H
#define MEMLEAKBPF_REGIME_REGIME_SLOPE_H

#define REGIME_SLOPE_MAX 12 /* values */

struct regime_slope {
	float mid, low, high; /* a step; low and high: the 95 % confidence interval */
};

/* n values, one step apart, 2 <= n <= REGIME_SLOPE_MAX. */
void regime_slope_of(const float *values, int n, struct regime_slope *out);

#endif

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/regime/regime_slope.h"

#include <math.h>

/* Theil (1950) and Sen (1968): the median of the slopes between all pairs, with Kendall's interval. */
void regime_slope_of(const float *v, int n, struct regime_slope *out)
{
	float s[REGIME_SLOPE_MAX * (REGIME_SLOPE_MAX - 1) / 2];
	int c = 0, margin;

	for (int i = 0; i < n; i++)
		for (int j = i + 1; j < n; j++) {
			float x = (v[j] - v[i]) / (float)(j - i);
			int k = c++;

			for (; k && s[k - 1] > x; k--)
				s[k] = s[k - 1];
			s[k] = x;
		}
	margin = (int)(1.96 * sqrt(n * (n - 1.0) * (2 * n + 5) / 18) / 2 + 0.5);
	out->mid = c % 2 ? s[c / 2] : (s[c / 2] + s[c / 2 - 1]) / 2;
	out->low = s[c / 2 - margin > 0 ? c / 2 - margin : 0];
	out->high = s[c / 2 + margin < c ? c / 2 + margin : c - 1];
}

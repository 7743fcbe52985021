// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/regime/regime_slope.h"

#include <math.h>

#define RHO_MAX 0.7 /* of so few values no more can be told */

/* Student's t for a two-sided 95 %, by degrees of freedom. */
static double slope_student(int freedom)
{
	static const float t[REGIME_SLOPE_MAX] = {12.7f, 12.7f, 4.30f, 3.18f, 2.78f, 2.57f,
						  2.45f, 2.36f, 2.31f, 2.26f, 2.23f, 2.20f};

	return t[freedom < REGIME_SLOPE_MAX ? freedom : REGIME_SLOPE_MAX - 1];
}

/*
 * The margin by the residuals. Kendall's takes values for independent, but those under the teeth of
 * a collector, or of what wanders, follow their neighbours. The residuals tell by how much: their
 * first autocorrelation, which few values make too small (Marriott and Pope, 1954).
 */
static double slope_margin(const float *v, int n, double slope)
{
	double e[REGIME_SLOPE_MAX], mean = 0, squares = 0, products = 0, rho;

	if (n < 5)
		return 0;
	for (int i = 0; i < n; i++) {
		e[i] = v[i] - slope * i;
		mean += e[i] / n;
	}
	for (int i = 0; i < n; i++) {
		e[i] -= mean;
		squares += e[i] * e[i];
		products += i ? e[i] * e[i - 1] : 0;
	}
	if (squares <= 0)
		return 0;
	rho = fmin(fmax((n * products / squares + 1) / (n - 4), 0), RHO_MAX);
	return slope_student(n - 2) * sqrt(squares / (n - 2) * 12 / (n * (n * n - 1.0))) *
	       sqrt((1 + rho) / (1 - rho));
}

/*
 * The margin of what comes in chunks at random: of the mean of its steps. Noise around a line goes
 * back at the next step, so that nothing is left of it here.
 */
static double slope_chunk_margin(const float *v, int n)
{
	double mean = (double)(v[n - 1] - v[0]) / (n - 1), squares = 0, products = 0;

	for (int i = 1; i < n; i++) {
		double step = v[i] - v[i - 1] - mean;

		squares += step * step;
		products += i > 1 ? step * (v[i - 1] - v[i - 2] - mean) : 0;
	}
	return slope_student(n - 2) * sqrt(fmax(squares + 2 * products, 0)) / (n - 1);
}

/* Theil (1950) and Sen (1968): the median of the slopes between all pairs. The interval is Kendall's,
 * or the residuals' where that is wider. */
void regime_slope_of(const float *v, int n, struct regime_slope *out)
{
	float s[REGIME_SLOPE_MAX * (REGIME_SLOPE_MAX - 1) / 2];
	int c = 0, rank;
	double margin;

	for (int i = 0; i < n; i++)
		for (int j = i + 1; j < n; j++) {
			float x = (v[j] - v[i]) / (float)(j - i);
			int k = c++;

			for (; k && s[k - 1] > x; k--)
				s[k] = s[k - 1];
			s[k] = x;
		}
	rank = (int)(1.96 * sqrt(n * (n - 1.0) * (2 * n + 5) / 18) / 2 + 0.5);
	out->mid = c % 2 ? s[c / 2] : (s[c / 2] + s[c / 2 - 1]) / 2;
	margin = fmax(slope_margin(v, n, out->mid), slope_chunk_margin(v, n));
	out->low = s[c / 2 - rank > 0 ? c / 2 - rank : 0];
	out->high = s[c / 2 + rank < c ? c / 2 + rank : c - 1];
	out->low = fminf(out->low, out->mid - (float)margin);
	out->high = fmaxf(out->high, out->mid + (float)margin);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/stacks/sampling.h"

#include <math.h>

#include "user/base/util.h"

void sampling_tables(struct sample_tables *tables)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables->neg_log); i++)
		tables->neg_log[i] = (uint32_t)lround(-log((256.0 + (double)i) / 512) * SAMPLE_ONE);
	for (size_t i = 0; i < ARRAY_SIZE(tables->weight); i++) {
		double x = 1 + (double)i / (1 << SAMPLE_TABLE_SHIFT);

		tables->weight[i] = (uint32_t)lround(SAMPLE_ONE / -expm1(-x));
	}
}

double sampling_error(int64_t variance, uint64_t sample_bytes)
{
	/* Rounding can leave a cleared stack a little below zero. */
	return variance > 0 ? (double)sample_bytes * sqrt((double)variance / SAMPLE_ONE) : 0;
}

double sampling_error_weighed(uint64_t bytes, uint64_t every)
{
	return sqrt((double)bytes * (double)every);
}

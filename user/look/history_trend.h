/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One word for a process: of what grows now, and of what its watch looks like as a whole. */
#ifndef MEMLEAKBPF_LOOK_HISTORY_TREND_H
#define MEMLEAKBPF_LOOK_HISTORY_TREND_H

#include "user/model/trend.h"
#include "user/regime/regime.h"

/*
 * `growth` says whether it grows. `thirds`, of the whole watch, says whether it shrinks or goes up
 * and down, and what it does before that is known. What does not grow has a growth of 0.
 */
void history_trend_of(const struct regime_judgement *growth, const struct trend *thirds,
		      struct trend *out);

#endif

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/look/history_trend.h"

static void history_trend_growing(const struct regime_judgement *growth, struct trend *out)
{
	*out = (struct trend){
		.kind = growth->word == REGIME_FILLING ? TREND_FILLING : TREND_GROWING,
		.leaking = growth->word == REGIME_LEAKING,
		.growth_known = true,
		.error_known = true,
		.growth = growth->growth,
		.growth_low = growth->growth_low,
		.growth_high = growth->growth_high,
	};
	if (growth->word == REGIME_FILLING)
		out->reason = "grows ever slower";
	else if (growth->word == REGIME_LEAKING)
		out->reason = "has grown for long, measured by what is left";
	else if (growth->since_start)
		out->reason = "grows since the start, a warm-up is not excluded";
	else
		out->reason = "grows as it has not before";
}

void history_trend_of(const struct regime_judgement *growth, const struct trend *thirds,
		      struct trend *out)
{
	if (growth->word >= REGIME_FILLING) {
		history_trend_growing(growth, out);
		return;
	}
	*out = *thirds;
	/* Before more is known, growth is a suspicion; afterwards it is none. */
	out->leaking = false;
	if (growth->word != REGIME_EARLY && out->kind == TREND_GROWING) {
		out->kind = TREND_STEADY;
		out->reason = "grows no more than it has been seen to before";
	}
	if (growth->word == REGIME_STEPS && out->kind == TREND_STEADY) {
		out->kind = TREND_STEPS;
		out->reason = "rose in steps, level since";
	} else if (growth->word == REGIME_KEPT && out->kind == TREND_STEADY) {
		out->reason = "grew, and kept it: level since";
	}
	if (out->kind == TREND_STEADY || out->kind == TREND_STEPS || out->kind == TREND_SAWTOOTH) {
		out->growth_known = true;
		out->error_known = false;
		out->growth = 0;
	}
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/keep/keep_budget.h"

#include "user/base/clock.h"

/* Less says nothing about a rate: a burst of a moment is one of a second. */
#define LOOK_MIN_NS NS_PER_S

/* Finer again where for so long that would have kept to four fifths of what there may be. */
#define CALM_NS	  (30 * NS_PER_S)
#define CALM_PART 0.8

#define ALARM_S 2

void keep_budget_begin(struct keep_budget *b, uint64_t per_second, uint64_t now_ns)
{
	*b = (struct keep_budget){.per_second = per_second, .looked_ns = now_ns, .calm_ns = now_ns};
}

static double keep_budget_rate(uint64_t samples, uint64_t ns)
{
	return (double)samples * NS_PER_S / (double)(ns > LOOK_MIN_NS ? ns : LOOK_MIN_NS);
}

static void keep_budget_watch_anew(struct keep_budget *b)
{
	b->calm_ns = b->looked_ns;
	b->calm_samples = b->looked_samples;
}

bool keep_budget_look(struct keep_budget *b, uint64_t now_ns, uint64_t samples)
{
	unsigned before = b->level;
	double rate = keep_budget_rate(samples - b->looked_samples, now_ns - b->looked_ns);

	b->rate = rate;
	b->looked_ns = now_ns;
	b->looked_samples = samples;
	/* Each level halves them. */
	while (rate > (double)b->per_second && b->level < KEEP_LEVEL_MAX) {
		rate /= 2;
		b->level++;
	}
	if (b->level != before) {
		keep_budget_watch_anew(b);
		return true;
	}
	if (now_ns - b->calm_ns < CALM_NS)
		return false;
	rate = keep_budget_rate(samples - b->calm_samples, now_ns - b->calm_ns);
	keep_budget_watch_anew(b);
	if (!b->level || 2 * rate > CALM_PART * (double)b->per_second)
		return false;
	b->level--;
	return true;
}

uint64_t keep_budget_alarm(const struct keep_budget *b)
{
	return b->looked_samples + ALARM_S * b->per_second;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/survey/survey_budget.h"

#include "user/base/clock.h"

#define MIN_MEASURE_NS (50 * NS_PER_MS)
/*
 * Probes that take more of a CPU than this, for longer than a burst of calls, come off. They are a
 * burden, and sample no suspect. Until then they have cost at most a third of what the default
 * budget gives a minute.
 */
#define BUSY_SHARE 0.25
#define BUSY_NS	   (400 * NS_PER_MS)

void survey_budget_unloaded(struct survey_budget *b)
{
	b->measured_ns = b->busy_since_ns = 0;
}

bool survey_budget_is_due(const struct survey_budget *b, uint64_t now)
{
	return !b->measured_ns || now - b->measured_ns >= MIN_MEASURE_NS;
}

void survey_budget_measure(struct survey_budget *b, uint64_t now, const struct trace_cost *cost)
{
	if (b->measured_ns && now > b->measured_ns) {
		uint64_t spent = cost->ns - b->cost.ns;

		b->share_now = (double)spent / (double)(now - b->measured_ns);
		if (b->share_now <= BUSY_SHARE)
			b->busy_since_ns = 0;
		else if (!b->busy_since_ns)
			b->busy_since_ns = b->measured_ns;
		cpu_account_add(&b->account, now, spent);
		b->probe_hits += cost->hits - b->cost.hits;
		b->probe_ns += spent;
	}
	b->cost = *cost;
	b->measured_ns = now;
}

void survey_budget_add_own(struct survey_budget *b, uint64_t ns)
{
	b->own_ns += ns;
}

bool survey_budget_has_room(const struct survey_budget *b, uint64_t now)
{
	/* Half of it must be there: a window that ends as soon as it has begun finds nothing. */
	return now >= b->rest_until_ns && survey_budget_spent(b, now) <= b->share / 2;
}

void survey_budget_open(struct survey_budget *b, uint64_t now)
{
	b->opened_ns = now;
	b->spent_at_opening = b->own_ns + b->probe_ns;
}

uint64_t survey_budget_rest(struct survey_budget *b)
{
	uint64_t spent = b->own_ns + b->probe_ns - b->spent_at_opening;

	b->rest_until_ns = b->opened_ns + (uint64_t)((double)spent / b->share);
	return spent;
}

bool survey_budget_rests(const struct survey_budget *b)
{
	return b->opened_ns <= b->rest_until_ns;
}

void survey_budget_adding(struct survey_budget *b)
{
	b->share_before_add = b->share_now;
}

double survey_budget_spent(const struct survey_budget *b, uint64_t now)
{
	return cpu_account_spent(&b->account, now);
}

bool survey_budget_is_used_up(const struct survey_budget *b, uint64_t now)
{
	return survey_budget_spent(b, now) > b->share;
}

bool survey_budget_is_busy(const struct survey_budget *b)
{
	return b->busy_since_ns != 0;
}

bool survey_budget_is_too_busy(const struct survey_budget *b, uint64_t now)
{
	return b->busy_since_ns && now - b->busy_since_ns > BUSY_NS;
}

bool survey_budget_blame_last(struct survey_budget *b)
{
	b->busy_since_ns = 0;
	/* The one that was added last is what the share has risen by. */
	return b->share_now - b->share_before_add >= BUSY_SHARE;
}

bool survey_budget_is_for_walks(const struct survey_budget *b)
{
	return b->cost.run_ns * 2 > b->cost.ns;
}

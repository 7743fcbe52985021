/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the survey's probes may take of a CPU over a minute, what they have taken, and when there
 * may be some again. It reads no clock: all times are what the caller says, of one clock, in ns.
 */
#ifndef MEMLEAKBPF_SURVEY_SURVEY_BUDGET_H
#define MEMLEAKBPF_SURVEY_SURVEY_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "user/survey/cpu_account.h"
#include "user/trace/cost.h"

/* All zero but for `share` is one of which nothing has been spent. */
struct survey_budget {
	double share; /* of a CPU */
	struct cpu_account account;
	struct trace_cost cost; /* of the probes that are loaded, as last measured */
	uint64_t measured_ns;	/* when that was; 0: never */
	double share_now;	/* of a CPU, from one measurement to the next */
	double share_before_add;
	uint64_t busy_since_ns;	   /* share_now has been too much since then; 0: it is not */
	uint64_t probe_hits;	   /* of all probes so far */
	uint64_t probe_ns, own_ns; /* CPU time: what they took, and what we took for them */
	uint64_t opened_ns;	   /* the last window; 0: there was none */
	uint64_t spent_at_opening; /* probe_ns + own_ns */
	uint64_t rest_until_ns;	   /* the next window opens no sooner */
};

/* The programs are loaded anew: what they count begins at zero. */
void survey_budget_unloaded(struct survey_budget *budget);

/* Is it time to measure again? Over a very short time a share says nothing. */
bool survey_budget_is_due(const struct survey_budget *budget, uint64_t now);

/* `cost`: what has been counted since the programs were loaded. */
void survey_budget_measure(struct survey_budget *budget, uint64_t now,
			   const struct trace_cost *cost);

/* CPU time that the tool has taken for the probes itself. */
void survey_budget_add_own(struct survey_budget *budget, uint64_t ns);

/* May a window be opened? */
bool survey_budget_has_room(const struct survey_budget *budget, uint64_t now);
void survey_budget_open(struct survey_budget *budget, uint64_t now);

/*
 * A window has been closed. What loading, placing and naming took of our own time counts, too. The
 * next window waits until all of it is within the budget. Once per window; returns what it took in
 * all.
 */
uint64_t survey_budget_rest(struct survey_budget *budget);
bool survey_budget_rests(const struct survey_budget *budget); /* since the last window opened */

/* One more process gets its probes. */
void survey_budget_adding(struct survey_budget *budget);

/* Of a CPU that the probes took over the last minute. */
double survey_budget_spent(const struct survey_budget *budget, uint64_t now);
bool survey_budget_is_used_up(const struct survey_budget *budget, uint64_t now);

/* Are they a burden now, and have they been for longer than a burst of calls takes? */
bool survey_budget_is_busy(const struct survey_budget *budget);
bool survey_budget_is_too_busy(const struct survey_budget *budget, uint64_t now);

/* Is it what was added last? Whoever stays is measured anew from now on. */
bool survey_budget_blame_last(struct survey_budget *budget);

/* Would less sampling help? It makes walks over stacks rarer, not the traps. */
bool survey_budget_is_for_walks(const struct survey_budget *budget);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How often the kept processes are sampled: by 2^level times the mean that was asked for. The level
 * is such that all of them together make no more samples a second than they may. Arithmetic only:
 * the caller has the clock and the counter.
 */
#ifndef MEMLEAKBPF_KEEP_KEEP_BUDGET_H
#define MEMLEAKBPF_KEEP_KEEP_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define KEEP_LEVEL_MAX 10

struct keep_budget {
	uint64_t per_second; /* samples that there may be */
	unsigned level;
	double rate; /* samples a second between the last two looks */

	/* When the last look was, and since when finer sampling is thought of, with the samples until then. */
	uint64_t looked_ns, looked_samples;
	uint64_t calm_ns, calm_samples;
};

void keep_budget_begin(struct keep_budget *budget, uint64_t per_second, uint64_t now_ns);

/* `samples`: all so far. True: the level has changed. */
bool keep_budget_look(struct keep_budget *budget, uint64_t now_ns, uint64_t samples);

/* With so many there is to be a look at once: of two seconds, if they came as fast as they may. */
uint64_t keep_budget_alarm(const struct keep_budget *budget);

#endif

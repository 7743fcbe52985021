// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/survey/survey_suspects.h"

#include <math.h>
#include <string.h>

/* A suspect that has been looked at is left alone for so many windows. */
#define REST_WINDOWS 6

#define URGENT_S (24 * 3600.0)

static bool survey_suspects_wants(const struct survey_config *config,
				  const struct survey_scope *scope, struct history_process *process,
				  uint64_t now)
{
	struct survey_process *data;

	if (process->ended || process->trend.kind != TREND_GROWING ||
	    process->trend.growth * 3600 < (double)config->probes.min_growth)
		return false;
	data = survey_process_of(process);
	/* What is sampled all the time needs no probes. */
	if (data && data->kept_named && data->kept.sampled)
		return false;
	return data && !data->refused && survey_scope_has(scope, process, data) &&
	       (!data->drilled_ns ||
		now - data->drilled_ns > REST_WINDOWS * config->probes.window_ns);
}

static double survey_suspects_limit(const struct history_process *process)
{
	return process->growth.limit_known ? process->growth.limit_s : INFINITY;
}

/* Who has the least time left, while that is a day at most; of others who has waited longest. */
static bool survey_suspects_comes_before(const struct history_process *a,
					 const struct history_process *b)
{
	const struct survey_process *x = a->user_data, *y = b->user_data;
	double left_a = survey_suspects_limit(a), left_b = survey_suspects_limit(b);

	if (fmin(left_a, left_b) < URGENT_S && left_a != left_b)
		return left_a < left_b;
	return x->drilled_ns < y->drilled_ns;
}

size_t survey_suspects_choose(const struct survey_config *config, struct history *history,
			      const struct survey_scope *scope, uint64_t now,
			      struct history_process *chosen[SURVEY_SUSPECTS_MAX])
{
	struct history_process *const *ranked;
	size_t count, n = 0;

	ranked = history_ranked(history, &count);
	for (size_t i = 0; i < count; i++) {
		size_t at = n;

		/* What is not growing comes after what is. */
		if (ranked[i]->trend.kind != TREND_GROWING)
			break;
		if (!survey_suspects_wants(config, scope, ranked[i], now))
			continue;
		while (at > 0 && survey_suspects_comes_before(ranked[i], chosen[at - 1]))
			at--;
		if (at == config->probes.suspects)
			continue;
		if (n < config->probes.suspects)
			n++;
		memmove(&chosen[at + 1], &chosen[at], (n - 1 - at) * sizeof(chosen[0]));
		chosen[at] = ranked[i];
	}
	return n;
}

struct history_process *survey_suspects_find(struct history *history, pid_t pid,
					     uint64_t start_ticks)
{
	struct history_process *process = history_find(history, pid);
	struct history_process *const *ranked;
	size_t count;

	if (process && process->now.start_ticks == start_ticks)
		return process;
	ranked = history_ranked(history, &count);
	for (size_t i = 0; i < count; i++) {
		if (ranked[i]->now.pid == pid && ranked[i]->now.start_ticks == start_ticks)
			return ranked[i];
	}
	return NULL;
}

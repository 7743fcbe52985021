// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/keep/keep_drill.h"

#include "user/base/clock.h"
#include "user/look/survey_result.h"

/* Windows of probes count from 1. */
#define FIRST_ID (1u << 31)

bool keep_drill_is_due(const struct keep_drills *drills, const struct history_process *process,
		       const struct survey_process *data, uint64_t now_ns)
{
	const struct survey_probes_config *probes = &drills->config->probes;

	return probes->wanted && process->trend.kind == TREND_GROWING &&
	       process->trend.growth * 3600 >= (double)probes->min_growth &&
	       (!data->drilled_ns || now_ns - data->drilled_ns >= probes->window_ns);
}

int keep_drill(struct keep_drills *drills, struct trace *trace, struct target *target,
	       const struct history_process *process, struct survey_process *data)
{
	const struct show_config *show = &drills->config->show;
	struct survey_drill result = {0};
	int err = survey_result_take(trace, target, &result);

	if (err)
		return err;
	result.snapshot->target_id = FIRST_ID + drills->count++;
	result.snapshot->window = true;
	err = survey_result_name(trace, target, drills->frames, show->top, &result);
	if (!err && (drills->config->record || show->format->wants_all))
		err = survey_result_name_all(trace, target, drills->frames, &result);
	if (err) {
		survey_result_clear(&result);
		return err;
	}
	result.grown = (int64_t)(process_bytes(&process->now) - data->bytes_at_open);
	survey_result_clear(&data->drill);
	data->drill = result;
	data->drilled = true;
	data->drilled_ns = monotonic_ns();
	return 0;
}

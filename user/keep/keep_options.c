// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/keep/keep_options.h"

#include "bpf/abi.h"

struct trace_options keep_trace_options(const struct survey_config *config, bool starting)
{
	const struct survey_keep_config *keep = &config->keep;

	return (struct trace_options){
		/* What lives for less than an interval is not worth a gate. */
		.children = CHILDREN_NONE,    .starting = starting,
		.max_size = UINT64_MAX,	      .sample_bytes = keep->sample_bytes,
		.sample_levels = true,	      .max_live_target = keep->live,
		.max_frames = ABI_MAX_FRAMES, .max_live = keep->live_all,
		.max_stacks = keep->stacks,   .gate = true,
		.gate_or_none = true,	      .guard = keep->guard,
		.lifts_filters = true,	      .symbols = config->symbols,
	};
}

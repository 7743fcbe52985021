// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/source_trace.h"

#include "user/process/memory.h"
#include "user/session/judge.h"

static int source_trace_name(const struct source *source, uint32_t target_id, uint64_t stack_id,
			     const struct frame *const **frames, size_t *count)
{
	const struct source_trace *s = (const struct source_trace *)source;

	return trace_name_stack(s->trace, target_id, stack_id, frames, count);
}

void source_trace_init(struct source_trace *source, const struct watch_config *config)
{
	static const struct source_ops ops = {
		.name_stack = source_trace_name,
	};

	*source = (struct source_trace){.source = {&ops}, .config = config};
	if (config->verdict.inspect || config->viewer)
		source->types = kept_types_new(KEPT_TYPES_MAX);
}

void source_trace_release(struct source_trace *source)
{
	kept_types_free(source->types);
}

void source_trace_begin_round(const struct source_trace *source)
{
	kept_types_begin_look(source->types);
}

int source_trace_take(const struct source_trace *s, struct target *target,
		      const struct source_occasion *why, struct snapshot **out,
		      struct inspection **inspection)
{
	const struct verdict_config *verdict = &s->config->verdict;
	struct snapshot *now;
	int err;

	*inspection = NULL;
	if (!why->leaving)
		trace_ask_runtime(s->trace, target);
	if (verdict->wanted || why->verdict) {
		err = verdict_snapshot(s->trace, target, s->config, s->types, &now,
				       verdict->inspect || why->inspect ? inspection : NULL);
	} else {
		err = trace_snapshot(s->trace, target, &now);
		if (!err)
			trace_read_memory(s->trace, target, now);
	}
	if (err)
		return err;
	/* While the target lives, the pid's process is the target; later it may be another. */
	if (!now->exited && !now->execed && !why->leaving && s->config->show.format->wants_pss)
		proc_pss(now->pid, &now->memory.pss);
	now->final |= why->final || why->leaving;
	now->exited |= why->leaving;
	if (*inspection)
		(*inspection)->final = now->final;
	*out = now;
	return 0;
}

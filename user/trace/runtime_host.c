// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/runtime_host.h"

#include <errno.h>

#include <bpf/libbpf.h>

#include "user/runtime/java/runtime_asker.h"
#include "user/trace/known_objects.h"
#include "user/stacks/stacks.h"
#include "user/trace/later.h"
#include "user/trace/skeleton.h"
#include "user/trace/target_runtimes.h"

static struct runtime_object *host_object(void *ctx, struct object *object, bool wanted)
{
	const struct known_object *known =
		wanted ? known_object_get(ctx, object) : known_object_find(ctx, object);

	return known ? known->runtime : NULL;
}

static int host_load(void *ctx, enum runtime runtime)
{
	return later_runtimes(ctx, TARGET_RUNTIME(runtime));
}

static void host_changed(void *ctx)
{
	targets_changed(ctx);
}

static const struct frame *host_keep(void *ctx, uint32_t target_id, const struct frame *frame)
{
	const struct trace *trace = ctx;

	return stack_table_keep_frame(trace->stacks, target_id, frame);
}

#define HOST_ROWS(constant, name, text) \
	[RUNTIME_##constant] = bpf_map__fd(trace->skel->maps.name##_rows),

int runtime_host_new(struct trace *trace)
{
	const struct runtime_host host = {
		.ctx = trace,
		.rows = {RUNTIME_LANGUAGES(HOST_ROWS)},
		.pool_rows = bpf_map__fd(trace->skel->maps.pool_rows),
		.old = trace->options.old,
		.task_storage = trace->options.task_storage,
		.frame_pointers = trace->options.frame_pointers,
		.native_frames = trace->options.native_frames,
		.max_frames = trace->options.max_frames,
		.object = host_object,
		.load = host_load,
		.changed = host_changed,
		.keep = host_keep,
	};

	trace->runtimes = runtimes_new(&host);
	return trace->runtimes ? 0 : -ENOMEM;
}

void runtime_host_event(struct trace *trace, const struct event_header *header)
{
	struct target *target = target_by_id(trace, header->target_id);

	if (target)
		runtimes_event(trace->runtimes, target_runtimes(target), header);
}

void trace_ask_runtime(struct trace *trace, struct target *target)
{
	runtime_ask(trace->asker, trace->runtimes, target_runtimes(target));
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/heap/dead_memory.h"
#include "user/heap/reach.h"
#include "user/inspect/classes.h"
#include "user/inspect/inspect.h"
#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/session/holder.h"

struct judge {
	struct trace *trace;
	struct target *target;
	const struct watch_config *config;
	struct kept_types *types;
	struct snapshot *snapshot;
	struct heap_image *image;
	struct inspect_source source; /* of an inspection: facts that the image lacks */
	int inspect_err;	      /* why there is none */
	char inspect_reason[REASON_MAX];
	uint8_t *new_array; /* by stack: 0 not looked at yet, 1 no, 2 yes */
};

/*
 * Was it operator new or new[]? Nobody can tell: libstdc++'s operator new[] jumps to its operator
 * new, and leaves no frame.
 */
static bool judge_calls_new(const struct frame *const *frames, size_t count)
{
	/* The allocation function itself, or its caller (libstdc++'s new calls malloc). */
	for (size_t i = 0; i < count && i < 2; i++) {
		if (frame_is_operator_new(frames[i]))
			return true;
	}
	return false;
}

static bool judge_is_new_array(void *ctx, uint32_t stack)
{
	struct judge *j = ctx;

	if (stack >= j->snapshot->stack_count)
		return false;
	if (!j->new_array[stack]) {
		const struct frame *const *frames = NULL;
		size_t count = 0;

		j->new_array[stack] = 1;
		if (!trace_name_stack(j->trace, j->snapshot->target_id,
				      j->snapshot->stacks[stack].id, &frames, &count) &&
		    judge_calls_new(frames, count))
			j->new_array[stack] = 2;
	}
	return j->new_array[stack] == 2;
}

/* ---- judging ------------------------------------------------------------------------------ */

/* Takes the results into the trace's snapshot: sums by stack, and holders of some blocks. */
static int judge_take(void *ctx, struct reach *reach)
{
	struct judge *j = ctx;
	const struct site_rules sites = show_sites(&j->config->show);

	reach_sum(reach, j->snapshot);
	return holder_describe(j->trace, j->target, j->snapshot, j->image, reach, &sites,
			       j->config->verdict.contents);
}

/* An inspection finds these by the way: both go by the same rules. */
static int judge_find_heads(const struct judge *j, uint8_t **heads)
{
	struct class_process process = {
		.objects = trace_objects(j->trace), .pid = target_pid(j->target), .root_fd = -1};
	const struct class_files files = {
		.ctx = &process, .object = class_process_object, .pid = process.pid};

	return block_heads_find(j->image, &files, heads);
}

static int judge_reach(struct judge *j)
{
	_cleanup_free_ uint8_t *heads = NULL;
	struct reach_options how = {.heuristics = j->config->verdict.heuristics,
				    .tagged = j->config->verdict.tagged,
				    .is_new_array = judge_is_new_array,
				    .ctx = j};
	struct reach *reach = NULL;
	uint64_t start = monotonic_ns(), found;
	int err = dead_memory_find(j->image);

	err = err ?: heap_image_take_old(j->image);
	err = err ?: judge_find_heads(j, &heads);
	how.heads = heads;
	found = monotonic_ns();
	err = err ?: reach_new(j->image, &how, &reach);
	err = err ?: judge_take(j, reach);
	reach_free(reach);
	log_debug("verdict of %d: %.1f ms to find dead memory, %.1f ms to follow pointers",
		  (int)j->snapshot->pid, (double)(found - start) / NS_PER_MS,
		  (double)(monotonic_ns() - found) / NS_PER_MS);
	return err;
}

/* ---- with an inspection ------------------------------------------------------------------- */

/* An inspection that fails does not prevent the verdict; a later moment may ask again. */
static int judge_note_moment(void *ctx, char reason[static REASON_MAX])
{
	struct judge *j = ctx;

	(void)reason;
	j->inspect_err = inspect_source_moment(&j->source, j->inspect_reason);
	return 0;
}

static void judge_say_stack(void *ctx, uint32_t stack, uint64_t *id, const char **function)
{
	struct judge *j = ctx;
	const struct site_rules sites = show_sites(&j->config->show);

	if (stack >= j->snapshot->stack_count)
		return;
	*id = j->snapshot->stacks[stack].id;
	*function = holder_allocator(j->trace, j->snapshot, stack, &sites) ?: *function;
}

static int judge_name_frame(void *ctx, const struct inspect_stacks *stacks,
			    const struct memory_thread *thread, uint64_t address,
			    const struct frame **out)
{
	struct judge *j = ctx;

	return trace_name_frame(j->trace, j->target, stacks->memory, thread, address, out);
}

static int judge_inspect(struct judge *j, struct inspection **out)
{
	const struct verdict *v = &j->snapshot->verdict;
	const struct inspect_traced traced = {
		.image = j->image,
		.stack_count = (uint32_t)j->snapshot->stack_count,
		.symbolizer = trace_symbolizer(j->trace),
		.ctx = j,
		.is_new_array = judge_is_new_array,
		.stack = judge_say_stack,
		.judged = judge_take,
	};
	const struct inspect_options options = {
		.heuristics = j->config->verdict.heuristics,
		.tagged = j->config->verdict.tagged,
		.contents = j->config->verdict.contents,
		.traced = &traced,
		.frame = judge_name_frame,
		.frame_ctx = j,
		.types = j->types,
	};

	j->source.pause_ns = v->pause_ns;
	j->source.read_bytes = v->read_bytes;
	j->source.unread_bytes = v->unread_bytes;
	j->source.approximate = v->approximate;
	return inspect(&j->source, &options, out);
}

/* ---- how much of blocks can be used ------------------------------------------------------- */

/*
 * Enters the walkers' findings into the snapshot. Books with more blocks of a stack than it has are
 * wrong, and left out.
 */
static int judge_fill_usable(struct snapshot *s, const struct heap_usable *usable)
{
	int err = s->figures ? 0 : snapshot_add_figures(s);

	for (size_t i = 0; !err && i < s->stack_count; i++) {
		struct stack_figures *f = s->stacks[i].figures;
		uint64_t count = saturate_u64(usable[i].count + 0.5);

		if (count > s->stacks[i].live.count)
			continue;
		f->usable = (struct amount){saturate_u64(usable[i].bytes + 0.5), count};
		f->usable_asked = saturate_u64(usable[i].asked + 0.5);
	}
	s->figures_kept.usable = !err;
	return err;
}

/* ---- all of it ---------------------------------------------------------------------------- */

static void judge_image(struct judge *j, struct inspection **inspection)
{
	size_t stacks = j->snapshot->stack_count;
	struct verdict *v = &j->snapshot->verdict;
	bool usable = j->config->trace.figures.usable;
	int err = 0;

	j->new_array = calloc(stacks + 1, 1);
	if (usable) {
		j->image->usable = calloc(stacks + 1, sizeof(*j->image->usable));
		j->image->usable_stacks = stacks;
	}
	if (!j->new_array || (usable && !j->image->usable))
		err = -ENOMEM;
	if (!err)
		err = inspection ? judge_inspect(j, inspection) : judge_reach(j);
	if (!err && usable)
		err = judge_fill_usable(j->snapshot, j->image->usable);
	free(j->image->usable);
	free(j->new_array);
	if (!err)
		return;
	v->state = VERDICT_REFUSED;
	refuse(v->reason, 0, "no memory to follow its pointers");
}

int verdict_snapshot(struct trace *trace, struct target *target, const struct watch_config *config,
		     struct kept_types *types, struct snapshot **out,
		     struct inspection **inspection)
{
	struct judge j = {.trace = trace, .target = target, .config = config, .types = types};
	const struct trace_moment moment = {.ctx = &j, .stopped = judge_note_moment};
	uint64_t start = monotonic_ns();
	int err;

	if (inspection) {
		*inspection = NULL;
		j.inspect_err = inspect_source_begin(target_pid(target), trace_objects(trace),
						     &j.source, j.inspect_reason);
	}
	if (j.inspect_err)
		inspection = NULL;
	err = trace_capture(trace, target, config->verdict.max_pause_ns,
			    inspection ? &moment : NULL, &j.snapshot, &j.image);
	if (!err) {
		*out = j.snapshot;
		if (j.image)
			judge_image(&j, j.inspect_err ? NULL : inspection);
		j.snapshot->verdict.total_ns = j.image ? monotonic_ns() - start : 0;
	}
	/* Without a verdict, its reason says why. */
	if (j.inspect_err && j.image)
		log_warn("process %d (%s): not inspected: %s", (int)target_pid(target),
			 target_comm(target), j.inspect_reason);
	heap_image_free(j.image);
	inspect_source_release(&j.source);
	return err;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/heap/dead_memory.h"
#include "user/heap/reach.h"
#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/session/holder.h"

struct judge {
	struct trace *trace;
	struct target *target;
	struct snapshot *snapshot;
	uint8_t *new_array; /* by stack: 0 not looked at yet, 1 no, 2 yes */
};

/*
 * Which of the two operators it was cannot be told: libstdc++'s operator new[] jumps to its
 * operator new, and leaves no frame.
 */
static bool judge_calls_new(const struct frame *const *frames, size_t count)
{
	/*
	 * The allocation function itself, or (new of libstdc++ calls malloc) the one that called
	 * it.
	 */
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

static int judge_reach(struct judge *j, struct heap_image *image, const struct watch_config *config)
{
	struct reach_options how = {.heuristics = config->verdict.heuristics,
				    .tagged = config->verdict.tagged,
				    .is_new_array = judge_is_new_array,
				    .ctx = j};
	struct reach *reach = NULL;
	uint64_t start = monotonic_ns(), found;
	int err = dead_memory_find(image);

	err = err ?: heap_image_take_old(image);
	found = monotonic_ns();

	j->new_array = calloc(j->snapshot->stack_count + 1, 1);
	if (!j->new_array)
		err = -ENOMEM;
	if (!err)
		err = reach_new(image, &how, &reach);
	if (!err) {
		reach_sum(reach, j->snapshot);
		err = holder_describe(j->trace, j->target, j->snapshot, image, reach,
				      config->verdict.contents);
	}
	reach_free(reach);
	log_debug("verdict of %d: %.1f ms to find dead memory, %.1f ms to follow pointers",
		  (int)j->snapshot->pid, (double)(found - start) / NS_PER_MS,
		  (double)(monotonic_ns() - found) / NS_PER_MS);
	free(j->new_array);
	return err;
}

int verdict_snapshot(struct trace *trace, struct target *target, const struct watch_config *config,
		     struct snapshot **out)
{
	struct judge j = {.trace = trace, .target = target};
	struct heap_image *image;
	uint64_t start = monotonic_ns();
	struct verdict *v;
	int err = trace_capture(trace, target, config->verdict.max_pause_ns, &j.snapshot, &image);

	if (err)
		return err;
	*out = j.snapshot;
	v = &j.snapshot->verdict;
	if (!image)
		return 0;
	if (judge_reach(&j, image, config)) {
		v->state = VERDICT_REFUSED;
		refuse(v->reason, 0, "no memory to follow its pointers");
	}
	heap_image_free(image);
	v->total_ns = monotonic_ns() - start;
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A comparison as JSON. */
#include "user/base/clock.h"
#include "user/export/compare.h"

#include <errno.h>

#include "user/export/json_parts.h"

static struct json_object *new_side(const struct compared_side *side, bool *failed)
{
	struct json to = {json_object_new_object(), failed};

	if (side->processes) {
		json_put_time(to, side->time_ns);
		json_put_number(to, "elapsed_ms", side->elapsed_ns / NS_PER_MS);
	}
	json_put_number(to, "processes", side->processes);
	if (side->processes == 1)
		json_put_number(to, "pid", (uint64_t)side->pid);
	json_put_number(to, "sample_bytes", side->sample_bytes);
	json_put_number(to, "lost", side->lost);
	json_put_amount(to, "live", &side->live);
	if (side->suppressed.count)
		json_put_amount(to, "suppressed", &side->suppressed);
	return to.object;
}

static void put_delta(struct json to, const struct amount *old, const struct amount *now)
{
	struct json delta = {json_object_new_object(), to.failed};

	json_put(delta, "bytes", json_object_new_int64((int64_t)(now->bytes - old->bytes)));
	json_put(delta, "count", json_object_new_int64((int64_t)(now->count - old->count)));
	json_put(to, "delta", delta.object);
}

static struct json_object *new_compared(const struct compared_stack *stack, bool verbose,
					bool *failed)
{
	struct json to = {json_object_new_object(), failed};
	struct json_object *frames = json_object_new_array();

	json_put_string(to, "change", change_name(compared_change(stack)));
	json_put_amount(to, "old", &stack->old);
	json_put_amount(to, "new", &stack->now);
	put_delta(to, &stack->old, &stack->now);
	json_put_bool(to, "truncated", stack->names.truncated);
	json_put_string(to, "end", stack_end_name(stack->names.end));
	for (size_t i = 0; stack->names.frames && i < stack->names.frame_count; i++)
		json_append(frames, json_new_frame(stack->names.frames[i], verbose, failed),
			    failed);
	json_put(to, "frames", frames);
	return to.object;
}

int compare_json(FILE *out, const struct export_options *options, const struct comparison *c,
		 size_t top)
{
	bool failed = false;
	struct json to = {json_object_new_object(), &failed};
	struct json_object *stacks = json_object_new_array();
	int err;

	json_put_number(to, "version", 1);
	json_put(to, "old", new_side(&c->old, &failed));
	json_put(to, "new", new_side(&c->now, &failed));
	put_delta(to, &c->old.live, &c->now.live);
	json_put_number(to, "stack_count", c->stack_count);
	/* From both ends: what grew most, and what shrank most. */
	for (size_t i = 0; i < c->stack_count; i++) {
		if (i < top || c->stack_count - i <= top)
			json_append(stacks, new_compared(&c->stacks[i], options->verbose, &failed),
				    &failed);
	}
	json_put(to, "stacks", stacks);
	err = failed ? -ENOMEM : json_write_line(out, to.object);
	json_object_put(to.object);
	return err;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A comparison as JSON. */
#include "user/base/clock.h"
#include "user/export/compare.h"

#include "user/export/json_parts.h"

static void compare_json_put_side(struct json *to, const char *key,
				  const struct compared_side *side)
{
	json_object(to, key);
	if (side->processes) {
		json_put_time(to, side->time_ns);
		json_number(to, "elapsed_ms", side->elapsed_ns / NS_PER_MS);
	}
	json_number(to, "processes", side->processes);
	if (side->processes == 1)
		json_number(to, "pid", (uint64_t)side->pid);
	if (side->ended)
		json_number(to, "ended", side->ended);
	json_number(to, "sample_bytes", side->sample_bytes);
	if (side->surveyed)
		json_bool(to, "surveyed", true);
	else
		json_number(to, "lost", side->lost);
	compare_json_put_guards(to, side);
	if (!side->surveyed)
		json_put_amount(to, "live", &side->live);
	if (side->suppressed.count)
		json_put_amount(to, "suppressed", &side->suppressed);
	json_end(to);
}

static void compare_json_put_change(struct json *to, const struct amount *old,
				    const struct amount *now)
{
	json_put_delta(to, "delta", (int64_t)(now->bytes - old->bytes),
		       (int64_t)(now->count - old->count));
}

static void put_compared(struct json *to, const struct export_options *options,
			 const struct compared_stack *stack)
{
	json_object(to, NULL);
	json_text(to, "change", change_name(compared_change(stack)));
	json_put_amount(to, "old", &stack->old);
	json_put_amount(to, "new", &stack->now);
	compare_json_put_change(to, &stack->old, &stack->now);
	json_bool(to, "truncated", stack->names.truncated);
	json_text(to, "end", stack_end_name(stack->names.end));
	json_put_frames(to, "frames", stack->names.frames, stack->names.frame_count,
			options->verbose);
	json_put_site(to, options, stack->names.frames, stack->names.frame_count);
	json_end(to);
}

static void compare_json_put_scope_side(struct json *to, const char *key, const struct scope *scope)
{
	if (!scope)
		return;
	json_object(to, key);
	json_number(to, "calls", scope->calls);
	json_put_amount(to, "kept", &scope->kept);
	json_put_amount(to, "live", &scope->live);
	json_double(to, "kept_bytes_per_call", scope_kept_per_call(scope));
	json_end(to);
}

static void compare_json_put_scopes(struct json *to, const struct comparison *c)
{
	if (!c->scope_count)
		return;
	json_array(to, "scopes");
	for (size_t i = 0; i < c->scope_count; i++) {
		json_object(to, NULL);
		json_text(to, "function", c->scopes[i].function);
		json_text(to, "tag", c->scopes[i].tag);
		compare_json_put_scope_side(to, "old", c->scopes[i].old);
		compare_json_put_scope_side(to, "new", c->scopes[i].now);
		json_end(to);
	}
	json_end(to);
}

int compare_json(FILE *out, const struct export_options *options, const struct comparison *c,
		 size_t top)
{
	struct json_output output;
	struct json *to = &output.json;
	int err = json_output_begin(&output);

	if (err)
		return err;
	json_number(to, "version", 1);
	compare_json_put_side(to, "old", &c->old);
	compare_json_put_side(to, "new", &c->now);
	if (!c->old.surveyed && !c->now.surveyed)
		compare_json_put_change(to, &c->old.live, &c->now.live);
	compare_json_put_scopes(to, c);
	compare_json_put_accesses(to, options, c);
	json_number(to, "stack_count", c->stack_count);
	json_array(to, "stacks");
	/* From both ends: what grew most, and what shrank most. */
	for (size_t i = 0; i < c->stack_count; i++) {
		if (i < top || c->stack_count - i <= top)
			put_compared(to, options, &c->stacks[i]);
	}
	json_end(to);
	return json_output_end(&output, out);
}

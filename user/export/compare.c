// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A comparison for people, and for difference flame graphs. */
#include "user/export/compare.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/parse.h"
#include "user/base/util.h"
#include "user/export/render.h"
#include "user/export/row_label.h"
#include "user/export/text_parts.h"

static void compare_put_amount(FILE *out, const struct amount *amount)
{
	char bytes[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];

	fprintf(out, "%s in %s %s", format_bytes(bytes, amount->bytes),
		format_grouped(count, amount->count), amount->count == 1 ? "block" : "blocks");
}

static void compare_put_change(FILE *out, const struct amount *old, const struct amount *now)
{
	char bytes[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];
	bool fewer = now->count < old->count;
	uint64_t changed = fewer ? old->count - now->count : now->count - old->count;

	fprintf(out, "%s in %s%s %s",
		format_bytes_signed(bytes, (int64_t)(now->bytes - old->bytes)),
		fewer			  ? "-"
		: now->count > old->count ? "+"
					  : "",
		format_grouped(count, changed), changed == 1 ? "block" : "blocks");
}

static void compare_put_side(FILE *out, const char *name, const struct comparison *c,
			     const struct compared_side *side)
{
	char when[TEXT_TIME_MAX], elapsed[FORMAT_DURATION_MAX];

	fprintf(out, "%s   ", name);
	if (!side->processes) {
		fputs("no snapshot\n", out);
		return;
	}
	fprintf(out, "%s  ", text_time(when, side->time_ns));
	if (side->processes == 1) {
		char comm[sizeof(side->comm) + 1];

		snprintf(comm, sizeof(comm), "%.*s", (int)sizeof(side->comm), side->comm);
		fprintf(out, "PID %d (", (int)side->pid);
		text_put_name(out, comm);
		fputs(")", out);
	} else {
		fprintf(out, "%zu processes", side->processes);
	}
	/* What it had allocated is in the sums, and in no memory any more. */
	if (side->ended && side->ended == side->processes)
		fputs(side->ended == 1 ? ", ended" : ", all ended", out);
	else if (side->ended)
		fprintf(out, ", %zu of them ended", side->ended);
	if (!side->inspected)
		fprintf(out, "  %s since %s", format_duration(elapsed, side->elapsed_ns),
			side->surveyed ? "the survey keeps what it names" : "attach");
	if (!side->surveyed) {
		fputs(": ", out);
		compare_put_amount(out, &side->live);
	}
	fputc('\n', out);
	if (side->suppressed.count) {
		fputs("       suppressed besides: ", out);
		compare_put_amount(out, &side->suppressed);
		fputc('\n', out);
	}
	if (side->sample_bytes && !side->surveyed)
		fprintf(out, "note   its numbers are estimates (-s)\n");
	if (side->lost)
		fprintf(out, "lost   %" PRIu64 " records there: see report\n", side->lost);
	compare_put_guards(out, c, side);
}

/* What a kind of blocks is called, in place of a stack. */
static void compare_put_kind(FILE *out, const struct compared_stack *stack)
{
	const struct frame *frame = stack->names.frame_count ? stack->names.frames[0] : NULL;

	fputs("    ", out);
	text_put_name(out, frame && frame->function ? frame->function : "?");
	if (frame && frame->module) {
		fputs(" (", out);
		text_put_name(out, frame->module);
		fputc(')', out);
	}
	fputc('\n', out);
}

/* What a row's stacks have in common, above the frames of the largest one. */
static void compare_put_row(FILE *out, const struct export_options *options,
			    const struct compared_stack *stack)
{
	const struct stack_notes notes = {.frames = stack->names.frames,
					  .frame_count = stack->names.frame_count};
	char label[TEXT_FIT_MAX];

	fprintf(out, "    %s: several stacks; the largest:\n",
		site_label(label, options, &notes, 0, 0));
}

static void compare_put_stack(FILE *out, const struct export_options *options, size_t number,
			      const struct compared_stack *stack, bool inspected)
{
	enum change change = compared_change(stack);

	fprintf(out, "\n#%-2zu ", number);
	compare_put_change(out, &stack->old, &stack->now);
	if (change == CHANGE_NEW) {
		fputs(": new", out);
	} else if (change == CHANGE_GONE) {
		fputs(": gone", out);
	} else {
		fputs(": ", out);
		compare_put_amount(out, &stack->old);
		fputs(" -> ", out);
		compare_put_amount(out, &stack->now);
	}
	fputc('\n', out);
	if (inspected) {
		compare_put_kind(out, stack);
		return;
	}
	if (stack->several)
		compare_put_row(out, options, stack);
	text_frames(out, options, stack->names.frames, stack->names.frame_count,
		    stack->names.truncated ? STACK_END_TRUNCATED : stack->names.end);
}

static void compare_put_kept(FILE *out, const struct scope *scope)
{
	char bytes[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];
	double kept = scope ? scope_kept_per_call(scope) : 0;

	if (!scope) {
		fputs("no call", out);
		return;
	}
	/* Of a leak in few calls little is left in the mean. */
	if (kept < 100)
		snprintf(bytes, sizeof(bytes), "%.*f B", kept ? 1 : 0, kept);
	else
		format_bytes(bytes, kept < 0x1p63 ? (uint64_t)kept : UINT64_MAX);
	fprintf(out, "%s a call (%s %s)", bytes, format_grouped(count, scope->calls),
		scope->calls == 1 ? "call" : "calls");
}

static void compare_put_scopes(FILE *out, const struct comparison *c, size_t top)
{
	for (size_t i = 0; i < c->scope_count && i < top; i++) {
		const struct compared_scope *scope = &c->scopes[i];
		char name[SCOPE_NAME_MAX];

		fputs("scope  ", out);
		text_put_name(out, scope_name(name, scope->now ?: scope->old));
		fputs(": kept ", out);
		compare_put_kept(out, scope->old);
		fputs(" -> ", out);
		compare_put_kept(out, scope->now);
		fputc('\n', out);
	}
	if (c->scope_count > top)
		fprintf(out, "scope  and %zu more (-T)\n", c->scope_count - top);
}

static bool is_growth(enum change change)
{
	return change == CHANGE_GREW || change == CHANGE_NEW;
}

static void compare_put_page(FILE *out, const struct export_options *options,
			     const struct comparison *c, size_t top)
{
	size_t shown = 0;

	compare_put_side(out, "old ", c, &c->old);
	compare_put_side(out, "new ", c, &c->now);
	/* A thread may have a name of its own, and a process another one later: it is but said. */
	if (c->old.processes == 1 && c->now.processes == 1 &&
	    strncmp(c->old.comm, c->now.comm, sizeof(c->old.comm)) != 0)
		fputs("note   these are two different programs by their names: what both have is "
		      "compared by the names of functions alone\n",
		      out);
	if (c->now.surveyed || c->old.surveyed) {
		fputs("note   of a survey no stacks are compared, but those of bad accesses\n",
		      out);
		compare_put_accesses(out, options, c, top);
		return;
	}
	fputs("change ", out);
	compare_put_change(out, &c->old.live, &c->now.live);
	fprintf(out, "; %s: %zu grew, %zu new, %zu shrank, %zu gone, %zu the same\n",
		c->now.inspected ? "kinds of blocks" : "stacks", c->grown, c->fresh, c->shrunk,
		c->gone, c->same);
	compare_put_scopes(out, c, top);
	compare_put_accesses(out, options, c, top);
	for (size_t i = 0; i < c->stack_count && shown < top; i++) {
		if (is_growth(compared_change(&c->stacks[i])))
			compare_put_stack(out, options, ++shown, &c->stacks[i], c->now.inspected);
	}
	if (c->shrunk + c->gone)
		fprintf(out, "\nless:\n");
	shown = 0;
	for (size_t i = c->stack_count; i-- > 0 && shown < top;) {
		enum change change = compared_change(&c->stacks[i]);

		if (change == CHANGE_SHRANK || change == CHANGE_GONE)
			compare_put_stack(out, options, ++shown, &c->stacks[i], c->now.inspected);
	}
}

int compare_text(FILE *out, const struct export_options *options, const struct comparison *c,
		 size_t top)
{
	struct exporter e = {.out = out, .options = *options};
	char *text = NULL;
	size_t len = 0;
	FILE *page = open_memstream(&text, &len);
	int err;

	if (!page)
		return -ENOMEM;
	compare_put_page(page, options, c, top);
	err = close_memstream(page) ?: text_page_write(&e, text, len);
	free(text);
	return err;
}

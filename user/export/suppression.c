// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Suppressions in reports: what they have taken out, and new ones for what is shown
 * (--gen-suppressions).
 */
#include <inttypes.h>
#include <string.h>

#include "user/base/parse.h"
#include "user/base/text.h"
#include "user/base/util.h"
#include "user/export/render.h"
#include "user/export/text_parts.h"

/* Valgrind reads no longer ones: VG_MAX_SUPP_CALLERS in its pub_core_errormgr.h. */
#define MAX_CALLERS 24

static const char *plural(uint64_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

static void suppression_put_amount(FILE *out, const struct amount *amount, uint64_t stacks)
{
	char bytes[FORMAT_BYTES_MAX], blocks[FORMAT_GROUPED_MAX], count[FORMAT_GROUPED_MAX];

	fprintf(out, "%s in %s %s of %s %s", format_bytes(bytes, amount->bytes),
		format_grouped(blocks, amount->count), plural(amount->count, "block", "blocks"),
		format_grouped(count, stacks), plural(stacks, "stack", "stacks"));
}

void text_put_suppressed(FILE *out, const struct report *r)
{
	const struct suppressed *all = r->suppressed;
	uint64_t stacks = 0;

	if (!all || !all->count)
		return;
	for (size_t i = 0; i < all->count; i++)
		stacks += all->by[i].stacks;
	fputs(r->snapshot->verdict.state == VERDICT_TAKEN
		      ? "\nsuppressed, and counted as live, not in the verdict: "
		      : "\nsuppressed, but counted above: ",
	      out);
	suppression_put_amount(out, &all->total, stacks);
	fputc('\n', out);
	for (size_t i = 0; i < all->count; i++) {
		const struct suppressed_by *by = &all->by[i];

		fputs("    ", out);
		suppression_put_amount(out, &by->amount, by->stacks);
		fputs(": ", out);
		text_put_name(out, by->name);
		fputs("  (", out);
		if (by->file) {
			text_put_name(out, by->file);
			fprintf(out, ":%u)\n", by->line);
		} else {
			fputs("built in)\n", out);
		}
	}
}

/* ---- new ones ----------------------------------------------------------------------------- */

/*
 * A line: `before` and the name, in which `special` (0: nothing) becomes `*`. Names come from the
 * target's files or from a recording; '?' in the place of what a terminal would obey fits it as a pattern, too.
 */
static void suppression_put_name(FILE *out, const char *before, const char *name, char special)
{
	fputs(before, out);
	while (*name) {
		struct text_piece piece = text_next(&name, &text_for_terminal);

		if (special && *piece.bytes == special)
			fputc('*', out);
		else
			fwrite(piece.bytes, 1, piece.len, out);
	}
	fputc('\n', out);
}

static bool begins(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/*
 * The function that a person would call the one that allocated; NULL when nothing better than frame
 * 0 is known.
 */
static const struct frame *allocating_frame(const struct stack_notes *stack)
{
	size_t i =
		frames_allocating(stack->frames, stack->frame_count, ALLOCATING_PROGRAM)
			?: frames_allocating(stack->frames, stack->frame_count, ALLOCATING_CALLER);

	return i ? stack->frames[i] : NULL;
}

static void put_leaksanitizer(FILE *out, const struct stack_notes *stack)
{
	const struct frame *frame = allocating_frame(stack);
	const char *name = frame ? frame->function : NULL;

	for (size_t i = 1; !name && i < stack->frame_count; i++)
		name = stack->frames[i]->module;
	if (!name) {
		fputs("# no function or object of this stack is known\n", out);
		return;
	}
	/*
	 * `$` ends a pattern, and nothing escapes it. Java has one in each inner class, whose name up to
	 * there is the outer one's.
	 */
	suppression_put_name(out, "leak:", name, '$');
}

static void put_kinds(FILE *out, const struct snapshot *s, const struct stack *stack)
{
	const char *separator = "   match-leak-kinds: ";

	if (s->verdict.state != VERDICT_TAKEN)
		return;
	for (int i = 0; i < VERDICT_CLASSES; i++) {
		if (!stack->verdict[i].count)
			continue;
		fprintf(out, "%s%s", separator, verdict_class_name((enum verdict_class)i));
		separator = ",";
	}
	fputc('\n', out);
}

/*
 * Valgrind puts its own function in the place of `operator new`, which is the innermost frame
 * there.
 */
static size_t first_frame(const struct stack_notes *stack)
{
	size_t first = 0;

	while (first + 1 < stack->frame_count && frame_is_operator_new(stack->frames[first + 1]))
		first++;
	return first;
}

/* A mangled name is the exact one; a perf map's says how far the code is optimised, too. */
static const char *suppression_function(const struct frame *frame)
{
	return frame->symbol && frame_in_object(frame) ? frame->symbol : frame->function;
}

static void put_valgrind(FILE *out, const struct report *r, const struct stack *stack)
{
	const struct stack_notes *notes = report_notes(r, stack);
	const struct frame *named = allocating_frame(notes);
	size_t first = first_frame(notes), last = notes->frame_count;

	if (last - first > MAX_CALLERS)
		last = first + MAX_CALLERS;
	suppression_put_name(out, "{\n   blocks of ",
			     named ? named->function : "an unknown function", 0);
	fputs("   Memcheck:Leak\n", out);
	put_kinds(out, r->snapshot, stack);
	for (size_t i = first; i < last; i++) {
		const struct frame *frame = notes->frames[i];
		const char *object = frame->module_path ? frame->module_path : frame->module;

		/*
		 * libstdc++'s new[] jumps to new and leaves no frame of its own: either may have
		 * been called.
		 */
		if (frame->symbol && begins(frame->symbol, "_Znw"))
			suppression_put_name(out, "   fun:_Zn?", frame->symbol + strlen("_Znw"), 0);
		else if (frame->function)
			suppression_put_name(out, "   fun:", suppression_function(frame), 0);
		else
			suppression_put_name(out, "   obj:", object ? object : "*", 0);
	}
	fputs("}\n", out);
}

void suppression_put(FILE *out, enum suppression_style style, const struct report *r,
		     const struct stack *stack)
{
	const struct stack_notes *notes = report_notes(r, stack);

	if (style == SUPPRESSION_NONE)
		return;
	if (!notes->frames || !notes->frame_count)
		fputs("# a stack that is not known cannot be suppressed\n", out);
	else if (style == SUPPRESSION_LEAKSANITIZER)
		put_leaksanitizer(out, notes);
	else
		put_valgrind(out, r, stack);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What -f text says of reachability: a few lines in the head, one under each stack. */
#include <stdlib.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/base/parse.h"
#include "user/export/render.h"
#include "user/export/text_parts.h"

void text_put_classes(FILE *out, const struct amount classes[static VERDICT_CLASSES])
{
	const char *separator = "";

	for (int i = 0; i < VERDICT_CLASSES; i++) {
		char human[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];

		if (!classes[i].count)
			continue;
		fprintf(out, "%s%s in %s %s %s", separator, format_bytes(human, classes[i].bytes),
			format_grouped(count, classes[i].count),
			classes[i].count == 1 ? "block" : "blocks",
			verdict_class_text((enum verdict_class)i));
		separator = ", ";
	}
	if (!*separator)
		fputs("no live blocks", out);
}

void text_put_unjoined(FILE *out, const struct unjoined_threads *u)
{
	char bytes[FORMAT_BYTES_MAX], resident[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];

	fprintf(out, "%s %s: %s of stacks (%s of it in memory)", format_grouped(count, u->count),
		u->count == 1 ? "thread has ended and was not joined"
			      : "threads have ended and were not joined",
		format_bytes(bytes, u->bytes), format_bytes(resident, u->resident));
	if (u->held)
		fprintf(out, "; the program still has the pthread_t of %s",
			format_grouped(count, u->held));
	fputc('\n', out);
}

/* Under sampling the parts of a sum are rounded each for itself. */
static void take_off(struct amount *from, const struct amount *amount)
{
	from->bytes -= amount->bytes < from->bytes ? amount->bytes : from->bytes;
	from->count -= amount->count < from->count ? amount->count : from->count;
}

/* Without what suppressions have, which is said below. */
static void put_sums(FILE *out, const struct report *r)
{
	struct amount sums[VERDICT_CLASSES];
	uint64_t left = 0;

	memcpy(sums, r->snapshot->verdict.classes, sizeof(sums));
	for (size_t i = 0; r->suppressed && i < r->snapshot->stack_count; i++) {
		const struct amount *of_stack = r->snapshot->stacks[i].verdict;

		for (int class = 0; class < VERDICT_CLASSES; class ++) {
			if (r->notes[i].suppressed & 1u << class)
				take_off(&sums[class], &of_stack[class]);
		}
	}
	for (int class = 0; class < VERDICT_CLASSES; class ++)
		left += sums[class].count;
	if (!left && r->suppressed && r->suppressed->total.count)
		fputs("nothing but what is suppressed", out);
	else
		text_put_classes(out, sums);
}

/* What leaks there no verdict says: that all is reachable must not pass for all-clear. */
#define TEXT_HEAP_GROWS (1 << 20)

static bool put_grown_heap(FILE *out, const struct report *r)
{
	static const char *const next[] = {
		[UNTRACED_JAVA] = "`jcmd PID GC.class_histogram` counts its objects",
		[UNTRACED_V8] =
			"`node --heapsnapshot-signal=SIGUSR2`, or DevTools, shows its objects",
		[UNTRACED_GO] = "net/http/pprof's heap profile shows who allocates there",
	};
	char grown[FORMAT_BYTES_MAX], live[FORMAT_BYTES_MAX], time[FORMAT_DURATION_MAX];
	bool any = false;

	for (size_t i = 0; i < UNTRACED_HEAPS; i++) {
		int64_t bytes = r->heap_delta_bytes[i];

		if (bytes < TEXT_HEAP_GROWS || bytes / 2 < r->delta_bytes)
			continue;
		fprintf(out,
			"        but %s, which no verdict is of, grew %s in %s, live blocks %s: "
			"%s\n",
			untraced_heap_text((enum untraced_heap)i),
			format_bytes_signed(grown, bytes),
			format_duration(time, r->snapshot->interval_ns),
			format_bytes_signed(live, r->delta_bytes), next[i]);
		any = true;
	}
	return any;
}

static void put_not_clear(FILE *out, const struct report *r)
{
	const struct growth *growth = &r->snapshot->growth;
	char human[FORMAT_BYTES_MAX];

	if (!put_grown_heap(out, r) && growth->untraced)
		fprintf(out,
			"        but %s that the process has grown by since attach is in no "
			"verdict\n",
			format_bytes(human, growth->untraced));
}

void text_put_verdict(FILE *out, const struct export_options *options, const struct report *r)
{
	const struct verdict *v = &r->snapshot->verdict;
	char human[FORMAT_BYTES_MAX];

	if (v->state == VERDICT_REFUSED)
		fprintf(out, "verdict none: %s\n", v->reason);
	if (v->state != VERDICT_TAKEN)
		return;
	fputs("verdict ", out);
	put_sums(out, r);
	fputc('\n', out);
	put_not_clear(out, r);
	fprintf(out, "         paused for %.1f ms", (double)v->pause_ns / NS_PER_MS);
	if (options->verbose)
		fprintf(out, ", %s read, %.1f ms in all", format_bytes(human, v->read_bytes),
			(double)v->total_ns / NS_PER_MS);
	fputc('\n', out);
	if (v->approximate)
		fputs("        approximate: the rest of the memory was read while the target ran "
		      "(--max-pause)\n",
		      out);
	if (verdict_has_before(v)) {
		fputs("        from before the attach: ", out);
		text_put_classes(out, v->before);
		fputc('\n', out);
	}
	if (v->unjoined.count) {
		fputs("        ", out);
		text_put_unjoined(out, &v->unjoined);
	}
	if (v->unknown_bytes)
		fprintf(out,
			"        %s may be heap of which no books tell: what it points to "
			"counts as reachable\n",
			format_bytes(human, v->unknown_bytes));
	if (v->unread_bytes)
		fprintf(out,
			"        %s could not be read: what only it points to counts as lost\n",
			format_bytes(human, v->unread_bytes));
}

void text_put_contents(FILE *out, const char *contents, size_t len)
{
	for (size_t at = 0; at < len; at += 16) {
		size_t n = len - at < 16 ? len - at : 16;

		fputs(at ? "             " : "    contents ", out);
		for (size_t i = 0; i < 16; i++) {
			if (i < n)
				fprintf(out, "%02x ", (unsigned char)contents[at + i]);
			else
				fputs("   ", out);
		}
		for (size_t i = 0; i < n; i++) {
			char c = contents[at + i];

			fputc(c >= ' ' && c <= '~' ? c : '.', out);
		}
		fputc('\n', out);
	}
}

/* The names in it are the target's own. */
static void text_put_held_by(FILE *out, const struct export_options *options, const char *path)
{
	char *copy = strdup(path), *rest = copy;
	const char *line, *before = "    held by ";

	while (rest && (line = strsep(&rest, "\n")) != NULL) {
		fputs(before, out);
		text_put_folded(out, options, line);
		fputc('\n', out);
		before = "         -> ";
	}
	free(copy);
}

/* A hidden leak: nothing is lost, and the program may free all of it at its end. */
static bool is_filling(const struct stack *stack, const struct trend *trend)
{
	uint64_t lost =
		stack->verdict[VERDICT_DEFINITE].bytes + stack->verdict[VERDICT_INDIRECT].bytes;

	return trend->kind == TREND_GROWING && lost <= stack->live.bytes / 8;
}

static void text_put_kept(FILE *out, const struct stack *stack)
{
	char human[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];

	if (stack->kept.count)
		fprintf(out, "    %s in %s %s on its lost blocks\n",
			format_bytes(human, stack->kept.bytes),
			format_grouped(count, stack->kept.count),
			text_plural(stack->kept.count, "block hangs", "blocks hang"));
	if (stack_only_hangs(stack))
		fputs("    all of it hangs on lost blocks, and is counted there\n", out);
}

void text_put_stack_verdict(FILE *out, const struct export_options *options, const struct report *r,
			    const struct stack *stack)
{
	const struct stack_notes *notes = report_notes(r, stack);

	if (r->snapshot->verdict.state != VERDICT_TAKEN || !stack->live.count)
		return;
	fputs("    ", out);
	text_put_classes(out, stack->verdict);
	fputc('\n', out);
	text_put_kept(out, stack);
	if (stack->unjoined.count) {
		fputs("    ", out);
		text_put_unjoined(out, &stack->unjoined);
	}
	if (is_filling(stack, &notes->trend))
		fputs("    still pointed to, and ever more of it: a container that fills up, or "
		      "work that "
		      "comes faster than it is done\n",
		      out);
	/* What only stays is no news; what grows is a leak that nobody has lost yet. */
	if (stack->held_by &&
	    (notes->trend.kind == TREND_GROWING || notes->delta_bytes > 0 || options->verbose))
		text_put_held_by(out, options, stack->held_by);
	text_put_contents(out, stack->contents, stack->contents_len);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The pages beside the list, as lines of text. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/base/parse.h"
#include "user/base/util.h"
#include "user/export/export.h"
#include "user/live/watcher_internal.h"
#include "user/model/function_name.h"
#include "user/blocks/block_ages.h"

#define BAR_MAX	  40 /* longest bar of a histogram, if there is room */
#define BAR_MIN	  4
#define AGES_REST 20 /* between two readings, in durations of one */

/* ---- a stack ------------------------------------------------------------------------------ */

static const struct stack *page_find_stack(const struct report *r, uint64_t id)
{
	for (size_t i = 0; i < r->snapshot->stack_count; i++) {
		if (r->snapshot->stacks[i].id == id)
			return &r->snapshot->stacks[i];
	}
	return NULL;
}

/* Puts an earlier snapshot's verdict; the text has this snapshot's own. */
static void page_put_judged(const struct watcher *w, const struct report *r,
			    const struct stack *stack, FILE *out)
{
	const struct judged_stack *judged = judged_find(&w->judged, stack->id);
	char age[FORMAT_DURATION_MAX], bytes[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];
	const char *before = "    held by ";
	char folded[FUNCTION_NAME_MAX];
	uint64_t now = clock_ns(CLOCK_REALTIME);

	if (r->snapshot->verdict.state == VERDICT_TAKEN)
		return;
	if (!judged) {
		fputs(w->judged.time_ns ? "\nNo block of it was live at the last verdict.\n"
					: "\nNo verdict yet: v takes one.\n",
		      out);
		return;
	}
	fprintf(out, "\nVerdict of %s ago:\n",
		format_duration(age, now > w->judged.time_ns ? now - w->judged.time_ns : 0));
	for (int i = 0; i < VERDICT_CLASSES; i++) {
		if (judged->classes[i].count)
			fprintf(out, "    %s in %s blocks %s\n",
				format_bytes(bytes, judged->classes[i].bytes),
				format_grouped(count, judged->classes[i].count),
				verdict_class_text((enum verdict_class)i));
	}
	for (const char *line = judged->held_by; line && *line;) {
		size_t len = strcspn(line, "\n");
		_cleanup_free_ char *name = strndup(line, len);

		fprintf(out, "%s%s\n", before,
			name ? function_name_fold_within(folded, name) : "?");
		line += len + (line[len] == '\n');
		before = "         -> ";
	}
}

static void page_put_bar(FILE *out, uint64_t value, uint64_t most, unsigned longest)
{
	unsigned width = most ? (unsigned)((double)value / (double)most * longest + 0.5) : 0;

	if (!width && value)
		width = 1;
	for (unsigned i = 0; i < width; i++)
		fputc('#', out);
}

/* Reads the ages of many live blocks anew, the more seldom the longer it takes. */
static bool page_know_ages(struct watcher *w, const struct stack *stack)
{
	uint64_t now = monotonic_ns();
	int err;

	if (w->state != LIVE_RUNNING || !stack->live.count)
		return false;
	if (w->ages_stack == stack->id && now - w->ages_ns < AGES_REST * w->ages_took_ns)
		return true;
	err = trace_stack_ages(session_trace(w->session), watcher_report(w)->snapshot, stack,
			       &w->ages);
	w->ages_stack = err ? 0 : stack->id;
	w->ages_ns = monotonic_ns();
	w->ages_took_ns = w->ages_ns - now;
	return !err;
}

/* The room that a line has behind its figures. */
static unsigned page_bar_room(unsigned cols, int figures)
{
	unsigned room = cols > (unsigned)figures ? cols - (unsigned)figures : 0;

	if (!cols || room > BAR_MAX)
		return BAR_MAX;
	return room > BAR_MIN ? room : BAR_MIN;
}

static void page_put_ages(struct watcher *w, const struct stack *stack, unsigned cols, FILE *out)
{
	char bytes[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];
	uint64_t most = 0;
	size_t last = 0;

	if (!page_know_ages(w, stack))
		return;
	for (size_t i = 0; i < STACK_AGES; i++) {
		last = w->ages.amounts[i].count ? i : last;
		most = w->ages.amounts[i].bytes > most ? w->ages.amounts[i].bytes : most;
	}
	fputs("\nAges of its live blocks:\n", out);
	for (size_t i = 0; i <= last; i++) {
		char age[FORMAT_DURATION_MAX] = "older";
		int figures;

		if (stack_age_end_ns(i))
			format_duration(age, stack_age_end_ns(i));
		figures = fprintf(out, "    %s%-6s %10s in %9s blocks  ",
				  stack_age_end_ns(i) ? "< " : "  ", age,
				  format_bytes(bytes, w->ages.amounts[i].bytes),
				  format_grouped(count, w->ages.amounts[i].count));
		page_put_bar(out, w->ages.amounts[i].bytes, most, page_bar_room(cols, figures));
		fputc('\n', out);
	}
}

/* "< 8 us", "< 2 ms": classes are powers of two of microseconds. */
static const char *page_lifetime(char *out, size_t class)
{
	uint64_t ns = lifetime_class_ns(class + 1);

	if (class == LIFETIME_CLASSES - 1)
		return "longer";
	if (ns >= NS_PER_MS)
		return format_duration(out, ns);
	snprintf(out, FORMAT_DURATION_MAX, "%u us", (unsigned)(ns / 1000));
	return out;
}

static void page_put_lifetimes(const struct stack *stack, unsigned cols, FILE *out)
{
	const uint64_t *counts = stack->figures ? stack->figures->lifetimes : NULL;
	char end[FORMAT_DURATION_MAX], count[FORMAT_GROUPED_MAX];
	size_t first = LIFETIME_CLASSES, last = 0;
	uint64_t most = 0;

	for (size_t i = 0; counts && i < LIFETIME_CLASSES; i++) {
		if (!counts[i])
			continue;
		first = i < first ? i : first;
		last = i;
		most = counts[i] > most ? counts[i] : most;
	}
	if (!most)
		return;
	fputs("\nHow long its freed blocks had lived:\n", out);
	for (size_t i = first; i <= last; i++) {
		int figures = fprintf(out, "    %s%-6s %9s blocks  ",
				      i < LIFETIME_CLASSES - 1 ? "< " : "  ", page_lifetime(end, i),
				      format_grouped(count, counts[i]));

		page_put_bar(out, counts[i], most, page_bar_room(cols, figures));
		fputc('\n', out);
	}
}

/* Of a row of several stacks it is told of the largest one. */
static void page_put_details(struct watcher *w, const struct live_request *request,
			     struct report *r, const struct stack *listed, FILE *out)
{
	const struct stack *stack = listed;
	const size_t *members;

	if (r->rows) {
		size_t count = report_row_stacks(r->rows, listed, &members);

		stack = &r->snapshot->stacks[*members];
		if (count > 1)
			fputs("\nOf the first of these stacks:\n", out);
	}
	page_put_judged(w, r, stack, out);
	page_put_ages(w, stack, request->cols, out);
	page_put_lifetimes(stack, request->cols, out);
}

static int page_put_stack(struct watcher *w, const struct live_request *request, FILE *out)
{
	const struct export_options options = {.width = request->cols,
					       .sites = w->options.sites,
					       .by = w->options.by,
					       .whole = true};
	struct report *r = watcher_report(w);
	const struct stack *listed =
		r ? page_find_stack(r->rows ? r->rows->sums : r, request->stack) : NULL;
	int err = 0;

	if (!listed) {
		fputs("This stack is not there any more.\n", out);
		return 0;
	}
	if (!r->rows)
		err = pipeline_describe(session_pipeline(w->session), w->target_id, listed);
	if (err)
		return err;
	export_put_stack(out, &options, r, listed);
	page_put_details(w, request, r, listed, out);
	return 0;
}

/* ---- what it costs ------------------------------------------------------------------------ */

static const char *page_how(uint64_t attached)
{
	static const char *const texts[ATTACHED_BY_KINDS] = {
		[ATTACHED_BY_UNKNOWN] = "in a way that is not known",
		[ATTACHED_BY_SESSION] = "by traps on the allocator's functions (session probes)",
		[ATTACHED_BY_MULTI] = "by traps on the allocator's functions (multi probes)",
		[ATTACHED_BY_SINGLE] = "by traps on the allocator's functions (single probes)",
		[ATTACHED_BY_USDT] = "by what the process tells itself (USDT)",
		[ATTACHED_BY_GATE] = "by the gate: jumps in the allocator, traps for samples only",
		[ATTACHED_BY_GATE_AND_PROBES] =
			"by the gate in some allocators, by traps in others",
	};

	return attached < ATTACHED_BY_KINDS ? texts[attached] : texts[ATTACHED_BY_UNKNOWN];
}

static void page_put_cost(const struct watcher *w, FILE *out)
{
	const struct report *r = watcher_report(w);
	char bytes[FORMAT_BYTES_MAX], hits[FORMAT_GROUPED_MAX];

	if (r)
		fprintf(out, "\nAllocations are seen %s.\n", page_how(r->snapshot->attached));
	if (r && r->snapshot->sample_bytes)
		fprintf(out, "Of them one in %s is recorded; numbers are estimates.\n",
			format_bytes(bytes, r->snapshot->sample_bytes));
	else if (r)
		fputs("Each of them is recorded.\n", out);
	fputs("\nOf one CPU, in the last interval:\n\n", out);
	if (w->cost.probes_known)
		fprintf(out,
			"    the process   %6.2f %%   %s traps a second, what leads to them "
			"included\n",
			100 * w->cost.probes,
			format_grouped(hits, saturate_u64(w->cost.hits + 0.5)));
	else
		fputs("    the process   not known: the kernel counts only for CAP_SYS_ADMIN\n",
		      out);
	fprintf(out, "    this screen   %6.2f %%   snapshots, names, drawing\n",
		100 * w->cost.tool);
	fputs("\nWhat costs less:\n\n"
	      "    -s 512k             one in 512 KiB is recorded\n"
	      "    -s 512k --gate      and the others cost no trap\n"
	      "    -i 5                a snapshot every 5 s\n"
	      "\ng goes over to the gate, or back to traps, while it runs: the process is attached "
	      "to anew, counting begins anew, and blocks, marks and verdicts from before are not "
	      "known any more.\n",
	      out);
}

/* ------------------------------------------------------------------------------------------- */

static int page_put(struct watcher *w, const struct live_request *request, FILE *out)
{
	switch (request->page) {
	case LIVE_PAGE_STACK:
		return page_put_stack(w, request, out);
	case LIVE_PAGE_INSPECTION:
		fputs(w->inspection ?: "There is no inspection yet; i makes one.\n", out);
		return 0;
	case LIVE_PAGE_COST:
		page_put_cost(w, out);
		return 0;
	case LIVE_PAGE_NONE:
		break;
	}
	return 0;
}

int watcher_page(struct watcher *w, const struct live_request *request, struct live_view *view)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int err = out ? page_put(w, request, out) : -ENOMEM;

	if (out && close_memstream(out))
		err = -ENOMEM;
	return err ?: live_text_set(&view->text, text, request->cols);
}

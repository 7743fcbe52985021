// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is known of a stack beside its sums (--lifetimes and the like), as text and as JSON. */
#include <inttypes.h>
#include <time.h>

#include "user/base/clock.h"
#include "user/base/parse.h"
#include "user/base/util.h"
#include "user/export/json_parts.h"
#include "user/export/text_parts.h"

static void figures_sum(const struct snapshot *s, struct stack_figures *sum)
{
	*sum = (struct stack_figures){0};
	for (size_t i = 0; i < s->stack_count; i++) {
		if (s->stacks[i].figures)
			figures_add(sum, s->stacks[i].figures);
	}
}

/* ---- text --------------------------------------------------------------------------------- */

static const char *figures_duration(char text[static FORMAT_DURATION_MAX], uint64_t ns)
{
	if (ns >= NS_PER_MS)
		return format_duration(text, ns);
	snprintf(text, FORMAT_DURATION_MAX, "%" PRIu64 " us", ns / 1000);
	return text;
}

/* "freed after 2.0 ms to 4.1 ms in the median": the class, for where in it a block is nobody knows. */
static void figures_text_quantile(FILE *out, const struct stack_figures *f, double part)
{
	char from[FORMAT_DURATION_MAX], to[FORMAT_DURATION_MAX];
	uint64_t end, ns = lifetimes_quantile(f->lifetimes, part, &end);

	if (end == UINT64_MAX)
		fprintf(out, "more than %s", figures_duration(from, ns));
	else if (!ns)
		fprintf(out, "less than %s", figures_duration(to, end));
	else
		fprintf(out, "%s to %s", figures_duration(from, ns), figures_duration(to, end));
}

static void figures_text_lifetimes(FILE *out, const struct export_options *options,
				   const struct stack_figures *f)
{
	char count[FORMAT_GROUPED_MAX], bytes[FORMAT_BYTES_MAX], age[FORMAT_DURATION_MAX];
	uint64_t freed = lifetimes_count(f->lifetimes);

	if (!freed || (!options->verbose && !f->outlived.count))
		return;
	fputs("    freed after ", out);
	figures_text_quantile(out, f, 0.5);
	fputs(" in the median, 99 % after ", out);
	figures_text_quantile(out, f, 0.99);
	if (options->verbose)
		fprintf(out, " (%s %s)", format_grouped(count, freed),
			text_plural(freed, "block", "blocks"));
	if (f->outlived.count) {
		text_set_style(out, options, TEXT_WARN);
		fprintf(out, "; %s live %s (%s) %s older than %s",
			format_grouped(count, f->outlived.count),
			text_plural(f->outlived.count, "one", "ones"),
			format_bytes(bytes, f->outlived.bytes),
			text_plural(f->outlived.count, "is", "are"),
			format_duration(age, f->outlived_ns));
		text_set_style(out, options, TEXT_NONE);
	}
	fputc('\n', out);
}

static void figures_text_temporary(FILE *out, const struct report *r, const struct stack *stack)
{
	const struct amount *temporary = &stack->figures->temporary;
	char count[FORMAT_GROUPED_MAX], bytes[FORMAT_BYTES_MAX];

	if (!temporary->count)
		return;
	fprintf(out, "    temporary: %s in %s %s", format_bytes(bytes, temporary->bytes),
		format_grouped(count, temporary->count),
		text_plural(temporary->count, "block", "blocks"));
	if (stack->alloc.count)
		fprintf(out, ", %.1f %% of its allocations",
			100.0 * (double)temporary->count / (double)stack->alloc.count);
	if (r->snapshot->sample_bytes)
		fprintf(out, ", standard error %s",
			format_bytes(bytes, saturate_u64(stack->figures->temporary_error + 0.5)));
	fputc('\n', out);
}

/* "sizes: 500 of 48 B, 3 of 64 to 127 B" */
static void figures_text_sizes(FILE *out, const struct stack_sizes *sizes)
{
	char count[FORMAT_GROUPED_MAX], from[FORMAT_GROUPED_MAX], to[FORMAT_GROUPED_MAX];
	const char *before = "    sizes: ";

	for (size_t i = 0; i < (sizes->by_power ? SIZE_CLASSES : SIZES_DISTINCT); i++) {
		if (!sizes->counts[i])
			continue;
		fprintf(out, "%s%s of ", before, format_grouped(count, sizes->counts[i]));
		if (!sizes->by_power)
			fprintf(out, "%s B", format_grouped(from, sizes->values[i]));
		else if (i == SIZE_CLASSES - 1)
			fprintf(out, "%s B and more", format_grouped(from, size_class_bytes(i)));
		else
			fprintf(out, "%s to %s B", format_grouped(from, size_class_bytes(i)),
				format_grouped(to, i ? size_class_bytes(i + 1) - 1 : 0));
		before = ", ";
	}
	if (*before == ',')
		fputc('\n', out);
}

/* "1.1 MiB are set aside for 1,024 blocks that asked for 1.0 MiB: 7.2 % more"; nothing: no allocator's books have any. */
static void figures_text_room(FILE *out, const struct amount *usable, uint64_t asked)
{
	char bytes[FORMAT_BYTES_MAX], wanted[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];

	fprintf(out, "%s are set aside for %s %s that asked for %s",
		format_bytes(bytes, usable->bytes), format_grouped(count, usable->count),
		text_plural(usable->count, "block", "blocks"), format_bytes(wanted, asked));
	if (asked)
		fprintf(out, ": %.1f %% more",
			100.0 * ((double)usable->bytes - (double)asked) / (double)asked);
	fputc('\n', out);
}

static void figures_text_at_peak(FILE *out, const struct stack_figures *f)
{
	char bytes[FORMAT_BYTES_MAX], most[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];

	if (!f->peak_bytes && !f->at_peak.count)
		return;
	fprintf(out, "    at the peak %s in %s %s, %s at most\n",
		format_bytes(bytes, f->at_peak.bytes), format_grouped(count, f->at_peak.count),
		text_plural(f->at_peak.count, "block", "blocks"),
		format_bytes(most, f->peak_bytes));
}

/* "peak   1.2 MiB at 03:04:05; what stacks had is known of 1.1 MiB, 1.3 % below" */
static void figures_text_peak(FILE *out, const struct peak *peak)
{
	char bytes[FORMAT_BYTES_MAX], captured[FORMAT_BYTES_MAX], when[64] = "?";
	time_t seconds = (time_t)(peak->time_ns / NS_PER_S);
	struct tm tm;

	if (!peak->bytes)
		return;
	if (localtime_r(&seconds, &tm))
		strftime(when, sizeof(when), "%H:%M:%S", &tm);
	fprintf(out, "peak   %s at %s", format_bytes(bytes, peak->bytes), when);
	if (!peak->captured_bytes)
		fputs("; it was over before what stacks had could be read", out);
	else if (peak->captured_bytes < peak->bytes)
		fprintf(out, "; what stacks had is known of %s, %.1f %% below",
			format_bytes(captured, peak->captured_bytes),
			100 * (1 - (double)peak->captured_bytes / (double)peak->bytes));
	fputc('\n', out);
}

void text_put_figures_sum(FILE *out, const struct snapshot *s)
{
	char count[FORMAT_GROUPED_MAX], bytes[FORMAT_BYTES_MAX];
	struct stack_figures sum;

	if (!s->figures)
		return;
	figures_sum(s, &sum);
	if (s->figures_kept.peak)
		figures_text_peak(out, &s->peak);
	if (s->figures_kept.usable && sum.usable.count) {
		fputs("usable ", out);
		figures_text_room(out, &sum.usable, sum.usable_asked);
	}
	if (s->figures_kept.temporary)
		fprintf(out,
			"temp   %s in %s %s freed before the next allocation, %.1f %% of all\n",
			format_bytes(bytes, sum.temporary.bytes),
			format_grouped(count, sum.temporary.count),
			text_plural(sum.temporary.count, "block", "blocks"),
			s->alloc.count
				? 100.0 * (double)sum.temporary.count / (double)s->alloc.count
				: 0);
}

void text_put_figures(FILE *out, const struct export_options *options, const struct report *r,
		      const struct stack *stack)
{
	const struct figures_kept *kept = &r->snapshot->figures_kept;

	if (!stack->figures)
		return;
	if (kept->lifetimes)
		figures_text_lifetimes(out, options, stack->figures);
	if (kept->temporary)
		figures_text_temporary(out, r, stack);
	if (kept->peak)
		figures_text_at_peak(out, stack->figures);
	if (kept->sizes)
		figures_text_sizes(out, &stack->figures->sizes);
	if (kept->usable && stack->figures->usable.count) {
		fputs("    usable: ", out);
		figures_text_room(out, &stack->figures->usable, stack->figures->usable_asked);
	}
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void figures_json_lifetimes(struct json *to, const struct stack_figures *f)
{
	if (lifetimes_count(f->lifetimes)) {
		json_object(to, "lifetime_ns");
		json_number(to, "p50", lifetimes_quantile(f->lifetimes, 0.5, NULL));
		json_number(to, "p99", lifetimes_quantile(f->lifetimes, 0.99, NULL));
		json_array(to, "classes");
		for (size_t i = 0; i < LIFETIME_CLASSES; i++) {
			if (!f->lifetimes[i])
				continue;
			json_object(to, NULL);
			json_number(to, "from", lifetime_class_ns(i));
			json_number(to, "count", f->lifetimes[i]);
			json_end(to);
		}
		json_end(to);
		json_end(to);
	}
	if (f->outlived_ns) {
		json_object(to, "outlived");
		json_number(to, "older_ms", f->outlived_ns / NS_PER_MS);
		json_put_amount_members(to, &f->outlived);
		json_end(to);
	}
}

static void figures_json_temporary(struct json *to, const struct snapshot *s,
				   const struct stack_figures *f)
{
	json_object(to, "temporary");
	json_put_amount_members(to, &f->temporary);
	json_put_error(to, s->sample_bytes, f->temporary_error);
	json_end(to);
}

static void figures_json_usable(struct json *to, const struct stack_figures *f)
{
	if (!f->usable.count)
		return;
	json_object(to, "usable");
	json_put_amount_members(to, &f->usable);
	json_number(to, "asked_bytes", f->usable_asked);
	json_end(to);
}

void json_put_figures_sum(struct json *to, const struct snapshot *s)
{
	struct stack_figures sum;

	if (!s->figures)
		return;
	figures_sum(s, &sum);
	if (s->figures_kept.temporary)
		figures_json_temporary(to, s, &sum);
	if (s->figures_kept.usable)
		figures_json_usable(to, &sum);
}

static void figures_json_sizes(struct json *to, const struct stack_sizes *sizes)
{
	json_array(to, "sizes");
	for (size_t i = 0; i < (sizes->by_power ? SIZE_CLASSES : SIZES_DISTINCT); i++) {
		if (!sizes->counts[i])
			continue;
		json_object(to, NULL);
		if (!sizes->by_power)
			json_number(to, "bytes", sizes->values[i]);
		else
			json_number(to, "from", size_class_bytes(i));
		json_number(to, "count", sizes->counts[i]);
		json_end(to);
	}
	json_end(to);
}

void json_put_figures(struct json *to, const struct snapshot *s, const struct stack *stack)
{
	const struct stack_figures *f = stack->figures;

	if (!f)
		return;
	if (s->figures_kept.lifetimes)
		figures_json_lifetimes(to, f);
	if (s->figures_kept.temporary)
		figures_json_temporary(to, s, f);
	if (s->figures_kept.sizes)
		figures_json_sizes(to, &f->sizes);
	if (s->figures_kept.usable)
		figures_json_usable(to, f);
	if (s->figures_kept.peak) {
		json_object(to, "peak");
		json_number(to, "bytes", f->peak_bytes);
		json_object(to, "at_peak");
		json_put_amount_members(to, &f->at_peak);
		json_put_error(to, s->sample_bytes, f->at_peak_error);
		json_end(to);
		json_end(to);
	}
}

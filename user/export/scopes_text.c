// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/base/clock.h"
#include "user/base/parse.h"
#include "user/base/text.h"
#include "user/base/util.h"
#include "user/export/scopes_shown.h"
#include "user/export/text_parts.h"

/* Of calls by what they kept, at most so many kinds are named. */
#define KEPT_SHOWN 4
/* Scopes, without -v. */
#define SCOPES_SHOWN 12

static void text_put_scope_name(FILE *out, const struct scope *scope)
{
	char name[SCOPE_NAME_MAX];

	text_put_name(out, scope_name(name, scope));
}

static void text_put_amount(FILE *out, const struct amount *amount)
{
	char human[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];

	fprintf(out, "%s in %s %s", format_bytes(human, amount->bytes),
		format_grouped(count, amount->count),
		text_plural(amount->count, "block", "blocks"));
}

/* Calls are shorter than most that durations are asked for. */
static void text_put_call_time(FILE *out, uint64_t ns)
{
	char time[FORMAT_DURATION_MAX];

	if (ns < NS_PER_MS)
		fprintf(out, "%.1f us", (double)ns / 1000);
	else
		fputs(format_duration(time, ns), out);
}

static void text_put_scope_calls(FILE *out, const struct scope *scope)
{
	char number[FORMAT_GROUPED_MAX];

	fprintf(out, "%s %s", format_grouped(number, scope->calls),
		text_plural(scope->calls, "call", "calls"));
	if (scope->tags)
		fprintf(out, " of about %s different %s", format_grouped(number, scope->tags),
			text_plural(scope->tags, "tag", "tags"));
	if (scope->open)
		fprintf(out, ", %s open now", format_grouped(number, scope->open));
	if (scope->left)
		fprintf(out, ", %s left without a return", format_grouped(number, scope->left));
	if (scope->timed) {
		fputs("; ", out);
		text_put_call_time(out, scope->time_ns / scope->timed);
		fputs(" in the mean, ", out);
		text_put_call_time(out, scope->time_max_ns);
		fputs(" at most", out);
	}
}

/* "98.2 %"; what is seldom is not never, and may be the one that leaks. */
static void text_put_share(FILE *out, uint64_t part, uint64_t all)
{
	double percent = 100.0 * (double)part / (double)all;

	if (part && percent < 0.05)
		fputs("< 0.1 %", out);
	else if (part < all && percent >= 99.95)
		fputs("> 99.9 %", out);
	else
		fprintf(out, "%.1f %%", percent);
}

/* "98.2 % of calls kept nothing, 1.8 % kept 512 B": those first that most calls did. */
static void text_put_kept_calls(FILE *out, const struct scope *scope)
{
	char low[FORMAT_BYTES_MAX], high[FORMAT_BYTES_MAX];
	bool shown[64] = {false};
	uint64_t calls = 0;
	const char *separator = "       ";

	for (size_t i = 0; i < scope->kept_count; i++)
		calls += scope->kept_calls[i].calls;
	for (size_t n = 0; n < KEPT_SHOWN && n < scope->kept_count; n++) {
		const struct scope_kept *most = NULL;
		size_t at = 0;

		for (size_t i = 0; i < scope->kept_count && i < ARRAY_SIZE(shown); i++) {
			if (!shown[i] && (!most || scope->kept_calls[i].calls > most->calls)) {
				most = &scope->kept_calls[i];
				at = i;
			}
		}
		if (!most)
			break;
		shown[at] = true;
		fputs(separator, out);
		text_put_share(out, most->calls, calls);
		fprintf(out, "%s kept ", n ? "" : " of calls");
		if (!most->bytes)
			fputs("nothing", out);
		else if (most->bytes == most->bytes_max)
			fputs(format_bytes(low, most->bytes), out);
		else
			fprintf(out, "%s to %s", format_bytes(low, most->bytes),
				format_bytes(high, most->bytes_max));
		separator = ", ";
	}
	if (scope->kept_count > KEPT_SHOWN)
		fputs(" ...", out);
	if (scope->kept_count)
		fputc('\n', out);
}

static void text_put_error(FILE *out, double error)
{
	char bytes[FORMAT_BYTES_MAX];

	if (error >= 1)
		fprintf(out, ", standard error %s", format_bytes(bytes, saturate_u64(error + 0.5)));
}

static void text_put_scope(FILE *out, const struct export_options *options,
			   const struct scope *scope)
{
	fputs("scope  ", out);
	text_set_style(out, options, TEXT_BOLD);
	text_put_scope_name(out, scope);
	text_set_style(out, options, TEXT_NONE);
	fputs(": ", out);
	text_put_scope_calls(out, scope);
	fputs("\n       kept ", out);
	text_put_amount(out, &scope->kept);
	fputs(" at return", out);
	text_put_error(out, scope->kept_error);
	fputs("; live now ", out);
	text_put_amount(out, &scope->live);
	text_put_error(out, scope->live_error);
	if (scope->own_live.bytes != scope->live.bytes) {
		fputs(", ", out);
		text_put_amount(out, &scope->own_live);
		fputs(" in no scope inside", out);
	}
	fputc('\n', out);
	text_put_kept_calls(out, scope);
}

void text_put_scopes(FILE *out, const struct export_options *options, const struct report *r)
{
	const struct snapshot *s = r->snapshot;
	_cleanup_free_ const struct scope **ranked = scopes_ranked(s);
	size_t shown = s->scopes.count;

	if (!s->scoped)
		return;
	if (!shown)
		fputs("scope  no call so far\n", out);
	if (shown > SCOPES_SHOWN && !options->verbose)
		shown = SCOPES_SHOWN;
	for (size_t i = 0; ranked && i < shown; i++)
		text_put_scope(out, options, ranked[i]);
	if (shown < s->scopes.count)
		fprintf(out, "scope  and %zu more (-v)\n", s->scopes.count - shown);
}

static void text_put_stacks_in(FILE *out, const struct export_options *options,
			       const struct report *r, const struct stack *const *shown,
			       size_t shown_count, const struct scope *scope)
{
	bool headed = false;

	for (size_t i = 0; i < shown_count; i++) {
		if (scope_of_stack(r->snapshot, shown[i]) != scope)
			continue;
		if (!headed) {
			text_set_style(out, options, TEXT_BOLD);
			fputs(scope ? "\nin " : "\nin no scope", out);
			if (scope)
				text_put_scope_name(out, scope);
			fputs(":\n", out);
			text_set_style(out, options, TEXT_NONE);
		}
		headed = true;
		text_put_stack(out, options, r, i + 1, shown[i]);
	}
}

void text_put_stacks(FILE *out, const struct export_options *options, const struct report *r,
		     const struct stack *const *shown, size_t shown_count)
{
	const struct snapshot *s = r->snapshot;
	_cleanup_free_ const struct scope **ranked = scopes_ranked(s);

	for (size_t i = 0; ranked && i < s->scopes.count; i++)
		text_put_stacks_in(out, options, r, shown, shown_count, ranked[i]);
	if (ranked) {
		text_put_stacks_in(out, options, r, shown, shown_count, NULL);
		return;
	}
	for (size_t i = 0; i < shown_count; i++)
		text_put_stack(out, options, r, i + 1, shown[i]);
}

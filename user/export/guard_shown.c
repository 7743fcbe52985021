// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How --guard stands, as text and as JSON. */
#include <inttypes.h>

#include "user/base/clock.h"
#include "user/base/parse.h"
#include "user/export/json_parts.h"
#include "user/export/render.h"
#include "user/export/text_parts.h"

/* ---- text --------------------------------------------------------------------------------- */

static void put_not_guarded(FILE *out, const struct guard_state *g)
{
	const struct {
		uint64_t count;
		const char *why;
	} rows[] = {
		{g->full, "found no place"},
		{g->passed, "of callers with their share of the places"},
		{g->unfit, "larger than a page or aligned in a way of their own"},
	};
	const char *separator = "       drawn, and not guarded: ";
	char count[FORMAT_GROUPED_MAX];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!rows[i].count)
			continue;
		fprintf(out, "%s%s %s", separator, format_grouped(count, rows[i].count),
			rows[i].why);
		separator = ", ";
	}
	if (*separator == ',')
		fputc('\n', out);
}

static void put_places(FILE *out, const struct guard_state *g)
{
	char places[FORMAT_GROUPED_MAX], used[FORMAT_GROUPED_MAX], freed[FORMAT_GROUPED_MAX],
		age[FORMAT_DURATION_MAX];

	fprintf(out, "       %s of %s places in use, %s blocks freed",
		format_grouped(used, g->in_use), format_grouped(places, g->places),
		format_grouped(freed, g->freed));
	if (g->oldest_free_ms)
		fprintf(out, ", the oldest that is still guarded %s ago",
			format_duration(age, g->oldest_free_ms * NS_PER_MS));
	fputc('\n', out);
	put_not_guarded(out, g);
	if (g->amid)
		fprintf(out,
			"       not told: %s %s while the block there was being made or freed\n",
			format_grouped(used, g->amid), text_plural(g->amid, "touch", "touches"));
	if (g->unseen)
		fprintf(out, "       not known where allocated: %s %s\n",
			format_grouped(used, g->unseen),
			text_plural(g->unseen, "block that was freed", "blocks that were freed"));
}

static void put_seen(FILE *out, const struct report *r)
{
	const struct guard_state *g = &r->snapshot->guard;
	char count[FORMAT_GROUPED_MAX], period[FORMAT_GROUPED_MAX];
	uint64_t seen = 0;

	for (size_t i = 0; i < r->misuses[MISUSE_BY_GUARD].count; i++)
		seen += r->misuses[MISUSE_BY_GUARD].items[i].count;
	if (!g->guarded && !seen) {
		fprintf(out, "guard  no block was guarded so far, one call in %s is\n",
			format_grouped(period, g->period));
		return;
	}
	if (seen)
		fprintf(out, "guard  %s bad %s", format_grouped(count, seen),
			text_plural(seen, "access", "accesses"));
	else
		fputs("guard  no bad access", out);
	fprintf(out, " seen in %s guarded %s", format_grouped(count, g->guarded),
		text_plural(g->guarded, "block", "blocks"));
	fprintf(out, ", one call in %s\n", format_grouped(period, g->period));
}

static void put_warning(FILE *out, const struct export_options *options, const char *before,
			const char *what)
{
	text_set_style(out, options, TEXT_WARN);
	fputs(before, out);
	text_put_name(out, what);
	text_set_style(out, options, TEXT_NONE);
	fputc('\n', out);
}

void text_put_guard(FILE *out, const struct export_options *options, const struct report *r)
{
	const struct guard_state *g = &r->snapshot->guard;
	char lost[FORMAT_GROUPED_MAX];

	if (!g->asked)
		return;
	if (g->on || g->guarded || !g->reason)
		put_seen(out, r);
	if (g->reason)
		put_warning(out, options,
			    !g->on && !g->guarded    ? "guard  no blocks are guarded: "
			    : r->snapshot->processes ? "       not in all processes: "
						     : "       not any more: ",
			    g->reason);
	if (options->verbose && (g->on || g->guarded))
		put_places(out, g);
	if (g->no_use_after_free)
		put_warning(out, options, "       ",
			    "no use after free is seen: a seccomp filter could end the process for "
			    "what that takes");
	if (!g->lost)
		return;
	text_set_style(out, options, TEXT_WARN);
	fprintf(out, "lost   %s bad %s not listed: there was no room; mend those that are",
		format_grouped(lost, g->lost), text_plural(g->lost, "access is", "accesses are"));
	text_set_style(out, options, TEXT_NONE);
	fputc('\n', out);
}

/* ---- JSON --------------------------------------------------------------------------------- */

void json_put_guard_state(struct json *to, const struct guard_state *g)
{
	json_object(to, "guard");
	json_bool(to, "on", g->on);
	json_text(to, "reason", g->reason);
	json_number(to, "period", g->period);
	json_number(to, "places", g->places);
	json_number(to, "in_use", g->in_use);
	json_number(to, "guarded", g->guarded);
	json_number(to, "freed", g->freed);
	json_number(to, "full", g->full);
	json_number(to, "passed", g->passed);
	json_number(to, "unfit", g->unfit);
	if (g->amid)
		json_number(to, "amid", g->amid);
	if (g->unseen)
		json_number(to, "unseen", g->unseen);
	if (g->oldest_free_ms)
		json_number(to, "oldest_free_ms", g->oldest_free_ms);
	json_bool(to, "use_after_free", !g->no_use_after_free);
	json_number(to, "not_listed", g->lost);
	json_end(to);
}

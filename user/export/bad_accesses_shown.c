// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What --guard has found, and how it stands, as text and as JSON. */
#include <inttypes.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/base/parse.h"
#include "user/export/json_parts.h"
#include "user/export/render.h"
#include "user/export/text_parts.h"

static const char *const call_names[] = {
	[BAD_ACCESS_ALLOC] = "alloc",
	[BAD_ACCESS_FREE] = "free",
	[BAD_ACCESS_TOUCH] = "touch",
};

/* What is wrong comes first, then what was before it. */
static const enum bad_access_stack call_order[] = {BAD_ACCESS_TOUCH, BAD_ACCESS_FREE,
						   BAD_ACCESS_ALLOC};

enum bad_access_stack bad_access_call_at(int place)
{
	return call_order[place];
}

const char *bad_access_call_text(const struct bad_access *bad, enum bad_access_stack call)
{
	if (call == BAD_ACCESS_ALLOC)
		return "allocated";
	if (call == BAD_ACCESS_FREE)
		return bad->kind == BAD_ACCESS_SLACK_OVERWRITE ? "found when freed"
							       : "freed before";
	if (bad->kind == BAD_ACCESS_DOUBLE_FREE || bad->kind == BAD_ACCESS_INVALID_FREE)
		return "freed";
	return bad->mode == ACCESS_READ	   ? "read"
	       : bad->mode == ACCESS_WRITE ? "written"
					   : "touched";
}

/* ---- text --------------------------------------------------------------------------------- */

/*
 * "3 bytes after the end of a 100-byte block", "8 bytes inside …", "1 byte before …": as AddressSanitizer has it. The
 * first byte behind a block is 0 bytes after its end.
 */
static void put_where(FILE *out, const struct bad_access *bad)
{
	/* Modulo 2^64: a forged recording may hold any numbers. */
	uint64_t into = (uint64_t)bad->offset;
	bool before = bad->offset < 0, after = !before && into >= bad->size;
	uint64_t far = before ? 0 - into : after ? into - bad->size : into;

	if (!bad->block) {
		fputs("what block it was is not known", out);
		return;
	}
	if (bad->kind != BAD_ACCESS_DOUBLE_FREE || bad->offset)
		fprintf(out, "%" PRIu64 " %s %s ", far, far == 1 ? "byte" : "bytes",
			before	? "before"
			: after ? "after the end of"
				: "inside");
	fprintf(out, "a %s%" PRIu64 "-byte block",
		bad->kind == BAD_ACCESS_USE_AFTER_FREE ? "freed " : "", bad->size);
}

static void put_what(FILE *out, const struct bad_access *bad)
{
	static const char *const modes[] = {"READ or WRITE ", "READ ", "WRITE "};

	if (bad->kind == BAD_ACCESS_SLACK_OVERWRITE) {
		fputs("WRITE ", out);
		if (bad->value >= 0)
			fprintf(out, "of byte 0x%02x, ", (unsigned)bad->value & 0xff);
	} else if (bad->kind <= BAD_ACCESS_USE_AFTER_FREE) {
		fputs(modes[(unsigned)bad->mode <= ACCESS_WRITE ? bad->mode : ACCESS_UNKNOWN], out);
	}
	put_where(out, bad);
}

void bad_access_put_text(FILE *out, const struct bad_access *bad)
{
	fprintf(out, "%s: ", bad_access_kind_text(bad->kind));
	put_what(out, bad);
}

void bad_access_put_title(FILE *out, const struct bad_access *bad)
{
	char count[FORMAT_GROUPED_MAX], comm[sizeof(bad->comm) + 1];

	fputs(bad_access_kind_text(bad->kind), out);
	if (bad->count != 1)
		fprintf(out, ", %s times; the first", format_grouped(count, bad->count));
	fputs(": ", out);
	put_what(out, bad);
	if (bad->thread)
		fprintf(out, ", by thread %" PRIu32, bad->thread);
	if (!*bad->comm)
		return;
	snprintf(comm, sizeof(comm), "%.*s", (int)sizeof(bad->comm), bad->comm);
	fputs(" (", out);
	text_put_name(out, comm);
	fputc(')', out);
}

void text_put_bad_access_calls(FILE *out, const struct export_options *options,
			       const struct bad_access *bad)
{
	for (int place = 0; place < BAD_ACCESS_STACKS; place++) {
		enum bad_access_stack call = bad_access_call_at(place);
		const struct reported_call *c = &bad->calls[call];

		if (!c->known)
			continue;
		fprintf(out, "  %s\n", bad_access_call_text(bad, call));
		text_frames(out, options, c->frames, c->frame_count, c->end);
	}
}

void text_put_bad_access(FILE *out, const struct export_options *options,
			 const struct bad_access *bad)
{
	fputs("\nbad    ", out);
	bad_access_put_title(out, bad);
	fputc('\n', out);
	text_put_bad_access_calls(out, options, bad);
}

void text_put_suppressed_accesses(FILE *out, uint64_t suppressed)
{
	if (suppressed)
		fprintf(out, "\nsuppressed: %" PRIu64 " bad %s\n", suppressed,
			text_plural(suppressed, "access", "accesses"));
}

void text_put_bad_accesses(FILE *out, const struct export_options *options, const struct report *r)
{
	uint64_t suppressed = 0;

	for (size_t i = 0; i < r->snapshot->bad_access_count; i++) {
		const struct bad_access *bad = &r->bad_accesses[i];

		if (bad->suppressed) {
			suppressed += bad->count;
			continue;
		}
		text_put_bad_access(out, options, bad);
	}
	text_put_suppressed_accesses(out, suppressed);
}

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

	for (size_t i = 0; i < r->snapshot->bad_access_count; i++)
		seen += r->bad_accesses[i].count;
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

void json_put_bad_access(struct json *to, const char *key, const struct export_options *options,
			 const struct bad_access *bad)
{
	char comm[sizeof(bad->comm) + 1];

	json_object(to, key);
	json_text(to, "kind", bad_access_kind_name(bad->kind));
	json_text(to, "access", access_mode_name(bad->mode));
	if (bad->block) {
		json_signed(to, "offset", bad->offset);
		json_number(to, "size", bad->size);
	}
	json_number(to, "count", bad->count);
	if (bad->thread)
		json_number(to, "thread", bad->thread);
	snprintf(comm, sizeof(comm), "%.*s", (int)sizeof(bad->comm), bad->comm);
	json_text(to, "comm", *comm ? comm : NULL);
	if (bad->kind == BAD_ACCESS_SLACK_OVERWRITE && bad->value >= 0)
		json_number(to, "value", (uint64_t)bad->value);
	json_text(to, "suppressed", bad->suppressed);
	for (int i = 0; i < BAD_ACCESS_STACKS; i++) {
		const struct reported_call *call = &bad->calls[i];

		if (!call->known)
			continue;
		json_object(to, call_names[i]);
		json_put_frames(to, "frames", call->frames, call->frame_count, options->verbose);
		json_end(to);
	}
	json_end(to);
}

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

void json_put_guard(struct json *to, const struct export_options *options, const struct report *r)
{
	if (!r->snapshot->guard.asked)
		return;
	json_put_guard_state(to, &r->snapshot->guard);
	json_array(to, "bad_accesses");
	for (size_t i = 0; i < r->snapshot->bad_access_count; i++)
		json_put_bad_access(to, NULL, options, &r->bad_accesses[i]);
	json_end(to);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What guarded blocks have shown (--guard) on two sides, as text and as JSON. */
#include <inttypes.h>

#include "user/base/parse.h"
#include "user/export/compare.h"
#include "user/export/json_parts.h"
#include "user/export/render.h"
#include "user/export/text_parts.h"
#include "user/model/function_name.h"

/* ---- text --------------------------------------------------------------------------------- */

void compare_put_guards(FILE *out, const struct comparison *c, const struct compared_side *side)
{
	char count[FORMAT_GROUPED_MAX];

	if (!c->old.guarded && !c->now.guarded)
		return;
	if (!side->guarded) {
		fputs("guard  no blocks were guarded there\n", out);
		return;
	}
	fprintf(out, "guard  %s bad %s seen in",
		side->bad_accesses ? format_grouped(count, side->bad_accesses) : "no",
		side->bad_accesses > 1 ? "accesses" : "access");
	fprintf(out, " %s guarded %s\n", format_grouped(count, side->guarded_blocks),
		text_plural(side->guarded_blocks, "block", "blocks"));
	if (side->not_listed)
		fprintf(out, "lost   %s more bad %s there, not listed and not compared\n",
			format_grouped(count, side->not_listed),
			text_plural(side->not_listed, "access", "accesses"));
}

/* The frame that stands for a call: what touched is the innermost, while what frees is called. */
static const struct frame *compare_access_site(const struct export_options *options,
					       const struct misuse *misuse, enum misuse_call which)
{
	const struct reported_call *call = &misuse->calls[which];
	bool touched = which == MISUSE_CALL_NOW && !misuse_is_free(misuse);

	if (!call->known || !call->frames || !call->frame_count)
		return NULL;
	if (touched && call->frames[0]->function && !frame_is_plumbing(call->frames[0]))
		return call->frames[0];
	return call->frames[frames_site(call->frames, call->frame_count, &options->sites)];
}

/* "; read in parse, allocated in get" */
static void compare_put_sites(FILE *out, const struct export_options *options,
			      const struct misuse *misuse)
{
	const char *separator = "; ";

	for (int i = 0; i < MISUSE_CALLS; i++) {
		enum misuse_call which = (enum misuse_call)i;
		const struct frame *site = compare_access_site(options, misuse, which);
		char label[FRAME_LABEL_MAX], folded[FUNCTION_NAME_MAX];

		if (!site)
			continue;
		fprintf(out, "%s%s in ", separator, misuse_call_text(misuse, which));
		text_put_name(out, site->function && !options->verbose
					   ? function_name_cut(folded, site->function)
					   : frame_label(site, label));
		separator = ", ";
	}
}

static void compare_put_access(FILE *out, const struct export_options *options,
			       const struct compared_access *access)
{
	enum presence presence = compared_presence(access);
	char old[FORMAT_GROUPED_MAX], now[FORMAT_GROUPED_MAX];

	fputs("\nbad    ", out);
	if (presence == PRESENCE_BOTH)
		fprintf(out, "in both, %s -> %s times: ", format_grouped(old, access->old),
			format_grouped(now, access->now));
	else
		fprintf(out, "%s, %s %s: ", presence_name(presence),
			format_grouped(now, access->misuse.count),
			text_plural(access->misuse.count, "time", "times"));
	misuse_put_text(out, &access->misuse);
	if (presence != PRESENCE_NEW && !options->verbose)
		compare_put_sites(out, options, &access->misuse);
	fputc('\n', out);
	if (presence == PRESENCE_NEW || options->verbose)
		text_put_misuse_calls(out, options, &access->misuse);
}

void compare_put_accesses(FILE *out, const struct export_options *options,
			  const struct comparison *c, size_t top)
{
	size_t shown[PRESENCES] = {0}, more = 0;

	if (!c->access_count)
		return;
	fprintf(out, "bad    by kind and stacks: %zu new, %zu in both, %zu gone\n",
		c->access_counts[PRESENCE_NEW], c->access_counts[PRESENCE_BOTH],
		c->access_counts[PRESENCE_GONE]);
	for (size_t i = 0; i < c->access_count; i++) {
		if (shown[compared_presence(&c->accesses[i])]++ < top)
			compare_put_access(out, options, &c->accesses[i]);
		else
			more++;
	}
	if (more)
		fprintf(out, "\nbad    and %zu more (-T)\n", more);
}

/* ---- JSON --------------------------------------------------------------------------------- */

void compare_json_put_guards(struct json *to, const struct compared_side *side)
{
	if (!side->guarded)
		return;
	json_number(to, "guarded", side->guarded_blocks);
	if (side->bad_accesses)
		json_number(to, "bad_accesses", side->bad_accesses);
	if (side->not_listed)
		json_number(to, "not_listed", side->not_listed);
}

void compare_json_put_accesses(struct json *to, const struct export_options *options,
			       const struct comparison *c)
{
	if (!c->old.guarded && !c->now.guarded)
		return;
	json_array(to, "bad_accesses");
	for (size_t i = 0; i < c->access_count; i++) {
		const struct compared_access *access = &c->accesses[i];

		json_object(to, NULL);
		json_text(to, "change", presence_name(compared_presence(access)));
		json_number(to, "old", access->old);
		json_number(to, "new", access->now);
		json_put_misuse(to, "bad_access", options, &access->misuse);
		json_end(to);
	}
	json_end(to);
}

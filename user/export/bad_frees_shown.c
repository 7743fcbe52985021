// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What --check-frees has found, as text and as JSON. */
#include <inttypes.h>

#include "user/base/parse.h"
#include "user/export/json_parts.h"
#include "user/export/render.h"
#include "user/export/text_parts.h"

static const char *const call_names[] = {
	[BAD_FREE_NOW] = "free", [BAD_FREE_FIRST] = "first_free", [BAD_FREE_ALLOC] = "alloc"};
static const char *const call_texts[] = {
	[BAD_FREE_NOW] = "freed",
	[BAD_FREE_FIRST] = "freed before",
	[BAD_FREE_ALLOC] = "allocated",
};

const char *bad_free_call_text(enum bad_free_stack call)
{
	return call_texts[call];
}

void bad_free_put_title(FILE *out, const struct bad_free *bad)
{
	char count[FORMAT_GROUPED_MAX], size[FORMAT_BYTES_MAX];

	fprintf(out, "%s, %s %s", bad_free_kind_text(bad->kind), format_grouped(count, bad->count),
		bad->count == 1 ? "time" : "times");
	if (bad->kind == BAD_FREE_MISMATCH)
		fprintf(out, ": allocated by %s, freed by %s", alloc_family_name(bad->alloc_family),
			free_family_name(bad->free_family));
	fprintf(out, "; %s0x%" PRIx64, bad->count == 1 ? "" : "the first of ", bad->address);
	if (bad->kind == BAD_FREE_INSIDE)
		fprintf(out, ", %" PRIu64 " bytes into", bad->address - bad->block);
	if (bad->size)
		fprintf(out, "%s a block of %s", bad->kind == BAD_FREE_INSIDE ? "" : ",",
			format_bytes(size, bad->size));
}

void text_put_bad_frees(FILE *out, const struct export_options *options, const struct report *r)
{
	uint64_t suppressed = 0;

	for (size_t i = 0; i < r->snapshot->bad_free_count; i++) {
		const struct bad_free *bad = &r->bad_frees[i];

		if (bad->suppressed) {
			suppressed += bad->count;
			continue;
		}
		fputs("\nbad    ", out);
		bad_free_put_title(out, bad);
		fputc('\n', out);
		for (int call = 0; call < BAD_FREE_STACKS; call++) {
			const struct reported_call *c = &bad->calls[call];

			if (!c->known)
				continue;
			fprintf(out, "  %s\n", call_texts[call]);
			text_frames(out, options, c->frames, c->frame_count, c->end);
		}
	}
	if (suppressed)
		fprintf(out, "\nsuppressed: %" PRIu64 " bad frees\n", suppressed);
}

static void json_put_bad_free(struct json *to, const struct export_options *options,
			      const struct bad_free *bad)
{
	char address[24];

	json_object(to, NULL);
	json_text(to, "kind", bad_free_kind_name(bad->kind));
	json_number(to, "count", bad->count);
	snprintf(address, sizeof(address), "0x%" PRIx64, bad->address);
	json_text(to, "address", address);
	if (bad->kind == BAD_FREE_INSIDE)
		json_number(to, "offset", bad->address - bad->block);
	if (bad->size)
		json_number(to, "size", bad->size);
	json_text(to, "allocated_by", alloc_family_name(bad->alloc_family));
	json_text(to, "freed_by", free_family_name(bad->free_family));
	json_text(to, "suppressed", bad->suppressed);
	for (int i = 0; i < BAD_FREE_STACKS; i++) {
		const struct reported_call *call = &bad->calls[i];

		if (call->known)
			json_put_frames(to, call_names[i], call->frames, call->frame_count,
					options->verbose);
	}
	json_end(to);
}

void json_put_bad_frees(struct json *to, const struct export_options *options,
			const struct report *r)
{
	json_array(to, "bad_frees");
	for (size_t i = 0; i < r->snapshot->bad_free_count; i++)
		json_put_bad_free(to, options, &r->bad_frees[i]);
	json_end(to);
}

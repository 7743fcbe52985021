// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What --check-frees and --guard have found, as text and as JSON. */
#include <inttypes.h>

#include "user/base/parse.h"
#include "user/export/json_parts.h"
#include "user/export/render.h"
#include "user/export/text_parts.h"

const char *misuse_call_text(const struct misuse *misuse, enum misuse_call call)
{
	if (call == MISUSE_CALL_ALLOC)
		return "allocated";
	if (call == MISUSE_CALL_FREE)
		return misuse->kind == MISUSE_SLACK_OVERWRITE ? "found when freed" : "freed before";
	if (misuse_is_free(misuse))
		return "freed";
	return misuse->mode == ACCESS_READ    ? "read"
	       : misuse->mode == ACCESS_WRITE ? "written"
					      : "touched";
}

/* ---- text --------------------------------------------------------------------------------- */

/*
 * "3 bytes after the end of a 100-byte block", "8 bytes inside …", "1 byte before …": as
 * AddressSanitizer has it. The first byte behind a block is 0 bytes after its end.
 */
static void put_where(FILE *out, const struct misuse *misuse)
{
	/* Modulo 2^64: a forged recording may hold any numbers. */
	uint64_t into = (uint64_t)misuse_offset(misuse);
	bool before = misuse_offset(misuse) < 0, after = !before && into >= misuse->size;
	uint64_t far = before ? 0 - into : after ? into - misuse->size : into;

	if (!misuse->block) {
		fputs("what block it was is not known", out);
		return;
	}
	if (misuse->kind != MISUSE_DOUBLE_FREE || into)
		fprintf(out, "%" PRIu64 " %s %s ", far, far == 1 ? "byte" : "bytes",
			before	? "before"
			: after ? "after the end of"
				: "inside");
	fprintf(out, "a %s%" PRIu64 "-byte block",
		misuse->kind == MISUSE_USE_AFTER_FREE ? "freed " : "", misuse->size);
}

/* Of a bad access. */
static void put_access(FILE *out, const struct misuse *misuse)
{
	static const char *const modes[] = {"READ or WRITE ", "READ ", "WRITE "};

	if (misuse->kind == MISUSE_SLACK_OVERWRITE) {
		fputs("WRITE ", out);
		if (misuse->value >= 0)
			fprintf(out, "of byte 0x%02x, ", (unsigned)misuse->value & 0xff);
	} else if (!misuse_is_free(misuse)) {
		fputs(modes[(unsigned)misuse->mode <= ACCESS_WRITE ? misuse->mode : ACCESS_UNKNOWN],
		      out);
	}
	put_where(out, misuse);
}

/* Of a bad free. */
static void put_free(FILE *out, const struct misuse *misuse)
{
	bool inside = misuse->kind == MISUSE_INSIDE_BLOCK;
	char size[FORMAT_BYTES_MAX];

	if (misuse->kind == MISUSE_MISMATCH)
		fprintf(out, ": allocated by %s, freed by %s",
			alloc_family_name(misuse->alloc_family),
			free_family_name(misuse->free_family));
	fprintf(out, "; %s0x%" PRIx64, misuse->count == 1 ? "" : "the first of ", misuse->address);
	if (inside)
		fprintf(out, ", %" PRIu64 " bytes into", (uint64_t)misuse_offset(misuse));
	if (misuse->size)
		fprintf(out, "%s a block of %s", inside ? "" : ",",
			format_bytes(size, misuse->size));
}

void misuse_put_text(FILE *out, const struct misuse *misuse)
{
	fprintf(out, "%s: ", misuse_kind_text(misuse->kind));
	put_access(out, misuse);
}

static void put_thread(FILE *out, const struct misuse *misuse)
{
	char comm[sizeof(misuse->comm) + 1];

	if (misuse->thread)
		fprintf(out, ", by thread %" PRIu32, misuse->thread);
	if (!*misuse->comm)
		return;
	snprintf(comm, sizeof(comm), "%.*s", (int)sizeof(misuse->comm), misuse->comm);
	fputs(" (", out);
	text_put_name(out, comm);
	fputc(')', out);
}

void misuse_put_title(FILE *out, const struct misuse *misuse)
{
	bool checked = misuse->finder == MISUSE_BY_CHECK;
	char count[FORMAT_GROUPED_MAX];

	fputs(misuse_kind_text(misuse->kind), out);
	if (checked || misuse->count != 1)
		fprintf(out, ", %s %s", format_grouped(count, misuse->count),
			text_plural(misuse->count, "time", "times"));
	if (checked) {
		put_free(out, misuse);
		return;
	}
	if (misuse->count != 1)
		fputs("; the first", out);
	fputs(": ", out);
	put_access(out, misuse);
	put_thread(out, misuse);
}

void text_put_misuse_calls(FILE *out, const struct export_options *options,
			   const struct misuse *misuse)
{
	for (int i = 0; i < MISUSE_CALLS; i++) {
		const struct reported_call *call = &misuse->calls[i];

		if (!call->known)
			continue;
		fprintf(out, "  %s\n", misuse_call_text(misuse, (enum misuse_call)i));
		text_frames(out, options, call->frames, call->frame_count, call->end);
	}
}

void text_put_misuse(FILE *out, const struct export_options *options, const struct misuse *misuse)
{
	fputs("\nbad    ", out);
	misuse_put_title(out, misuse);
	fputc('\n', out);
	text_put_misuse_calls(out, options, misuse);
}

void text_put_suppressed_misuses(FILE *out, enum misuse_finder finder, uint64_t suppressed)
{
	const char *what =
		finder == MISUSE_BY_CHECK ? "frees" : text_plural(suppressed, "access", "accesses");

	if (suppressed)
		fprintf(out, "\nsuppressed: %" PRIu64 " bad %s\n", suppressed, what);
}

void text_put_misuses(FILE *out, const struct export_options *options, const struct report *r)
{
	for (int finder = 0; finder < MISUSE_FINDERS; finder++) {
		const struct misuse_list *list = &r->misuses[finder];
		uint64_t suppressed = 0;

		for (size_t i = 0; i < list->count; i++) {
			if (list->items[i].suppressed)
				suppressed += list->items[i].count;
			else
				text_put_misuse(out, options, &list->items[i]);
		}
		text_put_suppressed_misuses(out, (enum misuse_finder)finder, suppressed);
	}
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void json_put_free(struct json *to, const struct misuse *misuse)
{
	char address[24];

	json_text(to, "kind", misuse_kind_name(misuse->kind));
	json_number(to, "count", misuse->count);
	snprintf(address, sizeof(address), "0x%" PRIx64, misuse->address);
	json_text(to, "address", address);
	if (misuse->kind == MISUSE_INSIDE_BLOCK)
		json_number(to, "offset", (uint64_t)misuse_offset(misuse));
	if (misuse->size)
		json_number(to, "size", misuse->size);
	json_text(to, "allocated_by", alloc_family_name(misuse->alloc_family));
	json_text(to, "freed_by", free_family_name(misuse->free_family));
}

static void json_put_access(struct json *to, const struct misuse *misuse)
{
	char comm[sizeof(misuse->comm) + 1];

	json_text(to, "kind", misuse_kind_name(misuse->kind));
	json_text(to, "access", access_mode_name(misuse->mode));
	if (misuse->block) {
		json_signed(to, "offset", misuse_offset(misuse));
		json_number(to, "size", misuse->size);
	}
	json_number(to, "count", misuse->count);
	if (misuse->thread)
		json_number(to, "thread", misuse->thread);
	snprintf(comm, sizeof(comm), "%.*s", (int)sizeof(misuse->comm), misuse->comm);
	json_text(to, "comm", *comm ? comm : NULL);
	if (misuse->kind == MISUSE_SLACK_OVERWRITE && misuse->value >= 0)
		json_number(to, "value", (uint64_t)misuse->value);
}

/* Each finder has its words and its order. */
static const struct {
	const char *list;
	void (*put)(struct json *to, const struct misuse *misuse);
	const char *calls[MISUSE_CALLS]; /* by misuse_call_of() */
	bool wrapped;			 /* a call's frames are a member of it */
} json_words[] = {
	[MISUSE_BY_CHECK] = {"bad_frees", json_put_free, {"free", "first_free", "alloc"}, false},
	[MISUSE_BY_GUARD] = {"bad_accesses", json_put_access, {"alloc", "free", "touch"}, true},
};

void json_put_misuse(struct json *to, const char *key, const struct export_options *options,
		     const struct misuse *misuse)
{
	enum misuse_finder finder = misuse->finder;

	json_object(to, key);
	json_words[finder].put(to, misuse);
	json_text(to, "suppressed", misuse->suppressed);
	for (int i = 0; i < MISUSE_CALLS; i++) {
		const struct reported_call *call = &misuse->calls[misuse_call_of(finder, i)];
		const char *word = json_words[finder].calls[i];

		if (!call->known)
			continue;
		if (json_words[finder].wrapped)
			json_object(to, word);
		json_put_frames(to, json_words[finder].wrapped ? "frames" : word, call->frames,
				call->frame_count, options->verbose);
		if (json_words[finder].wrapped)
			json_end(to);
	}
	json_end(to);
}

void json_put_misuses(struct json *to, const struct export_options *options,
		      const struct misuse_list *list, enum misuse_finder finder)
{
	json_array(to, json_words[finder].list);
	for (size_t i = 0; i < list->count; i++)
		json_put_misuse(to, NULL, options, &list->items[i]);
	json_end(to);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Every number of the file is checked before it is used: a recording may come from anywhere. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/model/frame_table.h"
#include "user/model/id_map.h"
#include "user/recording/recording.h"
#include "user/recording/recording_format.h"
#include "user/recording/recording_state.h"
#include "user/recording/wire.h"

static uint32_t get_le32(const uint8_t *from)
{
	return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

static int damaged(const struct recording_reader *r, const char *what)
{
	log_error("%s: damaged at offset %" PRIu64 ": %s", r->name, r->chunk_at, what);
	return -EBADMSG;
}

static int fail_memory(const struct recording_reader *r)
{
	return log_errno(ENOMEM, "%s: offset %" PRIu64, r->name, r->chunk_at);
}

/* Reads whole, or says how much there was. */
static int read_part(struct recording_reader *r, void *to, size_t len, size_t *got)
{
	errno = 0;
	*got = fread(to, 1, len, r->in);
	r->offset += *got;
	if (*got < len && ferror(r->in))
		return log_errno(errno ? errno : EIO, "%s: cannot read at offset %" PRIu64, r->name,
				 r->offset);
	return 0;
}

/* The body is read in steps: a length that is not true must not cost memory. */
static int read_body(struct recording_reader *r, uint32_t len, size_t *got)
{
	static const size_t step = 1u << 20;

	*got = 0;
	while (*got < len) {
		size_t want = len - *got < step ? len - *got : step, part;
		int err;

		if (r->body_room < *got + want) {
			size_t room =
				2 * r->body_room > *got + want ? 2 * r->body_room : *got + want;
			uint8_t *grown = realloc(r->body, room);

			if (!grown)
				return fail_memory(r);
			r->body = grown;
			r->body_room = room;
		}
		err = read_part(r, r->body + *got, want, &part);
		if (err)
			return err;
		*got += part;
		if (part < want)
			return 0;
	}
	return 0;
}

static int cut_short(struct recording_reader *r)
{
	log_warn("%s: ends in the middle of a snapshot, at offset %" PRIu64 "; the %" PRIu64
		 " before it are complete",
		 r->name, r->offset, r->snapshots);
	return 0;
}

/* 1: a chunk is in the body; 0: the end. */
static int read_chunk(struct recording_reader *r)
{
	uint8_t prefix[CHUNK_PREFIX_SIZE];
	uint32_t len;
	size_t got;
	int err;

	r->chunk_at = r->offset;
	err = read_part(r, prefix, sizeof(prefix), &got);
	if (err)
		return err;
	if (!got)
		return r->unfinished ? cut_short(r) : 0;
	if (got < sizeof(prefix))
		return cut_short(r);
	len = get_le32(prefix);
	if (!len || len > CHUNK_MAX)
		return damaged(r, "a chunk's length is impossible");
	err = read_body(r, len, &got);
	if (err)
		return err;
	if (got < len)
		return cut_short(r);
	if ((uint32_t)crc32(0, r->body, len) != get_le32(prefix + 4))
		return damaged(r, "a chunk's checksum is wrong");
	r->message = (struct wire_reader){r->body, r->body + len};
	return 1;
}

/* ---- the beginning ------------------------------------------------------------------------ */

/* Frees the old one, if a hostile header says it twice. */
static int set_text(char **to, const struct wire_field *f)
{
	char *text = strndup((const char *)f->body.at, wire_left(&f->body));

	free(*to);
	*to = text;
	return text ? 0 : -ENOMEM;
}

static const char *cause_name(int number)
{
	return number < LOST_CAUSES ? lost_cause_name((enum lost_cause)number) : NULL;
}

static const char *end_name(int number)
{
	return number < STACK_ENDS ? stack_end_name((enum stack_end)number) : NULL;
}

/* The file's numbers are by the order of its names; another version may have others. */
static int add_name(struct number_list *list, const struct wire_field *f,
		    const char *(*name_of)(int number))
{
	int *grown = reallocarray(list->numbers, list->count + 1, sizeof(*grown));
	const char *name;

	if (!grown)
		return -ENOMEM;
	list->numbers = grown;
	grown[list->count] = -1;
	for (int i = 0; (name = name_of(i)) != NULL; i++) {
		if (strlen(name) == wire_left(&f->body) &&
		    !memcmp(name, f->body.at, wire_left(&f->body)))
			grown[list->count] = i;
	}
	list->count++;
	return 0;
}

static int read_header(struct recording_reader *r, struct wire_reader message)
{
	char **const texts[] = {
		[HEADER_TOOL_VERSION] = &r->tool_version,
		[HEADER_KERNEL] = &r->kernel,
		[HEADER_MACHINE] = &r->machine,
		[HEADER_HOST] = &r->host,
	};
	struct wire_field f;
	int got, err = 0;

	while (!err && (got = wire_next(&message, &f)) > 0) {
		if (f.field == HEADER_OLDER_NS && f.type == WIRE_VARINT)
			r->info.older_ns = f.number;
		else if (f.field == HEADER_LOST_CAUSE && f.type == WIRE_BYTES)
			err = add_name(&r->causes, &f, cause_name);
		else if (f.field == HEADER_STACK_END && f.type == WIRE_BYTES)
			err = add_name(&r->ends, &f, end_name);
		else if (f.field < ARRAY_SIZE(texts) && texts[f.field] && f.type == WIRE_BYTES)
			err = set_text(texts[f.field], &f);
	}
	if (!err && got < 0)
		return damaged(r, "the header cannot be read");
	r->info.tool_version = r->tool_version;
	r->info.kernel = r->kernel;
	r->info.machine = r->machine;
	r->info.host = r->host;
	return err ? fail_memory(r) : 0;
}

static int read_prefix(struct recording_reader *r)
{
	uint8_t prefix[RECORDING_PREFIX_SIZE];
	uint32_t version;
	size_t got;
	int err = read_part(r, prefix, sizeof(prefix), &got);

	if (err)
		return err;
	if (got < sizeof(prefix) || memcmp(prefix, RECORDING_MAGIC, RECORDING_MAGIC_SIZE)) {
		log_error("%s: not a recording of memleakbpf (offset 0)", r->name);
		return -EBADMSG;
	}
	version = get_le32(prefix + RECORDING_MAGIC_SIZE);
	if (version == RECORDING_VERSION)
		return 0;
	log_error("%s: recording of version %" PRIu32 " (offset %d), and this program knows "
		  "version %d; use the one that made it",
		  r->name, version, RECORDING_MAGIC_SIZE, RECORDING_VERSION);
	return -EPROTONOSUPPORT;
}

/* Of a writer that died at once there may be no more than the prefix. */
static int read_first_chunk(struct recording_reader *r)
{
	int got = read_chunk(r);
	struct wire_field f;

	if (got <= 0)
		return got;
	got = wire_next(&r->message, &f);
	if (got <= 0 || f.field != CHUNK_HEADER || f.type != WIRE_BYTES)
		return damaged(r, "the header is missing");
	return read_header(r, f.body);
}

int recording_reader_new(FILE *in, const char *name, struct recording_reader **reader)
{
	struct recording_reader *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return log_errno(ENOMEM, "%s", name);
	r->in = in;
	r->name = name;
	r->table = frame_table_new();
	err = r->table ? read_prefix(r) : fail_memory(r);
	if (!err)
		err = read_first_chunk(r);
	if (err) {
		recording_reader_free(r);
		return err;
	}
	*reader = r;
	return 0;
}

void recording_reader_free(struct recording_reader *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->target_count; i++)
		recording_target_release(&r->targets[i]);
	free(r->targets);
	snapshot_free(r->window);
	survey_reading_free(r->survey);
	id_map_free(&r->target_numbers);
	id_list_free(&r->strings);
	id_list_free(&r->frames);
	id_list_free(&r->stacks);
	frame_table_free(r->table);
	free(r->causes.numbers);
	free(r->ends.numbers);
	free(r->tool_version);
	free(r->kernel);
	free(r->machine);
	free(r->host);
	free(r->body);
	free(r);
}

const struct recording_info *recording_reader_info(const struct recording_reader *r)
{
	return &r->info;
}

/* ---- chunks ------------------------------------------------------------------------------- */

/* What a window has counted belongs to the drill that follows. */
static int keep_window(struct recording_reader *r, struct snapshot **out)
{
	if (!(*out)->window)
		return 1;
	snapshot_free(r->window);
	r->window = TAKE_PTR(*out);
	return 0;
}

/* 1 and *out or *survey: the message completes a snapshot, or a report; 0: its end. */
static int read_message(struct recording_reader *r, struct snapshot **out,
			const struct survey_report **survey)
{
	const char *why = "a message of the chunk cannot be read";
	struct wire_field f;
	int got;

	while ((got = wire_next(&r->message, &f)) > 0) {
		int err;

		r->unfinished = true;
		/* Fields of later versions' making are passed over. */
		if (f.type != WIRE_BYTES)
			continue;
		if (f.field == CHUNK_SNAPSHOT)
			err = recording_take_snapshot(r, f.body, out, &why);
		else if (f.field == CHUNK_SURVEY)
			err = recording_take_survey(r, f.body, survey, &why);
		else
			err = recording_take_definition(r, &f, &why);
		if (err == -ENOMEM)
			return fail_memory(r);
		if (err < 0)
			return damaged(r, why);
		if (err > 0 && f.field == CHUNK_SNAPSHOT)
			err = keep_window(r, out);
		if (err > 0) {
			r->unfinished = false;
			r->snapshots++;
			return 1;
		}
	}
	return got < 0 ? damaged(r, why) : 0;
}

int recording_reader_next_any(struct recording_reader *r, struct snapshot **out,
			      const struct survey_report **survey)
{
	int got = r->failed;

	*survey = NULL;
	*out = NULL;
	/* After damage nothing can be trusted. */
	if (got)
		return got;
	do {
		got = read_message(r, out, survey);
		if (got)
			break;
		got = read_chunk(r);
		if (got <= 0)
			break;
	} while (true);
	if (got < 0)
		r->failed = got;
	return got;
}

int recording_reader_next(struct recording_reader *r, struct snapshot **out)
{
	const struct survey_report *survey;
	int got;

	do
		got = recording_reader_next_any(r, out, &survey);
	while (got > 0 && survey);
	return got;
}

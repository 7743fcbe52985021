// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_names.h"

#include <stdlib.h>

#include "user/base/util.h"
#include "user/recording/recording_format.h"

enum frame_field {
	FRAME_FUNCTION = 1,
	FRAME_MODULE = 2,
	FRAME_MODULE_PATH = 3,
	FRAME_FILE = 4,
	FRAME_LINE = 5,
	FRAME_INLINED = 6,
	FRAME_OFFSET = 7,
	FRAME_MODULE_OFFSET = 8,
	FRAME_BUILD_ID = 9,
	FRAME_SYMBOL = 10,
	FRAME_KIND = 11,
	FRAME_LINE_BEGINS = 12,
};

/* ---- writing ------------------------------------------------------------------------------ */

static void names_put_frame(struct recording_out *out, uint32_t number)
{
	const struct frame *frame = frame_table_frame_at(out->table, number);
	const struct frame_strings *strings = frame_table_strings_of(out->table, number);
	const struct {
		unsigned field;
		uint64_t value;
	} fields[] = {
		{FRAME_FUNCTION, strings->function},
		{FRAME_MODULE, strings->module},
		{FRAME_MODULE_PATH, strings->module_path},
		{FRAME_FILE, strings->file},
		{FRAME_LINE, frame->line},
		{FRAME_INLINED, frame->inlined},
		{FRAME_OFFSET, frame->offset},
		{FRAME_MODULE_OFFSET, frame->module_offset},
		{FRAME_BUILD_ID, strings->build_id},
		{FRAME_SYMBOL, strings->symbol},
		{FRAME_KIND, frame->kind},
		{FRAME_LINE_BEGINS, frame->line_begins},
	};
	struct wire *to = &out->chunk.body;
	size_t mark = wire_open(to, MESSAGE_FRAME);

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (fields[i].value)
			wire_uint(to, fields[i].field, fields[i].value);
	}
	wire_close(to, mark);
}

static void names_put_stack(struct recording_out *out, uint32_t number)
{
	struct wire *to = &out->chunk.body;
	size_t count, mark = wire_open(to, MESSAGE_STACK);
	const uint32_t *ids = frame_table_stack_ids(out->table, number, &count);

	for (size_t i = 0; i < count; i++)
		wire_varint(to, ids[i]);
	wire_close(to, mark);
}

int recording_put_names(struct recording_out *out)
{
	int err = 0;

	while (!err && out->strings < frame_table_string_count(out->table)) {
		size_t len;
		const char *text =
			frame_table_string_at(out->table, (uint32_t)++out->strings, &len);

		wire_bytes(&out->chunk.body, MESSAGE_STRING, text, len);
		err = chunk_flush_if_large(&out->chunk);
	}
	while (!err && out->frames < frame_table_frame_count(out->table)) {
		names_put_frame(out, (uint32_t)++out->frames);
		err = chunk_flush_if_large(&out->chunk);
	}
	while (!err && out->stacks < frame_table_stack_count(out->table)) {
		names_put_stack(out, (uint32_t)++out->stacks);
		err = chunk_flush_if_large(&out->chunk);
	}
	return err;
}

/* ---- reading ------------------------------------------------------------------------------ */

static int id_list_add(struct id_list *list, uint32_t id)
{
	if (!RESERVE_ITEM(list->ids, list->count, list->room, 256))
		return -ENOMEM;
	list->ids[list->count++] = id;
	return 0;
}

/* The table's number for the file's, 0 for 0. False: the file has not defined it. */
static bool id_list_get(const struct id_list *list, uint64_t number, uint32_t *id)
{
	*id = 0;
	if (number > list->count)
		return false;
	if (number)
		*id = list->ids[number - 1];
	return true;
}

void recording_in_free(struct recording_in *in)
{
	recording_header_free(&in->header);
	free(in->strings.ids);
	free(in->frames.ids);
	free(in->stacks.ids);
	frame_table_free(in->table);
}

bool recording_string(const struct recording_in *in, uint64_t number, const char **text,
		      size_t *len)
{
	uint32_t id;

	if (!id_list_get(&in->strings, number, &id))
		return false;
	*text = frame_table_string_at(in->table, id, len);
	return true;
}

int recording_take_text(struct recording_in *in, const struct wire_field *f, const char **text,
			size_t *len)
{
	if (f->type != WIRE_VARINT || !recording_string(in, f->number, text, len))
		return recording_refuse(in, "a string that is not there");
	return 0;
}

bool recording_stack(const struct recording_in *in, uint64_t number, uint32_t *stack)
{
	return id_list_get(&in->stacks, number, stack);
}

int recording_take_string(struct recording_in *in, struct wire_reader body)
{
	uint32_t id;
	int err = frame_table_bytes(in->table, body.at, wire_left(&body), &id);

	return err ? err : id_list_add(&in->strings, id);
}

static int names_take_frame_field(struct recording_in *in, const struct wire_field *f,
				  struct frame *frame)
{
	switch (f->field) {
	case FRAME_FUNCTION:
		return recording_take_text(in, f, &frame->function, NULL);
	case FRAME_SYMBOL:
		return recording_take_text(in, f, &frame->symbol, NULL);
	case FRAME_MODULE:
		return recording_take_text(in, f, &frame->module, NULL);
	case FRAME_MODULE_PATH:
		return recording_take_text(in, f, &frame->module_path, NULL);
	case FRAME_FILE:
		return recording_take_text(in, f, &frame->file, NULL);
	case FRAME_BUILD_ID:
		return recording_take_text(in, f, (const char **)&frame->build_id,
					   &frame->build_id_len);
	case FRAME_LINE:
		frame->line = (uint32_t)f->number;
		return 0;
	case FRAME_INLINED:
		frame->inlined = f->number != 0;
		return 0;
	case FRAME_LINE_BEGINS:
		frame->line_begins = f->number != 0;
		return 0;
	case FRAME_OFFSET:
		frame->offset = f->number;
		return 0;
	case FRAME_MODULE_OFFSET:
		frame->module_offset = f->number;
		return 0;
	case FRAME_KIND:
		/* A later version may know more kinds. */
		frame->kind = f->number < FRAME_KINDS ? (enum frame_kind)f->number : FRAME_KIND_JIT;
		return 0;
	default:
		return 0;
	}
}

int recording_take_frame(struct recording_in *in, struct wire_reader message)
{
	struct frame frame = {0};
	struct wire_field f;
	uint32_t id;
	int got, err = 0;

	while (!err && (got = wire_next(&message, &f)) > 0)
		err = names_take_frame_field(in, &f, &frame);
	if (err)
		return err;
	if (got < 0)
		return recording_refuse(in, "a frame cannot be read");
	err = frame_table_frame(in->table, &frame, &id);
	return err ? err : id_list_add(&in->frames, id);
}

int recording_take_stack(struct recording_in *in, struct wire_reader body)
{
	/* Every number has a byte at least. */
	size_t room = wire_left(&body), count = 0;
	_cleanup_free_ uint32_t *ids = calloc(room ? room : 1, sizeof(*ids));
	uint32_t id;
	int err;

	if (!ids)
		return -ENOMEM;
	while (wire_left(&body)) {
		uint64_t number;

		if (wire_read_varint(&body, &number) || !number ||
		    !id_list_get(&in->frames, number, &ids[count]))
			return recording_refuse(in, "a stack of frames that are not there");
		count++;
	}
	err = frame_table_stack_of(in->table, ids, count, &id);
	return err ? err : id_list_add(&in->stacks, id);
}

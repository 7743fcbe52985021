// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_names.h"

#include <stdlib.h>

#include "user/base/util.h"
#include "user/recording/recording_format.h"

const struct field recording_frame_fields[] = {
	FIELD_STRING(1, struct frame, function),
	FIELD_STRING(2, struct frame, module),
	FIELD_STRING(3, struct frame, module_path),
	FIELD_STRING(4, struct frame, file),
	FIELD_SMALL_IF_ANY(5, struct frame, line),
	FIELD_SMALL_IF_ANY(6, struct frame, inlined),
	FIELD_IF_ANY(7, struct frame, offset),
	FIELD_IF_ANY(8, struct frame, module_offset),
	FIELD_STRING_BYTES(9, struct frame, build_id, build_id_len),
	FIELD_STRING(10, struct frame, symbol),
	FIELD_SMALL_IF_ANY(11, struct frame, kind),
	FIELD_SMALL_IF_ANY(12, struct frame, line_begins),
	{0},
};

/* ---- writing ------------------------------------------------------------------------------ */

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
		err = fields_put_part(out, MESSAGE_FRAME, recording_frame_fields,
				      frame_table_frame_at(out->table, (uint32_t)++out->frames));
		err = err ? err : chunk_flush_if_large(&out->chunk);
	}
	while (!err && out->stacks < frame_table_stack_count(out->table)) {
		names_put_stack(out, (uint32_t)++out->stacks);
		err = chunk_flush_if_large(&out->chunk);
	}
	return err;
}

int recording_put_message(struct recording_out *out, unsigned message, const struct field *table,
			  const void *from)
{
	int err = fields_name(out, table, from);

	err = err ? err : recording_put_names(out);
	err = err ? err : fields_put_part(out, message, table, from);
	return err ? err : chunk_flush_if_large(&out->chunk);
}

/* ---- reading ------------------------------------------------------------------------------ */

static int id_list_add(struct id_list *list, uint32_t id)
{
	if (!RESERVE_ITEM(list->ids, list->count, list->room, 256))
		return -ENOMEM;
	list->ids[list->count++] = id;
	return 0;
}

void recording_in_free(struct recording_in *in)
{
	recording_header_free(&in->header);
	free(in->strings.ids);
	free(in->frames.ids);
	free(in->stacks.ids);
	frame_table_free(in->table);
}

int recording_take_string(struct recording_in *in, struct wire_reader body)
{
	uint32_t id;
	int err = frame_table_bytes(in->table, body.at, wire_left(&body), &id);

	return err ? err : id_list_add(&in->strings, id);
}

int recording_take_frame(struct recording_in *in, struct wire_reader message)
{
	struct frame frame = {0};
	uint32_t id;
	int err =
		fields_take(in, recording_frame_fields, message, &frame, "a frame cannot be read");

	if (err)
		return err;
	/* A later version may know more kinds. */
	if ((unsigned)frame.kind >= FRAME_KINDS)
		frame.kind = FRAME_KIND_JIT;
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

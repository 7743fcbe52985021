// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/text.h"
#include "user/base/util.h"

#define MAX_ROWS (1u << 24) /* of one target: --max-stacks' largest */

static int id_list_add(struct id_list *list, uint32_t id)
{
	if (!RESERVE_ITEM(list->ids, list->count, list->room, 256))
		return -ENOMEM;
	list->ids[list->count++] = id;
	return 0;
}

void id_list_free(struct id_list *list)
{
	free(list->ids);
	*list = (struct id_list){0};
}

/* The table's number for the file's. False: the file has not defined it. */
static bool id_list_get(const struct id_list *list, uint64_t number, uint32_t *id)
{
	if (!number || number > list->count)
		return false;
	*id = list->ids[number - 1];
	return true;
}

void recording_target_release(struct recorded_target *target)
{
	text_list_free(target->cmdline);
	free(target->maps);
	free(target->rows);
	target->cmdline = NULL;
	target->maps = NULL;
	target->rows = NULL;
	target->row_count = target->row_room = 0;
	recorded_notes_free(&target->notes);
	recorded_bad_frees_free(&target->bad_frees);
}

/* ---- strings, frames, stacks -------------------------------------------------------------- */

static int take_string(struct recording_reader *r, const struct wire_reader *body)
{
	uint32_t id;
	int err = frame_table_bytes(r->table, body->at, wire_left(body), &id);

	return err ? err : id_list_add(&r->strings, id);
}

/* 0 is "none". */
static int text_of(const struct recording_reader *r, const struct wire_field *f, const char **text,
		   size_t *len, const char **why)
{
	uint32_t id = 0;

	if (f->type != WIRE_VARINT || (f->number && !id_list_get(&r->strings, f->number, &id)))
		return recording_refuse(why, "a string that is not there");
	*text = frame_table_string_at(r->table, id, len);
	return 0;
}

bool recording_string(const struct recording_reader *r, uint64_t number, const char **text)
{
	uint32_t id = 0;

	if (number && !id_list_get(&r->strings, number, &id))
		return false;
	*text = frame_table_string_at(r->table, id, NULL);
	return true;
}

static int take_frame(struct recording_reader *r, struct wire_reader message, const char **why)
{
	struct frame frame = {0};
	struct wire_field f;
	uint32_t id;
	int got, err = 0;

	while (!err && (got = wire_next(&message, &f)) > 0) {
		switch (f.field) {
		case FRAME_FUNCTION:
			err = text_of(r, &f, &frame.function, NULL, why);
			break;
		case FRAME_SYMBOL:
			err = text_of(r, &f, &frame.symbol, NULL, why);
			break;
		case FRAME_MODULE:
			err = text_of(r, &f, &frame.module, NULL, why);
			break;
		case FRAME_MODULE_PATH:
			err = text_of(r, &f, &frame.module_path, NULL, why);
			break;
		case FRAME_FILE:
			err = text_of(r, &f, &frame.file, NULL, why);
			break;
		case FRAME_BUILD_ID:
			err = text_of(r, &f, (const char **)&frame.build_id, &frame.build_id_len,
				      why);
			break;
		case FRAME_LINE:
			frame.line = (uint32_t)f.number;
			break;
		case FRAME_INLINED:
			frame.inlined = f.number != 0;
			break;
		case FRAME_OFFSET:
			frame.offset = f.number;
			break;
		case FRAME_MODULE_OFFSET:
			frame.module_offset = f.number;
			break;
		default:
			break;
		}
	}
	if (err)
		return err;
	if (got < 0)
		return recording_refuse(why, "a frame cannot be read");
	err = frame_table_frame(r->table, &frame, &id);
	return err ? err : id_list_add(&r->frames, id);
}

static int take_stack(struct recording_reader *r, struct wire_reader body, const char **why)
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

		if (wire_read_varint(&body, &number) ||
		    !id_list_get(&r->frames, number, &ids[count]))
			return recording_refuse(why, "a stack of frames that are not there");
		count++;
	}
	err = frame_table_stack_of(r->table, ids, count, &id);
	return err ? err : id_list_add(&r->stacks, id);
}

/* ---- targets and their rows --------------------------------------------------------------- */

struct recorded_target *recording_find_target(const struct recording_reader *r, uint64_t id)
{
	uint32_t place;

	return id_map_get(&r->target_numbers, id, &place) ? &r->targets[place] : NULL;
}

static int add_target(struct recording_reader *r, uint32_t id, struct recorded_target **out)
{
	struct recorded_target *grown =
		reallocarray(r->targets, r->target_count + 1, sizeof(*grown));
	int err;

	if (!grown)
		return -ENOMEM;
	r->targets = grown;
	err = id_map_put(&r->target_numbers, id, (uint32_t)r->target_count);
	if (err)
		return err;
	*out = &grown[r->target_count++];
	**out = (struct recorded_target){.id = id};
	return 0;
}

static int add_argument(char ***cmdline, size_t *count, const struct wire_reader *body)
{
	char **grown = reallocarray(*cmdline, *count + 2, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	*cmdline = grown;
	grown[*count] = strndup((const char *)body->at, wire_left(body));
	if (!grown[*count])
		return -ENOMEM;
	grown[++*count] = NULL;
	return 0;
}

static int take_target(struct recording_reader *r, struct wire_reader message, const char **why)
{
	struct recorded_target *t = NULL;
	size_t arguments = 0;
	struct wire_field f;
	int got, err = 0;

	while (!err && (got = wire_next(&message, &f)) > 0) {
		if (f.field == TARGET_ID && f.type == WIRE_VARINT && !t) {
			if (f.number > UINT32_MAX)
				return recording_refuse(why, "a target's number is impossible");
			t = recording_find_target(r, f.number);
			if (!t)
				err = add_target(r, (uint32_t)f.number, &t);
			if (!err) {
				text_list_free(t->cmdline);
				t->cmdline = NULL;
			}
			continue;
		}
		if (!t)
			return recording_refuse(why, "a target without a number");
		if (f.field == TARGET_PID && f.number <= INT32_MAX) {
			t->pid = (pid_t)f.number;
		} else if (f.field == TARGET_COMM && f.type == WIRE_BYTES &&
			   wire_left(&f.body) <= sizeof(t->comm)) {
			memset(t->comm, 0, sizeof(t->comm));
			if (wire_left(&f.body))
				memcpy(t->comm, f.body.at, wire_left(&f.body));
		} else if (f.field == TARGET_ARGUMENT && f.type == WIRE_BYTES) {
			err = add_argument(&t->cmdline, &arguments, &f.body);
		}
	}
	return err ? err : got < 0 ? recording_refuse(why, "a target cannot be read") : 0;
}

static int append_row(struct recorded_target *t)
{
	if (!RESERVE_ITEM(t->rows, t->row_count, t->row_room, 64))
		return -ENOMEM;
	t->rows[t->row_count++] = (struct recorded_row){0};
	return 0;
}

bool recording_stack(const struct recording_reader *r, uint64_t number, uint32_t *stack)
{
	*stack = 0;
	return !number || id_list_get(&r->stacks, number, stack);
}

enum stack_end recording_stack_end(const struct recording_reader *r, uint64_t number)
{
	if (number < r->ends.count && r->ends.numbers[number] >= 0)
		return (enum stack_end)r->ends.numbers[number];
	return STACK_END_UNSUPPORTED;
}

static int take_row(struct recording_reader *r, struct wire_reader message, const char **why)
{
	uint64_t fields[ROW_TRUNCATED + 1] = {0};
	struct recorded_target *t;
	struct recorded_row *row;
	struct wire_field f;
	uint32_t stack = 0;
	int got, err;

	while ((got = wire_next(&message, &f)) > 0) {
		if (f.field < ARRAY_SIZE(fields) && f.type != WIRE_BYTES)
			fields[f.field] = f.number;
	}
	t = recording_find_target(r, fields[ROW_TARGET]);
	if (got < 0 || !t)
		return recording_refuse(why, "a row of a target that is not there");
	if (fields[ROW_NUMBER] > t->row_count || fields[ROW_NUMBER] >= MAX_ROWS)
		return recording_refuse(why, "a row's number is impossible");
	if (!recording_stack(r, fields[ROW_STACK], &stack))
		return recording_refuse(why, "a row of a stack that is not there");
	if (fields[ROW_NUMBER] == t->row_count) {
		err = append_row(t);
		if (err)
			return err;
	}
	row = &t->rows[fields[ROW_NUMBER]];
	row->stack_id = fields[ROW_STACK_ID];
	row->stack = stack;
	row->truncated = fields[ROW_TRUNCATED] != 0;
	row->end = recording_stack_end(r, fields[ROW_END]);
	return 0;
}

static int read_changes(struct wire_reader *body, struct recorded_row *row, const char **why)
{
	uint64_t now[VALUES], mask;
	double error_bytes;

	if (wire_read_varint(body, &mask))
		return recording_refuse(why, "values cannot be read");
	for (int i = 0; i < VALUES; i++) {
		int64_t change = 0;

		if (mask & 1u << i && wire_read_zigzag(body, &change))
			return recording_refuse(why, "values cannot be read");
		now[i] = expected_value((enum value)i, row->values, now) + (uint64_t)change;
	}
	memcpy(row->values, now, sizeof(now));
	memcpy(&error_bytes, &now[VALUE_ERROR], sizeof(error_bytes));
	return error_bytes >= 0 ? 0 : recording_refuse(why, "a standard error is impossible");
}

static int take_values(struct recording_reader *r, struct wire_reader message, const char **why)
{
	struct recorded_target *t = NULL;
	struct wire_field f;
	int got;

	while ((got = wire_next(&message, &f)) > 0) {
		uint64_t next = 0, gap;

		if (f.field == VALUES_TARGET && f.type == WIRE_VARINT)
			t = recording_find_target(r, f.number);
		if (f.field != VALUES_ROWS || f.type != WIRE_BYTES)
			continue;
		if (!t)
			return recording_refuse(why, "values of a target that is not there");
		while (wire_left(&f.body)) {
			int err;

			if (wire_read_varint(&f.body, &gap) || gap >= t->row_count ||
			    next + gap >= t->row_count)
				return recording_refuse(why, "values of a row that is not there");
			next += gap;
			err = read_changes(&f.body, &t->rows[next++], why);
			if (err)
				return err;
		}
	}
	return got < 0 ? recording_refuse(why, "values cannot be read") : 0;
}

static int take_map(const struct recording_reader *r, struct wire_reader message,
		    struct module_map *map, const char **why)
{
	struct wire_field f;
	int got, err = 0;

	*map = (struct module_map){0};
	while (!err && (got = wire_next(&message, &f)) > 0) {
		switch (f.field) {
		case MAP_START:
			map->start = f.number;
			break;
		case MAP_END:
			map->end = f.number;
			break;
		case MAP_OFFSET:
			map->offset = f.number;
			break;
		case MAP_VADDR:
			map->vaddr = f.number;
			break;
		case MAP_PATH:
			err = text_of(r, &f, &map->path, NULL, why);
			break;
		case MAP_BUILD_ID:
			err = text_of(r, &f, (const char **)&map->build_id, &map->build_id_len,
				      why);
			break;
		default:
			break;
		}
	}
	if (err)
		return err;
	return got < 0 || !map->path || map->end <= map->start
		       ? recording_refuse(why, "a mapping is impossible")
		       : 0;
}

static int take_maps(struct recording_reader *r, struct wire_reader message, const char **why)
{
	_cleanup_free_ struct module_map *items = NULL;
	struct recorded_target *t = NULL;
	struct module_maps *maps;
	size_t count = 0;
	struct wire_field f;
	int got;

	while ((got = wire_next(&message, &f)) > 0) {
		struct module_map *grown;
		int err;

		if (f.field == MAPS_TARGET && f.type == WIRE_VARINT)
			t = recording_find_target(r, f.number);
		if (f.field != MAPS_MAP || f.type != WIRE_BYTES)
			continue;
		grown = reallocarray(items, count + 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		items = grown;
		err = take_map(r, f.body, &items[count], why);
		if (err)
			return err;
		count++;
	}
	if (got < 0 || !t)
		return recording_refuse(why, "mappings of a target that is not there");
	maps = module_maps_new(items, count);
	if (!maps)
		return -ENOMEM;
	free(t->maps);
	t->maps = maps;
	return 0;
}

int recording_take_definition(struct recording_reader *r, const struct wire_field *f,
			      const char **why)
{
	switch (f->field) {
	case CHUNK_STRING:
		return take_string(r, &f->body);
	case CHUNK_FRAME:
		return take_frame(r, f->body, why);
	case CHUNK_STACK:
		return take_stack(r, f->body, why);
	case CHUNK_TARGET:
		return take_target(r, f->body, why);
	case CHUNK_ROW:
		return take_row(r, f->body, why);
	case CHUNK_VALUES:
		return take_values(r, f->body, why);
	case CHUNK_MAPS:
		return take_maps(r, f->body, why);
	case CHUNK_PROCESS:
		return recording_take_process(r, f->body, why);
	case CHUNK_SURVEY_ROWS:
		return recording_take_survey_rows(r, f->body, why);
	case CHUNK_BAD_FREE:
		return recording_take_bad_free(r, f->body, why);
	case CHUNK_DRILL:
		return recording_take_drill(r, f->body, why);
	default:
		return 0;
	}
}

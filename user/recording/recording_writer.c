// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdbool.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#include <zlib.h>

#include "user/base/util.h"
#include "user/recording/recording_writer.h"

#define FLUSH_BYTES  (1u << 20) /* definitions beyond this begin a chunk of their own */
#define ROWS_AT_ONCE 8192

static void put_le32(uint8_t *to, uint32_t value)
{
	for (size_t i = 0; i < 4; i++)
		to[i] = (uint8_t)(value >> 8 * i);
}

/* A partial chunk would be read as damage, or hide what a later run appended. */
static void cut_back(FILE *out, off_t to)
{
	int fd = fileno(out);

	/* What is buffered must not come out later, at the old place. */
	__fpurge(out);
	if (to >= 0 && fd >= 0 && ftruncate(fd, to))
		return; /* the reader copes: it is the last chunk */
}

int recording_flush(struct recording_writer *w)
{
	uint8_t prefix[CHUNK_PREFIX_SIZE];
	off_t start = ftello(w->out);

	if (w->error || !w->chunk.len)
		return w->error;
	if (w->chunk.failed || w->chunk.len > CHUNK_MAX)
		return w->error = w->chunk.failed ? -ENOMEM : -EFBIG;
	put_le32(prefix, (uint32_t)w->chunk.len);
	put_le32(prefix + 4, (uint32_t)crc32(0, w->chunk.data, (uInt)w->chunk.len));
	errno = 0;
	if (fwrite(prefix, sizeof(prefix), 1, w->out) != 1 ||
	    fwrite(w->chunk.data, w->chunk.len, 1, w->out) != 1 || fflush(w->out)) {
		w->error = errno ? -errno : -EIO;
		cut_back(w->out, start);
	}
	wire_reset(&w->chunk);
	return w->error;
}

static int flush_if_large(struct recording_writer *w)
{
	return w->chunk.len > FLUSH_BYTES ? recording_flush(w) : 0;
}

static void put_header(struct recording_writer *w, const struct recording_info *info)
{
	size_t mark = wire_open(&w->chunk, CHUNK_HEADER);
	const struct {
		unsigned field;
		const char *text;
	} texts[] = {
		{HEADER_TOOL_VERSION, info->tool_version},
		{HEADER_KERNEL, info->kernel},
		{HEADER_MACHINE, info->machine},
		{HEADER_HOST, info->host},
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (texts[i].text)
			wire_string(&w->chunk, texts[i].field, texts[i].text);
	}
	if (info->older_ns)
		wire_uint(&w->chunk, HEADER_OLDER_NS, info->older_ns);
	/* By name: another version may number them otherwise. */
	for (int i = 0; i < LOST_CAUSES; i++)
		wire_string(&w->chunk, HEADER_LOST_CAUSE, lost_cause_name((enum lost_cause)i));
	for (int i = 0; i < STACK_ENDS; i++)
		wire_string(&w->chunk, HEADER_STACK_END, stack_end_name((enum stack_end)i));
	wire_close(&w->chunk, mark);
}

int recording_writer_new(FILE *out, const struct recording_info *info,
			 struct recording_writer **writer)
{
	uint8_t prefix[RECORDING_PREFIX_SIZE] = RECORDING_MAGIC;
	struct recording_writer *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->out = out;
	w->table = frame_table_new();
	if (!w->table) {
		free(w);
		return -ENOMEM;
	}
	put_le32(prefix + RECORDING_MAGIC_SIZE, RECORDING_VERSION);
	errno = 0;
	if (fwrite(prefix, sizeof(prefix), 1, out) != 1)
		w->error = errno ? -errno : -EIO;
	put_header(w, info);
	err = recording_flush(w);
	if (err) {
		recording_writer_free(w);
		return err;
	}
	*writer = w;
	return 0;
}

static void target_free(struct target_state *t)
{
	free(t->maps);
	free(t->rows);
	id_map_free(&t->numbers);
	recorded_notes_free(&t->notes);
	recorded_bad_frees_free(&t->bad_frees);
	free(t);
}

void recording_writer_free(struct recording_writer *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->target_count; i++)
		target_free(w->targets[i]);
	free(w->targets);
	recorded_survey_free(w->survey);
	frame_table_free(w->table);
	wire_free(&w->chunk);
	free(w);
}

/* ---- definitions -------------------------------------------------------------------------- */

static void put_frame(struct recording_writer *w, uint32_t number)
{
	const struct frame *frame = frame_table_frame_at(w->table, number);
	const struct frame_strings *strings = frame_table_strings_of(w->table, number);
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
	};
	size_t mark = wire_open(&w->chunk, CHUNK_FRAME);

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (fields[i].value)
			wire_uint(&w->chunk, fields[i].field, fields[i].value);
	}
	wire_close(&w->chunk, mark);
}

/* What has come into the table since the last time. */
int recording_put_definitions(struct recording_writer *w)
{
	int err = 0;

	while (!err && w->strings_written < frame_table_string_count(w->table)) {
		size_t len;
		const char *text =
			frame_table_string_at(w->table, (uint32_t)++w->strings_written, &len);

		wire_bytes(&w->chunk, CHUNK_STRING, text, len);
		err = flush_if_large(w);
	}
	while (!err && w->frames_written < frame_table_frame_count(w->table)) {
		put_frame(w, (uint32_t)++w->frames_written);
		err = flush_if_large(w);
	}
	while (!err && w->stacks_written < frame_table_stack_count(w->table)) {
		size_t count, mark = wire_open(&w->chunk, CHUNK_STACK);
		const uint32_t *ids =
			frame_table_stack_ids(w->table, (uint32_t)++w->stacks_written, &count);

		for (size_t i = 0; i < count; i++)
			wire_varint(&w->chunk, ids[i]);
		wire_close(&w->chunk, mark);
		err = flush_if_large(w);
	}
	return err;
}

static void put_target(struct recording_writer *w, struct target_state *t, const struct snapshot *s)
{
	size_t mark;

	/* A thread may rename its process. */
	if (t->described && !memcmp(t->comm, s->comm, sizeof(t->comm)))
		return;
	memcpy(t->comm, s->comm, sizeof(t->comm));
	t->described = true;
	mark = wire_open(&w->chunk, CHUNK_TARGET);
	wire_uint(&w->chunk, TARGET_ID, t->id);
	wire_uint(&w->chunk, TARGET_PID, (uint64_t)s->pid);
	wire_bytes(&w->chunk, TARGET_COMM, s->comm, strnlen(s->comm, sizeof(s->comm)));
	for (char *const *arg = s->cmdline; arg && *arg; arg++)
		wire_string(&w->chunk, TARGET_ARGUMENT, *arg);
	wire_close(&w->chunk, mark);
}

static bool same_maps(const struct module_maps *a, const struct module_maps *b)
{
	if (!a || a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		const struct module_map *x = &a->items[i], *y = &b->items[i];

		if (x->start != y->start || x->end != y->end || x->offset != y->offset ||
		    x->vaddr != y->vaddr || strcmp(x->path, y->path) ||
		    x->build_id_len != y->build_id_len ||
		    (x->build_id && memcmp(x->build_id, y->build_id, x->build_id_len)))
			return false;
	}
	return true;
}

static int put_maps(struct recording_writer *w, struct target_state *t, const struct snapshot *s)
{
	size_t mark;
	int err = 0;

	if (!s->maps || same_maps(t->maps, s->maps))
		return 0;
	free(t->maps);
	t->maps = module_maps_new(s->maps->items, s->maps->count);
	if (!t->maps)
		return -ENOMEM;
	/* Their strings have to stand before them. */
	for (size_t i = 0; !err && i < t->maps->count; i++) {
		const struct module_map *map = &t->maps->items[i];
		uint32_t id;

		err = frame_table_string(w->table, map->path, &id);
		if (!err && map->build_id)
			err = frame_table_bytes(w->table, map->build_id, map->build_id_len, &id);
	}
	err = err ? err : recording_put_definitions(w);
	if (err)
		return err;
	mark = wire_open(&w->chunk, CHUNK_MAPS);
	wire_uint(&w->chunk, MAPS_TARGET, t->id);
	for (size_t i = 0; i < t->maps->count; i++) {
		const struct module_map *map = &t->maps->items[i];
		size_t one = wire_open(&w->chunk, MAPS_MAP);
		uint32_t path = 0, build_id = 0;

		frame_table_string(w->table, map->path, &path);
		wire_uint(&w->chunk, MAP_START, map->start);
		wire_uint(&w->chunk, MAP_END, map->end);
		wire_uint(&w->chunk, MAP_OFFSET, map->offset);
		wire_uint(&w->chunk, MAP_VADDR, map->vaddr);
		wire_uint(&w->chunk, MAP_PATH, path);
		if (map->build_id &&
		    !frame_table_bytes(w->table, map->build_id, map->build_id_len, &build_id))
			wire_uint(&w->chunk, MAP_BUILD_ID, build_id);
		wire_close(&w->chunk, one);
	}
	wire_close(&w->chunk, mark);
	return 0;
}

/* ---- rows --------------------------------------------------------------------------------- */

static void values_of(const struct snapshot *s, const struct stack *stack, uint64_t values[VALUES])
{
	values[VALUE_ALLOC_BYTES] = stack->alloc.bytes;
	values[VALUE_ALLOC_COUNT] = stack->alloc.count;
	values[VALUE_FREE_BYTES] = stack->free.bytes;
	values[VALUE_FREE_COUNT] = stack->free.count;
	values[VALUE_LIVE_BYTES] = stack->live.bytes;
	values[VALUE_LIVE_COUNT] = stack->live.count;
	values[VALUE_OLDER_BYTES] = stack->older.bytes;
	values[VALUE_OLDER_COUNT] = stack->older.count;
	/* When it was made does not change, as its age does. */
	values[VALUE_OLDEST] = 0;
	if (stack->oldest_ns)
		values[VALUE_OLDEST] =
			1 +
			(s->elapsed_ns > stack->oldest_ns ? s->elapsed_ns - stack->oldest_ns : 0);
	memcpy(&values[VALUE_ERROR], &stack->error_bytes, sizeof(values[VALUE_ERROR]));
}

static int add_row(struct target_state *t, uint64_t stack_id, uint32_t *number)
{
	int err;

	if (!RESERVE_ITEM(t->rows, t->row_count, t->row_room, 64))
		return -ENOMEM;
	*number = (uint32_t)t->row_count;
	err = id_map_put(&t->numbers, stack_id, *number);
	if (!err)
		t->rows[t->row_count++] = (struct row){0};
	return err;
}

static void put_row(struct recording_writer *w, const struct target_state *t, uint32_t number,
		    const struct stack *stack)
{
	size_t mark = wire_open(&w->chunk, CHUNK_ROW);

	wire_uint(&w->chunk, ROW_TARGET, t->id);
	wire_uint(&w->chunk, ROW_NUMBER, number);
	wire_fixed64(&w->chunk, ROW_STACK_ID, stack->id);
	wire_uint(&w->chunk, ROW_STACK, t->rows[number].stack);
	wire_uint(&w->chunk, ROW_END, stack->end);
	wire_uint(&w->chunk, ROW_TRUNCATED, stack->truncated);
	wire_close(&w->chunk, mark);
}

/*
 * Describes the rows of stacks that are new, or whose frames have come only now. *numbers: the row
 * of each stack.
 */
static int put_rows(struct recording_writer *w, struct target_state *t, const struct snapshot *s,
		    uint32_t *numbers)
{
	for (size_t i = 0; i < s->stack_count; i++) {
		const struct stack *stack = &s->stacks[i];
		bool known = id_map_get(&t->numbers, stack->id, &numbers[i]);
		uint32_t frames = 0;
		int err = known ? 0 : add_row(t, stack->id, &numbers[i]);

		if (!err && known &&
		    (t->rows[numbers[i]].stack || !stack->frames || !stack->frame_count))
			continue;
		if (!err && stack->frames && stack->frame_count)
			err = frame_table_stack(w->table, stack->frames, stack->frame_count,
						&frames);
		err = err ? err : recording_put_definitions(w);
		if (err)
			return err;
		t->rows[numbers[i]].stack = frames;
		put_row(w, t, numbers[i], stack);
		err = flush_if_large(w);
		if (err)
			return err;
	}
	return 0;
}

/*
 * One row's changes: which values are not what was expected, and by how much; adds nothing when
 * there are none.
 */
static void put_changes(struct wire *out, struct row *row, uint32_t gap, const uint64_t now[VALUES],
			bool *changed)
{
	uint64_t expected[VALUES], mask = 0;

	*changed = memcmp(row->values, now, sizeof(row->values)) != 0;
	if (!*changed)
		return;
	for (int i = 0; i < VALUES; i++) {
		expected[i] = expected_value((enum value)i, row->values, now);
		mask |= (uint64_t)(expected[i] != now[i]) << i;
	}
	wire_varint(out, gap);
	wire_varint(out, mask);
	for (int i = 0; i < VALUES; i++) {
		if (mask & 1u << i)
			wire_zigzag(out, (int64_t)(now[i] - expected[i]));
	}
	memcpy(row->values, now, sizeof(row->values));
}

struct numbered {
	uint32_t row;
	const struct stack *stack;
};

static int compare_rows(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	return x->row < y->row ? -1 : x->row > y->row;
}

static int put_values(struct recording_writer *w, struct target_state *t, const struct snapshot *s,
		      const uint32_t *numbers)
{
	_cleanup_free_ struct numbered *order =
		calloc(s->stack_count ? s->stack_count : 1, sizeof(*order));
	int err = order ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < s->stack_count; i++)
		order[i] = (struct numbered){numbers[i], &s->stacks[i]};
	if (!err)
		qsort(order, s->stack_count, sizeof(*order), compare_rows);
	for (size_t i = 0; !err && i < s->stack_count;) {
		size_t end = s->stack_count - i > ROWS_AT_ONCE ? i + ROWS_AT_ONCE : s->stack_count;
		size_t mark = wire_open(&w->chunk, CHUNK_VALUES), list;
		uint32_t next = 0;

		wire_uint(&w->chunk, VALUES_TARGET, t->id);
		list = wire_open(&w->chunk, VALUES_ROWS);
		for (; i < end; i++) {
			uint64_t now[VALUES];
			bool changed;

			values_of(s, order[i].stack, now);
			put_changes(&w->chunk, &t->rows[order[i].row], order[i].row - next, now,
				    &changed);
			if (changed)
				next = order[i].row + 1;
		}
		wire_close(&w->chunk, list);
		wire_close(&w->chunk, mark);
		err = flush_if_large(w);
	}
	return err;
}

/* ---- snapshots ---------------------------------------------------------------------------- */

static void put_lost(struct recording_writer *w, unsigned field, const uint64_t lost[LOST_CAUSES])
{
	size_t list = wire_open(&w->chunk, field);

	for (int i = 0; i < LOST_CAUSES; i++)
		wire_varint(&w->chunk, lost[i]);
	wire_close(&w->chunk, list);
}

static int put_snapshot(struct recording_writer *w, struct target_state *t,
			const struct snapshot *s, const uint32_t *numbers)
{
	static const uint64_t none[LOST_CAUSES];
	size_t mark = wire_open(&w->chunk, CHUNK_SNAPSHOT);
	unsigned flags = (s->final ? FLAG_FINAL : 0) | (s->exited ? FLAG_EXITED : 0) |
			 (s->execed ? FLAG_EXECED : 0) | (s->children_late ? FLAG_LATE : 0) |
			 (s->window ? FLAG_WINDOW : 0) |
			 (s->frees_checked ? FLAG_FREES_CHECKED : 0);
	int err;

	wire_uint(&w->chunk, SNAPSHOT_TARGET, s->target_id);
	wire_uint(&w->chunk, SNAPSHOT_TIME_NS, s->time_ns);
	wire_uint(&w->chunk, SNAPSHOT_ELAPSED_NS, s->elapsed_ns);
	wire_uint(&w->chunk, SNAPSHOT_INTERVAL_NS, s->interval_ns);
	wire_uint(&w->chunk, SNAPSHOT_FLAGS, flags);
	wire_uint(&w->chunk, SNAPSHOT_SAMPLE_BYTES, s->sample_bytes);
	wire_uint(&w->chunk, SNAPSHOT_UNKNOWN_FREES, s->unknown_frees);
	put_lost(w, SNAPSHOT_LOST, s->lost);
	if (memcmp(s->lost_anywhere, none, sizeof(none)) != 0)
		put_lost(w, SNAPSHOT_LOST_ANYWHERE, s->lost_anywhere);
	if (s->memory.rss)
		wire_uint(&w->chunk, SNAPSHOT_RSS, s->memory.rss);
	if (s->memory.anon)
		wire_uint(&w->chunk, SNAPSHOT_ANON, s->memory.anon);
	if (s->memory.pss)
		wire_uint(&w->chunk, SNAPSHOT_PSS, s->memory.pss);
	err = recording_put_verdict(&w->chunk, SNAPSHOT_VERDICT, s, numbers, &t->notes);
	wire_close(&w->chunk, mark);
	return err;
}

static struct target_state *find_target(struct recording_writer *w, uint32_t id)
{
	struct target_state **grown;
	struct target_state *t;

	for (size_t i = 0; i < w->target_count; i++) {
		if (w->targets[i]->id == id)
			return w->targets[i];
	}
	grown = reallocarray(w->targets, w->target_count + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	w->targets = grown;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->id = id;
	grown[w->target_count++] = t;
	return t;
}

static void forget_target(struct recording_writer *w, const struct target_state *t)
{
	for (size_t i = 0; i < w->target_count; i++) {
		if (w->targets[i] != t)
			continue;
		target_free(w->targets[i]);
		w->targets[i] = w->targets[--w->target_count];
		return;
	}
}

int recording_writer_add(struct recording_writer *w, const struct snapshot *s)
{
	struct target_state *t = w->error ? NULL : find_target(w, s->target_id);
	_cleanup_free_ uint32_t *numbers =
		calloc(s->stack_count ? s->stack_count : 1, sizeof(*numbers));
	int err;

	if (w->error)
		return w->error;
	if (!t || !numbers)
		return w->error = -ENOMEM;
	put_target(w, t, s);
	err = put_maps(w, t, s);
	err = err ? err : put_rows(w, t, s, numbers);
	err = err ? err : put_values(w, t, s, numbers);
	err = err ? err : recording_put_bad_frees(w, t->id, &t->bad_frees, s);
	err = err ? err : put_snapshot(w, t, s, numbers);
	if (err)
		return w->error = err;
	if (s->exited || s->execed || s->window)
		forget_target(w, t);
	return recording_flush(w);
}

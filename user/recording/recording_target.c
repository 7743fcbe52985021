// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_target.h"

#include <stdlib.h>
#include <string.h>

#include "user/base/text.h"
#include "user/base/util.h"
#include "user/recording/recording_format.h"

enum target_field { TARGET_ID = 1, TARGET_PID = 2, TARGET_COMM = 3, TARGET_ARGUMENT = 4 };

enum maps_field { MAPS_TARGET = MESSAGE_FIELD_TARGET, MAPS_MAP = 2 };

enum map_field {
	MAP_START = 1,
	MAP_END = 2,
	MAP_OFFSET = 3,
	MAP_VADDR = 4,
	MAP_PATH = 5,
	MAP_BUILD_ID = 6,
};

static const struct wire_number map_numbers[] = {
	WIRE_NUMBER(MAP_START, struct module_map, start),
	WIRE_NUMBER(MAP_END, struct module_map, end),
	WIRE_NUMBER(MAP_OFFSET, struct module_map, offset),
	WIRE_NUMBER(MAP_VADDR, struct module_map, vaddr),
	{0},
};

/* ---- writing ------------------------------------------------------------------------------ */

struct written_target *written_target_get(struct written_targets *targets, uint32_t id)
{
	struct written_target **grown;
	struct written_target *t;

	for (size_t i = 0; i < targets->count; i++) {
		if (targets->items[i]->id == id)
			return targets->items[i];
	}
	grown = reallocarray(targets->items, targets->count + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	targets->items = grown;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->id = id;
	grown[targets->count++] = t;
	return t;
}

static void written_target_free(struct written_target *t)
{
	free(t->maps);
	written_rows_free(&t->rows);
	recorded_notes_free(&t->notes);
	for (int i = 0; i < MISUSE_FINDERS; i++)
		recorded_misuses_free(&t->misuses[i]);
	recorded_figures_free(&t->figures);
	scopes_list_release(&t->scopes);
	free(t);
}

void written_target_forget(struct written_targets *targets, const struct written_target *t)
{
	for (size_t i = 0; i < targets->count; i++) {
		if (targets->items[i] != t)
			continue;
		written_target_free(targets->items[i]);
		targets->items[i] = targets->items[--targets->count];
		return;
	}
}

void written_targets_free(struct written_targets *targets)
{
	for (size_t i = 0; i < targets->count; i++)
		written_target_free(targets->items[i]);
	free(targets->items);
}

void recording_put_target(struct recording_out *out, struct written_target *t,
			  const struct snapshot *s)
{
	struct wire *to = &out->chunk.body;
	size_t mark;

	/* A thread may rename its process. */
	if (t->described && !memcmp(t->comm, s->comm, sizeof(t->comm)))
		return;
	memcpy(t->comm, s->comm, sizeof(t->comm));
	t->described = true;
	mark = wire_open(to, MESSAGE_TARGET);
	wire_uint(to, TARGET_ID, t->id);
	wire_uint(to, TARGET_PID, (uint64_t)s->pid);
	wire_bytes(to, TARGET_COMM, s->comm, strnlen(s->comm, sizeof(s->comm)));
	for (char *const *arg = s->cmdline; arg && *arg; arg++)
		wire_string(to, TARGET_ARGUMENT, *arg);
	wire_close(to, mark);
}

static bool target_same_maps(const struct module_maps *a, const struct module_maps *b)
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

static void target_put_map(struct recording_out *out, const struct module_map *map)
{
	struct wire *to = &out->chunk.body;
	size_t mark = wire_open(to, MAPS_MAP);
	uint32_t path = 0, build_id = 0;

	wire_put_numbers(to, map_numbers, MAP_START, MAP_VADDR, map);
	frame_table_string(out->table, map->path, &path);
	wire_uint(to, MAP_PATH, path);
	if (map->build_id &&
	    !frame_table_bytes(out->table, map->build_id, map->build_id_len, &build_id))
		wire_uint(to, MAP_BUILD_ID, build_id);
	wire_close(to, mark);
}

int recording_put_maps(struct recording_out *out, struct written_target *t,
		       const struct snapshot *s)
{
	struct wire *to = &out->chunk.body;
	size_t mark;
	int err = 0;

	if (!s->maps || target_same_maps(t->maps, s->maps))
		return 0;
	free(t->maps);
	t->maps = module_maps_new(s->maps->items, s->maps->count);
	if (!t->maps)
		return -ENOMEM;
	/* Their strings have to stand before them. */
	for (size_t i = 0; !err && i < t->maps->count; i++) {
		const struct module_map *map = &t->maps->items[i];
		uint32_t id;

		err = frame_table_string(out->table, map->path, &id);
		if (!err && map->build_id)
			err = frame_table_bytes(out->table, map->build_id, map->build_id_len, &id);
	}
	err = err ? err : recording_put_names(out);
	if (err)
		return err;
	mark = wire_open(to, MESSAGE_MAPS);
	wire_uint(to, MAPS_TARGET, t->id);
	for (size_t i = 0; i < t->maps->count; i++)
		target_put_map(out, &t->maps->items[i]);
	wire_close(to, mark);
	return 0;
}

/* ---- reading ------------------------------------------------------------------------------ */

static struct read_target *read_target_find(const struct read_targets *targets, uint64_t id)
{
	uint32_t place;

	return id_map_get(&targets->numbers, id, &place) ? &targets->items[place] : NULL;
}

struct read_target *read_target_of(const struct read_targets *targets, struct wire_reader message)
{
	struct wire_field f;

	while (wire_next(&message, &f) > 0) {
		if (f.field == MESSAGE_FIELD_TARGET && f.type == WIRE_VARINT)
			return read_target_find(targets, f.number);
	}
	return NULL;
}

static int read_target_add(struct read_targets *targets, uint32_t id, struct read_target **out)
{
	struct read_target *grown =
		reallocarray(targets->items, targets->count + 1, sizeof(*grown));
	int err;

	if (!grown)
		return -ENOMEM;
	targets->items = grown;
	err = id_map_put(&targets->numbers, id, (uint32_t)targets->count);
	if (err)
		return err;
	*out = &grown[targets->count++];
	**out = (struct read_target){.id = id};
	return 0;
}

void read_target_release(struct read_target *t)
{
	text_list_free(t->cmdline);
	free(t->maps);
	free(t->rows.items);
	t->cmdline = NULL;
	t->maps = NULL;
	t->rows = (struct read_rows){0};
	recorded_notes_free(&t->notes);
	for (int i = 0; i < MISUSE_FINDERS; i++)
		recorded_misuses_free(&t->misuses[i]);
	recorded_figures_free(&t->figures);
	scopes_list_release(&t->scopes);
}

void read_targets_free(struct read_targets *targets)
{
	for (size_t i = 0; i < targets->count; i++)
		read_target_release(&targets->items[i]);
	free(targets->items);
	id_map_free(&targets->numbers);
}

static int target_add_argument(char ***cmdline, size_t *count, const struct wire_reader *body)
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

int recording_take_target(struct recording_in *in, struct read_targets *targets,
			  struct wire_reader message)
{
	struct read_target *t = NULL;
	size_t arguments = 0;
	struct wire_field f;
	int got, err = 0;

	while (!err && (got = wire_next(&message, &f)) > 0) {
		if (f.field == TARGET_ID && f.type == WIRE_VARINT && !t) {
			if (f.number > UINT32_MAX)
				return recording_refuse(in, "a target's number is impossible");
			t = read_target_find(targets, f.number);
			if (!t)
				err = read_target_add(targets, (uint32_t)f.number, &t);
			if (!err) {
				text_list_free(t->cmdline);
				t->cmdline = NULL;
			}
			continue;
		}
		if (!t)
			return recording_refuse(in, "a target without a number");
		if (f.field == TARGET_PID && f.number <= INT32_MAX) {
			t->pid = (pid_t)f.number;
		} else if (f.field == TARGET_COMM && f.type == WIRE_BYTES &&
			   wire_left(&f.body) <= sizeof(t->comm)) {
			memset(t->comm, 0, sizeof(t->comm));
			if (wire_left(&f.body))
				memcpy(t->comm, f.body.at, wire_left(&f.body));
		} else if (f.field == TARGET_ARGUMENT && f.type == WIRE_BYTES) {
			err = target_add_argument(&t->cmdline, &arguments, &f.body);
		}
	}
	return err ? err : got < 0 ? recording_refuse(in, "a target cannot be read") : 0;
}

static int target_take_map(struct recording_in *in, struct wire_reader message,
			   struct module_map *map)
{
	struct wire_field f;
	int got, err = 0;

	*map = (struct module_map){0};
	while (!err && (got = wire_next(&message, &f)) > 0) {
		if (f.field == MAP_PATH)
			err = recording_take_text(in, &f, &map->path, NULL);
		else if (f.field == MAP_BUILD_ID)
			err = recording_take_text(in, &f, (const char **)&map->build_id,
						  &map->build_id_len);
		else
			wire_take_number(map_numbers, &f, map);
	}
	if (err)
		return err;
	return got < 0 || !map->path || map->end <= map->start
		       ? recording_refuse(in, "a mapping is impossible")
		       : 0;
}

int recording_take_maps(struct recording_in *in, struct read_target *t, struct wire_reader message)
{
	_cleanup_free_ struct module_map *items = NULL;
	struct module_maps *maps;
	size_t count = 0;
	struct wire_field f;
	int got;

	while ((got = wire_next(&message, &f)) > 0) {
		struct module_map *grown;
		int err;

		if (f.field != MAPS_MAP || f.type != WIRE_BYTES)
			continue;
		grown = reallocarray(items, count + 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		items = grown;
		err = target_take_map(in, f.body, &items[count]);
		if (err)
			return err;
		count++;
	}
	if (got < 0)
		return recording_refuse(in, "mappings cannot be read");
	maps = module_maps_new(items, count);
	if (!maps)
		return -ENOMEM;
	free(t->maps);
	t->maps = maps;
	return 0;
}

int recording_take_bad_free(struct recording_in *in, struct read_target *t,
			    struct wire_reader message)
{
	return recording_take_misuse(in, MISUSE_BY_CHECK, &t->misuses[MISUSE_BY_CHECK], message);
}

int recording_take_bad_access(struct recording_in *in, struct read_target *t,
			      struct wire_reader message)
{
	return recording_take_misuse(in, MISUSE_BY_GUARD, &t->misuses[MISUSE_BY_GUARD], message);
}

int recording_fill_target(const struct read_target *t, struct snapshot *s)
{
	s->target_id = t->id;
	s->pid = t->pid;
	memcpy(s->comm, t->comm, sizeof(s->comm));
	s->cmdline = t->cmdline ? text_list_copy(t->cmdline) : NULL;
	if (t->cmdline && !s->cmdline)
		return -ENOMEM;
	if (!t->maps)
		return 0;
	s->maps = module_maps_new(t->maps->items, t->maps->count);
	return s->maps ? 0 : -ENOMEM;
}

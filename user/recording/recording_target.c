// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_target.h"

#include <stdlib.h>
#include <string.h>

#include "user/base/text.h"
#include "user/base/util.h"
#include "user/recording/recording_format.h"

/* A target, and what its functions need. */
struct recorded_target {
	uint64_t id;
	pid_t pid;
	char comm[16];
	char *const *cmdline; /* writer */
	char **arguments;     /* reader: owned */
	size_t argument_count;
};

FIELD_OWN_FUNCTIONS(target_arguments);

const struct field recording_target_fields[] = {
	FIELD_NUMBER(1, struct recorded_target, id),
	FIELD_PID(2, struct recorded_target, pid),
	FIELD_CHARS(3, struct recorded_target, comm),
	FIELD_OWN(4, target_arguments),
	{0},
};

/* The mappings of a target. */
struct recorded_maps {
	uint64_t target;
	struct module_map *items; /* reader: owned */
	size_t count;
};

static const struct field map_fields[] = {
	FIELD_NUMBER(1, struct module_map, start),
	FIELD_NUMBER(2, struct module_map, end),
	FIELD_NUMBER(3, struct module_map, offset),
	FIELD_NUMBER(4, struct module_map, vaddr),
	FIELD_STRING(5, struct module_map, path),
	FIELD_STRING_BYTES(6, struct module_map, build_id, build_id_len),
	{0},
};

const struct field recording_maps_fields[] = {
	FIELD_NUMBER(MESSAGE_FIELD_TARGET, struct recorded_maps, target),
	FIELD_PARTS(2, struct recorded_maps, items, count, map_fields, SIZE_MAX, NULL),
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

static int put_target_arguments(struct recording_out *out, unsigned number, const void *from)
{
	const struct recorded_target *r = from;

	for (char *const *argument = r->cmdline; argument && *argument; argument++)
		wire_string(&out->chunk.body, number, *argument);
	return 0;
}

int recording_put_target(struct recording_out *out, struct written_target *t,
			 const struct snapshot *s)
{
	struct recorded_target r = {.id = t->id, .pid = s->pid, .cmdline = s->cmdline};

	/* A thread may rename its process. */
	if (t->described && !memcmp(t->comm, s->comm, sizeof(t->comm)))
		return 0;
	memcpy(t->comm, s->comm, sizeof(t->comm));
	memcpy(r.comm, s->comm, sizeof(r.comm));
	t->described = true;
	return fields_put_part(out, MESSAGE_TARGET, recording_target_fields, &r);
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

int recording_put_maps(struct recording_out *out, struct written_target *t,
		       const struct snapshot *s)
{
	struct recorded_maps r = {.target = t->id};
	int err = 0;

	if (!s->maps || target_same_maps(t->maps, s->maps))
		return 0;
	free(t->maps);
	t->maps = module_maps_new(s->maps->items, s->maps->count);
	if (!t->maps)
		return -ENOMEM;
	r.items = t->maps->items;
	r.count = t->maps->count;
	/* Their strings have to stand before them. */
	for (size_t i = 0; !err && i < t->maps->count; i++)
		err = fields_name(out, map_fields, &t->maps->items[i]);
	return err ? err : recording_put_message(out, MESSAGE_MAPS, recording_maps_fields, &r);
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

static int take_target_arguments(struct recording_in *in, const struct wire_field *f, void *to)
{
	struct recorded_target *r = to;
	char **grown = reallocarray(r->arguments, r->argument_count + 2, sizeof(*grown));

	(void)in;
	if (!grown)
		return -ENOMEM;
	r->arguments = grown;
	grown[r->argument_count] = f->type == WIRE_BYTES
					   ? strndup((const char *)f->body.at, wire_left(&f->body))
					   : NULL;
	if (!grown[r->argument_count])
		return f->type == WIRE_BYTES ? -ENOMEM : 0;
	grown[++r->argument_count] = NULL;
	return 0;
}

int recording_take_target(struct recording_in *in, struct read_targets *targets,
			  struct wire_reader message)
{
	struct recorded_target r = {.id = UINT64_MAX};
	struct read_target *t;
	int err = fields_take(in, recording_target_fields, message, &r, "a target cannot be read");

	if (!err && r.id > UINT32_MAX)
		err = recording_refuse(in, "a target's number is impossible");
	t = err ? NULL : read_target_find(targets, r.id);
	if (!err && !t)
		err = read_target_add(targets, (uint32_t)r.id, &t);
	if (err) {
		text_list_free(r.arguments);
		return err;
	}
	text_list_free(t->cmdline);
	t->cmdline = r.arguments;
	t->pid = r.pid;
	memcpy(t->comm, r.comm, sizeof(t->comm));
	return 0;
}

int recording_take_maps(struct recording_in *in, struct read_target *t, struct wire_reader message)
{
	struct recorded_maps r = {0};
	struct module_maps *maps = NULL;
	int err = fields_take(in, recording_maps_fields, message, &r, "mappings cannot be read");

	for (size_t i = 0; !err && i < r.count; i++) {
		if (!r.items[i].path || r.items[i].end <= r.items[i].start)
			err = recording_refuse(in, "a mapping is impossible");
	}
	if (!err) {
		maps = module_maps_new(r.items, r.count);
		err = maps ? 0 : -ENOMEM;
	}
	free(r.items);
	if (err)
		return err;
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

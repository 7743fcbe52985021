// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which type each object has, as far as the heap itself says so; no debug information is needed. Headers of objects
 * come first (Go 1.22 on, of more than 512 bytes with pointers), then interfaces, goroutines and closures. From these on
 * the runtime's own descriptions of types say what their pointers lead to. A pointer into the middle says nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/packed.h"
#include "user/base/util.h"
#include "user/managed/go_heap.h"
#include "user/managed/go_kinds.h"
#include "user/managed/go_type_table.h"

/* Objects that are to be followed; those that do not fit are found again by their mark. */
#define QUEUE_MAX (1u << 18)

#define HEADER_FROM  512 /* bytes of an object, beyond which it has a header */
#define HEADER_BYTES 8

/* Elements of one object, and words of one, that are followed at once. */
#define PIECE_WORDS 512u

/* Tables of one map: a directory of more is no map's. */
#define DIRECTORY_MAX (1u << 20)

struct types {
	const struct go_heap *heap;
	struct go_type_table *table;
	struct go_kinds *kinds;
	struct packed kind_of; /* by object: its kind; 0: not known */
	uint8_t *followed;     /* a bit by object */
	uint64_t *queue;
	size_t queued;
	bool overflow;
	uint64_t low, high;   /* all spans lie there */
	struct go_range text; /* functions, as at link time */
};

/* ---- objects ------------------------------------------------------------------------------- */

/* An object, and what of it the program sees. */
struct object {
	const struct go_span *span;
	uint64_t number, start, size;
};

static uint32_t header_bytes(const struct types *t, const struct go_span *s)
{
	return t->heap->program.layout->large_type && !s->no_pointers &&
			       s->elem_size > HEADER_FROM && s->class
		       ? HEADER_BYTES
		       : 0;
}

static struct object object_of(const struct types *t, const struct go_span *s, uint32_t i)
{
	uint32_t header = header_bytes(t, s);

	return (struct object){
		.span = s,
		.number = s->first + i,
		.start = s->base + i * s->elem_size + header,
		.size = s->elem_size - header,
	};
}

/* The object that begins at an address; false: none does. */
static bool object_at(const struct types *t, uint64_t address, struct object *out)
{
	const struct go_span *s;
	struct go_objects o;
	uint64_t i;

	if (address < t->low || address >= t->high || !(s = go_heap_span(t->heap, address)) ||
	    s->state != GO_SPAN_OBJECTS)
		return false;
	i = (address - s->base) / s->elem_size;
	if (i >= s->nelems || !go_objects_of(t->heap, s, &o) ||
	    !go_object_is_allocated(&o, (uint32_t)i))
		return false;
	*out = object_of(t, s, (uint32_t)i);
	return out->start == address;
}

/* A type that is much smaller begins something larger. */
static bool fits(const struct object *o, uint64_t size)
{
	return size <= o->size &&
	       (!o->span->class || size + 8 >= o->size || size + size / 3 + 16 >= o->size);
}

static int put(struct types *t, const struct object *o, enum go_kind_form form, uint64_t what)
{
	uint32_t kind;
	int err;

	if (packed_get(&t->kind_of, o->number))
		return 0;
	err = go_kinds_get(t->kinds, form, what, &kind);
	if (err || !kind)
		return err;
	packed_set(&t->kind_of, o->number, kind);
	if (form > GO_FORM_LAST_FOLLOWED)
		return 0;
	if (t->queued < QUEUE_MAX)
		t->queue[t->queued++] = o->number;
	else
		t->overflow = true;
	return 0;
}

/* One of the type lies there, if its size agrees. */
static int put_one(struct types *t, uint64_t address, uint32_t type)
{
	struct object o;

	if (!type || !object_at(t, address, &o) || !fits(&o, go_type_of(t->table, type)->size))
		return 0;
	return put(t, &o, GO_FORM_ONE, type);
}

/* Several of a type lie there. */
static int put_many(struct types *t, uint64_t address, uint32_t type, uint64_t count,
		    enum go_kind_form form)
{
	struct object o;
	uint64_t size;

	if (!type || !object_at(t, address, &o))
		return 0;
	size = go_type_of(t->table, type)->size;
	if (!size || !count || count > o.size / size)
		return 0;
	return put(t, &o, form, type);
}

/* Something of the runtime's, for a type. */
static int put_for(struct types *t, uint64_t address, enum go_kind_form form, uint64_t what)
{
	struct object o;

	return object_at(t, address, &o) ? put(t, &o, form, what) : 0;
}

/* ---- what a value leads to ----------------------------------------------------------------- */

static int lead_closure(struct types *t, uint64_t address)
{
	const struct go_program *program = &t->heap->program;
	struct go_function f;
	struct object o;
	uint64_t entry;

	if (!object_at(t, address, &o) ||
	    !memory_image_word(t->heap->memory->image, address, &entry) ||
	    entry - program->bias - t->text.start >= t->text.end - t->text.start ||
	    !go_program_function(program, entry, &f) || f.start != entry - program->bias)
		return 0;
	return put(t, &o, GO_FORM_CLOSURE, entry);
}

/* Go 1.24 on: used, seed, directory, its length; a directory has tables, each with its groups. */
static int lead_groups(struct types *t, const uint64_t *map, uint32_t map_type, uint32_t group)
{
	uint64_t table, words[4], *directory;
	int err = 0;

	if (!map[3])
		return put_many(t, map[2], group, 1, GO_FORM_ENTRIES);
	err = put_for(t, map[2], GO_FORM_DIRECTORY, map_type);
	if (err || map[3] > DIRECTORY_MAX ||
	    !(directory = go_copy_words(t->heap->memory, map[2], map[3])))
		return err;
	for (uint64_t i = 0; !err && i < map[3]; i++) {
		table = directory[i];
		if ((i && table == directory[i - 1]) || table < t->low || table >= t->high ||
		    !managed_read(t->heap->memory, table, words, sizeof(words)))
			continue;
		err = put_for(t, table, GO_FORM_TABLE, map_type);
		err = err
			      ?: put_many(t, words[2], group,
					  words[3] < SIZE_MAX ? words[3] + 1 : 0, GO_FORM_ENTRIES);
	}
	free(directory);
	return err;
}

static int lead_map(struct types *t, uint64_t address, uint32_t type)
{
	uint32_t element = go_type_at(t->table, go_type_of(t->table, type)->element);
	uint64_t room[6];
	const uint64_t *map = go_words(t->heap->memory, address, ARRAY_SIZE(room), room);
	int err = put_for(t, address, GO_FORM_MAP, type);

	if (err || !element || !map)
		return err;
	if (t->heap->program.layout->swiss_maps)
		return lead_groups(t, map, type, element);
	/* count, flags and log2 of the buckets, buckets, those before it grew */
	err = put_many(t, map[2], element, 1, GO_FORM_ENTRIES);
	return err ?: put_many(t, map[3], element, 1, GO_FORM_ENTRIES);
}

/* An interface's two words. */
static int lead_interface(struct types *t, uint64_t word, uint64_t data)
{
	uint32_t type;

	if (data < t->low || data >= t->high || (word >= t->low && word < t->high))
		return 0;
	type = go_type_of_interface(t->table, word);
	if (!type)
		return 0;
	switch (go_type_of(t->table, type)->kind) {
	case GO_POINTER:
		return put_one(t, data, go_type_at(t->table, go_type_of(t->table, type)->element));
	case GO_MAP:
		return lead_map(t, data, type);
	case GO_CHAN:
		return put_for(t, data, GO_FORM_CHAN, type);
	case GO_FUNC:
		return lead_closure(t, data);
	case GO_UNSAFE_POINTER:
		return 0;
	default:
		return put_one(t, data, type);
	}
}

/* A slot's words: as many as its kind has (slot_words()). */
static int lead(struct types *t, uint32_t type, const uint64_t *w)
{
	const struct go_type *d = go_type_of(t->table, type);
	uint64_t element = d->element;

	if (!w[0])
		return 0;
	switch (d->kind) {
	case GO_POINTER:
		return put_one(t, w[0], go_type_at(t->table, element));
	case GO_SLICE:
		return put_many(t, w[0], go_type_at(t->table, element), w[2], GO_FORM_SLICE);
	case GO_STRING:
		return put_for(t, w[0], GO_FORM_STRING, 0);
	case GO_INTERFACE:
		return lead_interface(t, w[0], w[1]);
	case GO_FUNC:
		return lead_closure(t, w[0]);
	case GO_CHAN:
		return put_for(t, w[0], GO_FORM_CHAN, type);
	case GO_MAP:
		return lead_map(t, w[0], type);
	default:
		return 0;
	}
}

static size_t slot_words(uint8_t kind)
{
	return kind == GO_SLICE ? 3 : kind == GO_STRING || kind == GO_INTERFACE ? 2 : 1;
}

/* One value of a type: what its slots lead to. */
static int follow_value(struct types *t, const struct go_slot *slots, size_t count, uint64_t at,
			uint64_t end, const struct memory_region **near)
{
	int err = 0;

	for (size_t i = 0; !err && i < count; i++) {
		size_t need = slot_words(go_type_of(t->table, slots[i].type)->kind);
		uint64_t from = at + slots[i].offset, words[3] = {0};
		bool there = from + 8 * need <= end && from >= at;

		for (size_t n = 0; there && n < need; n++)
			there = memory_image_word_near(t->heap->memory->image, near, from + 8 * n,
						       &words[n]);
		if (there)
			err = lead(t, slots[i].type, words);
	}
	return err;
}

static uint32_t span_objects(const struct go_span *s)
{
	return s->state == GO_SPAN_OBJECTS ? s->nelems : 0;
}

static const struct go_span *span_of_number(const struct types *t, uint64_t number)
{
	size_t i = BISECT(i, 0, t->heap->span_count,
			  t->heap->spans[i].first + span_objects(&t->heap->spans[i]) <= number);

	return i < t->heap->span_count ? &t->heap->spans[i] : NULL;
}

static int follow(struct types *t, uint64_t number)
{
	const struct go_span *s = span_of_number(t, number);
	const struct memory_region *near = NULL;
	const struct go_slot *slots;
	struct object o;
	uint32_t type;
	uint64_t size;
	size_t count;
	int err = 0;

	if (!s || t->followed[number / 8] >> number % 8 & 1)
		return 0;
	t->followed[number / 8] |= (uint8_t)(1u << number % 8);
	type = go_kinds_followed(t->kinds, (uint32_t)packed_get(&t->kind_of, number));
	if (!type)
		return 0;
	o = object_of(t, s, (uint32_t)(number - s->first));
	slots = go_type_slots(t->table, type, &count);
	size = go_type_of(t->table, type)->size;
	for (uint64_t at = o.start; !err && count && size && at + size <= o.start + o.size;
	     at += size) {
		/* Of an array of gigabytes most may never have been touched. */
		const struct memory_region *r = memory_image_region(t->heap->memory->image, at);

		if (!r || r->start >= o.start + o.size)
			break;
		if (r->start > at + size)
			at += (r->start - at) / size * size;
		err = follow_value(t, slots, count, at, o.start + o.size, &near);
		if (go_kinds_is_one(t->kinds, (uint32_t)packed_get(&t->kind_of, number)))
			break;
	}
	return err;
}

/* All that is queued, and what was found when the queue was full. */
static int follow_all(struct types *t)
{
	int err = 0;

	do {
		while (!err && t->queued)
			err = follow(t, t->queue[--t->queued]);
		if (!t->overflow)
			break;
		t->overflow = false;
		for (uint64_t i = 0; !err && i < t->heap->object_count; i++) {
			if (packed_get(&t->kind_of, i))
				err = follow(t, i);
		}
	} while (!err);
	return err;
}

/* ---- what is certain ----------------------------------------------------------------------- */

typedef int object_fn(struct types *t, const struct object *o);

/* Each object that is in use, and no garbage. */
static int for_objects(struct types *t, object_fn *fn)
{
	int err = 0;

	for (size_t i = 0; !err && i < t->heap->span_count; i++) {
		const struct go_span *s = &t->heap->spans[i];
		struct go_objects objects;

		if (s->state != GO_SPAN_OBJECTS || !go_objects_of(t->heap, s, &objects))
			continue;
		for (uint32_t n = 0; !err && n < s->nelems; n++) {
			const struct object o = object_of(t, s, n);

			if (go_object_is_allocated(&objects, n) && !go_object_is_dead(&objects, n))
				err = fn(t, &o);
		}
	}
	return err;
}

static int look_at_header(struct types *t, const struct object *o)
{
	const struct go_span *s = o->span;
	uint64_t address = s->large_type, size;
	uint32_t type;

	if (s->no_pointers || s->elem_size <= HEADER_FROM ||
	    (s->class &&
	     !memory_image_word(t->heap->memory->image, o->start - HEADER_BYTES, &address)))
		return 0;
	type = go_type_at(t->table, address);
	size = type ? go_type_of(t->table, type)->size : 0;
	if (!size || size > o->size)
		return 0;
	return put(t, o, size + size / 3 < o->size ? GO_FORM_SLICE : GO_FORM_ONE, type);
}

static int scan_words(void *ctx, uint64_t address, const uint64_t *words, size_t own, size_t count)
{
	struct types *t = ctx;
	int err = 0;

	(void)address;
	for (size_t i = 0; !err && i < own && i + 1 < count; i++) {
		if (words[i] && words[i + 1])
			err = lead_interface(t, words[i], words[i + 1]);
	}
	return err;
}

/* A closure begins with its function; others may have interfaces in them. */
static int look_inside(struct types *t, const struct object *o)
{
	uint64_t at = o->start, end = o->start + o->size;
	struct memory_run run;
	int err;

	if (o->span->no_pointers)
		return 0;
	err = lead_closure(t, o->start);
	if (packed_get(&t->kind_of, o->number))
		return err;
	while (!err && memory_image_next_run(t->heap->memory->image, &at, end, &run))
		err = scan_words(t, run.address, run.words, run.count, run.count);
	return err;
}

static int count_object(struct types *t, const struct object *o)
{
	const struct amount one = {o->span->elem_size, 1};
	uint32_t kind = (uint32_t)packed_get(&t->kind_of, o->number);
	int err = 0;

	if (!kind)
		err = go_kinds_get(t->kinds,
				   o->span->no_pointers ? GO_FORM_PLAIN : GO_FORM_WITH_POINTERS,
				   o->span->elem_size, &kind);
	if (!err)
		go_kinds_count(t->kinds, kind, &one);
	return err;
}

static int find_types(struct types *t)
{
	int err = 0;

	if (t->heap->program.layout->large_type)
		err = for_objects(t, look_at_header);
	for (size_t i = 0; !err && i < t->heap->goroutine_count; i++)
		err = put_for(t, t->heap->goroutines[i], GO_FORM_GOROUTINE, 0);
	err = err ?: follow_all(t);
	err = err ?: go_scan_data(&t->heap->program, 1, scan_words, t);
	err = err ?: for_objects(t, look_inside);
	return err ?: follow_all(t);
}

static void find_text(struct types *t)
{
	const struct go_functions *functions = t->heap->program.functions;
	struct go_function first, last;

	if (go_functions_at(functions, 0, &first) &&
	    go_functions_at(functions, go_functions_count(functions) - 1, &last))
		t->text = (struct go_range){first.start, last.end};
}

static int types_begin(struct types *t)
{
	const struct go_heap *heap = t->heap;
	const struct go_span *last = &heap->spans[heap->span_count - 1];
	size_t objects = heap->object_count;

	t->low = heap->spans[0].base;
	t->high = last->base + last->bytes;
	t->kind_of.width = GO_KINDS_BITS;
	t->kind_of.bytes = calloc(1, packed_bytes(objects, t->kind_of.width));
	t->followed = calloc(1, objects / 8 + 1);
	t->queue = calloc(QUEUE_MAX, sizeof(*t->queue));
	t->table = go_type_table_new(&heap->program);
	t->kinds = go_kinds_new(&heap->program, t->table);
	find_text(t);
	return t->kind_of.bytes && t->followed && t->queue && t->table && t->kinds ? 0 : -ENOMEM;
}

int go_types_read(const struct go_heap *heap, struct managed_heap *out)
{
	struct types t = {.heap = heap};
	int err = types_begin(&t);

	/* Experiments change what lies in front of objects, and how maps look. */
	if (!err && !heap->program.experiments && heap->program.types.start)
		err = find_types(&t);
	err = err ?: for_objects(&t, count_object);
	err = err ?: go_kinds_take(t.kinds, out);
	go_kinds_free(t.kinds);
	go_type_table_free(t.table);
	free(t.kind_of.bytes);
	free(t.followed);
	free(t.queue);
	return err;
}

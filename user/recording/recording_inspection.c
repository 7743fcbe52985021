// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_inspection.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/recording/recording_format.h"
#include "user/recording/recording_origin.h"

/*
 * Of what there may be more: those come last in a list that begins with the most telling, and a chunk
 * has to hold all of them.
 */
#define ALLOCATORS_MAX 64
#define GROUPS_MAX     100000
#define MAPPINGS_MAX   10000

enum inspection_field {
	INSPECTION_TIME_NS = 1,
	INSPECTION_ELAPSED_NS = 2,
	INSPECTION_PID = 3,
	INSPECTION_COMM = 4,
	INSPECTION_FLAGS = 5, /* enum inspection_flag */
	INSPECTION_ARGUMENT = 6,
	INSPECTION_CORE = 7,
	INSPECTION_RSS_ANON = 8,
	INSPECTION_SWAP = 9,
	INSPECTION_SHMEM = 10,
	INSPECTION_PARTS = 11,	 /* packed, as enum memory_part has them */
	INSPECTION_CLASSES = 12, /* packed: bytes and count of each class */
	INSPECTION_PAUSE_NS = 13,
	INSPECTION_TOTAL_NS = 14,
	INSPECTION_READ_BYTES = 15,
	INSPECTION_UNKNOWN_BYTES = 16,
	INSPECTION_UNREAD_BYTES = 17,
	INSPECTION_TOOL_BYTES = 18,
	INSPECTION_ALLOCATOR = 19,
	INSPECTION_MAPPING = 20,
	INSPECTION_GROUP = 21,
	INSPECTION_LOSS = 22,
	INSPECTION_UNKNOWN_THREADS = 23,
	INSPECTION_UNJOINED_COUNT = 24,
	INSPECTION_UNJOINED_BYTES = 25,
	INSPECTION_UNJOINED_RESIDENT = 26,
	INSPECTION_UNJOINED_HELD = 27,
};
enum inspection_flag {
	INSPECTION_FINAL = 1u << 0,
	INSPECTION_APPROXIMATE = 1u << 1,
	INSPECTION_NO_REGISTERS = 1u << 2,
	INSPECTION_TRACED = 1u << 3, /* and the snapshot before it is of the same moment */
};

static const struct wire_number inspection_numbers[] = {
	WIRE_NUMBER(INSPECTION_TIME_NS, struct inspection, time_ns),
	WIRE_NUMBER(INSPECTION_ELAPSED_NS, struct inspection, elapsed_ns),
	WIRE_NUMBER(INSPECTION_RSS_ANON, struct inspection, rss_anon),
	WIRE_NUMBER(INSPECTION_SWAP, struct inspection, swap),
	WIRE_NUMBER(INSPECTION_SHMEM, struct inspection, shmem),
	WIRE_NUMBER(INSPECTION_PAUSE_NS, struct inspection, verdict.pause_ns),
	WIRE_NUMBER(INSPECTION_TOTAL_NS, struct inspection, verdict.total_ns),
	WIRE_NUMBER(INSPECTION_READ_BYTES, struct inspection, verdict.read_bytes),
	WIRE_NUMBER(INSPECTION_UNKNOWN_BYTES, struct inspection, verdict.unknown_bytes),
	WIRE_NUMBER(INSPECTION_UNREAD_BYTES, struct inspection, verdict.unread_bytes),
	WIRE_NUMBER(INSPECTION_TOOL_BYTES, struct inspection, tool_bytes),
	WIRE_NUMBER_IF_ANY(INSPECTION_UNKNOWN_THREADS, struct inspection, unknown_threads),
	WIRE_NUMBER_IF_ANY(INSPECTION_UNJOINED_COUNT, struct inspection, verdict.unjoined.count),
	WIRE_NUMBER_IF_ANY(INSPECTION_UNJOINED_BYTES, struct inspection, verdict.unjoined.bytes),
	WIRE_NUMBER_IF_ANY(INSPECTION_UNJOINED_RESIDENT, struct inspection,
			   verdict.unjoined.resident),
	WIRE_NUMBER_IF_ANY(INSPECTION_UNJOINED_HELD, struct inspection, verdict.unjoined.held),
	{0},
};

enum allocator_field {
	ALLOCATOR_NAME = 1,
	ALLOCATOR_VERSION = 2,
	ALLOCATOR_WHY = 3,
	ALLOCATOR_ARENAS = 4,
	ALLOCATOR_IN_USE_BYTES = 5,
	ALLOCATOR_IN_USE_COUNT = 6,
	ALLOCATOR_SLACK = 7,
	ALLOCATOR_FREE = 8,
	ALLOCATOR_CACHED = 9,
	ALLOCATOR_FREE_RESIDENT = 10,
	ALLOCATOR_FREE_WHOLE_PAGES = 11,
	ALLOCATOR_BOOKS = 12,
	ALLOCATOR_UNBELIEVED = 13,
	ALLOCATOR_UNBELIEVED_RESIDENT = 14,
	ALLOCATOR_DIRTY = 15,
	ALLOCATOR_MUZZY = 16,
};

static const struct wire_number allocator_numbers[] = {
	WIRE_NUMBER(ALLOCATOR_ARENAS, struct inspected_allocator, arenas),
	WIRE_NUMBER(ALLOCATOR_IN_USE_BYTES, struct inspected_allocator, in_use.bytes),
	WIRE_NUMBER(ALLOCATOR_IN_USE_COUNT, struct inspected_allocator, in_use.count),
	WIRE_NUMBER(ALLOCATOR_SLACK, struct inspected_allocator, slack_bytes),
	WIRE_NUMBER(ALLOCATOR_FREE, struct inspected_allocator, free_bytes),
	WIRE_NUMBER(ALLOCATOR_CACHED, struct inspected_allocator, cached_bytes),
	WIRE_NUMBER(ALLOCATOR_FREE_RESIDENT, struct inspected_allocator, free_resident),
	WIRE_NUMBER(ALLOCATOR_FREE_WHOLE_PAGES, struct inspected_allocator, free_whole_pages),
	WIRE_NUMBER(ALLOCATOR_BOOKS, struct inspected_allocator, books_bytes),
	WIRE_NUMBER(ALLOCATOR_UNBELIEVED, struct inspected_allocator, unbelieved_bytes),
	WIRE_NUMBER_IF_ANY(ALLOCATOR_UNBELIEVED_RESIDENT, struct inspected_allocator,
			   unbelieved_resident),
	WIRE_NUMBER_IF_ANY(ALLOCATOR_DIRTY, struct inspected_allocator, dirty_resident),
	WIRE_NUMBER_IF_ANY(ALLOCATOR_MUZZY, struct inspected_allocator, muzzy_resident),
	{0},
};

enum mapping_field {
	MAPPING_START = 1,
	MAPPING_BYTES = 2,
	MAPPING_RESIDENT = 3,
	MAPPING_NAME = 4,
	MAPPING_HELD_BY = 5,
};

static const struct wire_number mapping_numbers[] = {
	WIRE_NUMBER(MAPPING_START, struct inspected_mapping, start),
	WIRE_NUMBER(MAPPING_BYTES, struct inspected_mapping, bytes),
	WIRE_NUMBER(MAPPING_RESIDENT, struct inspected_mapping, resident),
	{0},
};

enum group_field {
	GROUP_FIELD_KIND = 1, /* by its name: numbers may change */
	GROUP_FIELD_NAME = 2,
	GROUP_FIELD_MODULE = 3,
	GROUP_FIELD_BLOCK_SIZE = 4,
	GROUP_FIELD_BEGINNING = 5,
	GROUP_FIELD_CLASSES = 6, /* as INSPECTION_CLASSES: live is their sum */
	GROUP_FIELD_HELD_BY = 7,
	GROUP_FIELD_CONTENTS = 8,
	GROUP_FIELD_GROWTH = 9, /* double; left out: not known */
	GROUP_FIELD_ORIGIN = 10,
};

static const struct wire_number group_numbers[] = {
	WIRE_NUMBER_IF_ANY(GROUP_FIELD_BLOCK_SIZE, struct inspected_group, size),
	WIRE_NUMBER_IF_ANY(GROUP_FIELD_BEGINNING, struct inspected_group, beginning),
	{0},
};

enum loss_field {
	LOSS_GROUP = 1, /* number of one that stands before, from 0 */
	LOSS_BYTES = 2,
	LOSS_COUNT = 3,
	LOSS_KEPT_BYTES = 4,
	LOSS_KEPT_COUNT = 5,
	LOSS_ORIGIN = 6,
};

static const struct wire_number loss_numbers[] = {
	WIRE_NUMBER(LOSS_GROUP, struct inspected_loss, group),
	WIRE_NUMBER(LOSS_BYTES, struct inspected_loss, lost.bytes),
	WIRE_NUMBER(LOSS_COUNT, struct inspected_loss, lost.count),
	WIRE_NUMBER(LOSS_KEPT_BYTES, struct inspected_loss, kept.bytes),
	WIRE_NUMBER(LOSS_KEPT_COUNT, struct inspected_loss, kept.count),
	{0},
};

/* ---- writing ------------------------------------------------------------------------------ */

static void inspection_put_text(struct wire *to, unsigned field, const char *text)
{
	if (text)
		wire_string(to, field, text);
}

static void inspection_put_classes(struct wire *to, unsigned field,
				   const struct amount classes[VERDICT_CLASSES])
{
	size_t mark = wire_open(to, field);

	for (int i = 0; i < VERDICT_CLASSES; i++) {
		wire_varint(to, classes[i].bytes);
		wire_varint(to, classes[i].count);
	}
	wire_close(to, mark);
}

static void inspection_put_allocator(struct wire *to, const struct inspected_allocator *a)
{
	size_t mark = wire_open(to, INSPECTION_ALLOCATOR);

	wire_string(to, ALLOCATOR_NAME, a->name);
	wire_string(to, ALLOCATOR_VERSION, a->version);
	wire_string(to, ALLOCATOR_WHY, a->why);
	wire_put_numbers(to, allocator_numbers, 0, UINT_MAX, a);
	wire_close(to, mark);
}

static void inspection_put_mapping(struct wire *to, const struct inspected_mapping *m)
{
	size_t mark = wire_open(to, INSPECTION_MAPPING);

	wire_put_numbers(to, mapping_numbers, 0, UINT_MAX, m);
	inspection_put_text(to, MAPPING_NAME, m->name);
	inspection_put_text(to, MAPPING_HELD_BY, m->held_by);
	wire_close(to, mark);
}

static void inspection_put_group(struct wire *to, const struct inspected_group *g)
{
	size_t mark = wire_open(to, INSPECTION_GROUP);

	wire_string(to, GROUP_FIELD_KIND, group_kind_name(g->kind));
	inspection_put_text(to, GROUP_FIELD_NAME, g->name);
	inspection_put_text(to, GROUP_FIELD_MODULE, g->module);
	wire_put_numbers(to, group_numbers, 0, UINT_MAX, g);
	inspection_put_classes(to, GROUP_FIELD_CLASSES, g->verdict);
	inspection_put_text(to, GROUP_FIELD_HELD_BY, g->held_by);
	if (g->contents)
		wire_bytes(to, GROUP_FIELD_CONTENTS, g->contents, g->contents_len);
	if (g->growth_known)
		wire_double(to, GROUP_FIELD_GROWTH, g->growth_bytes_per_s);
	recording_put_origin(to, GROUP_FIELD_ORIGIN, &g->origin);
	wire_close(to, mark);
}

static void inspection_put_lists(struct wire *to, const struct inspection *i)
{
	for (size_t n = 0; n < i->allocator_count; n++)
		inspection_put_allocator(to, &i->allocators[n]);
	for (size_t n = 0; n < i->mapping_count && n < MAPPINGS_MAX; n++)
		inspection_put_mapping(to, &i->mappings[n]);
	for (size_t n = 0; n < i->group_count && n < GROUPS_MAX; n++)
		inspection_put_group(to, &i->groups[n]);
	for (size_t n = 0; n < i->loss_count; n++) {
		size_t mark;

		if (i->losses[n].group >= GROUPS_MAX)
			continue;
		mark = wire_open(to, INSPECTION_LOSS);
		wire_put_numbers(to, loss_numbers, 0, UINT_MAX, &i->losses[n]);
		recording_put_origin(to, LOSS_ORIGIN, &i->losses[n].origin);
		wire_close(to, mark);
	}
}

void recording_put_inspection(struct recording_out *out, const struct inspection *i)
{
	struct wire *to = &out->chunk.body;
	size_t mark = wire_open(to, MESSAGE_INSPECTION), parts;

	wire_put_numbers(to, inspection_numbers, INSPECTION_TIME_NS, INSPECTION_ELAPSED_NS, i);
	wire_uint(to, INSPECTION_PID, (uint64_t)i->pid);
	wire_bytes(to, INSPECTION_COMM, i->comm, strnlen(i->comm, sizeof(i->comm)));
	wire_uint(to, INSPECTION_FLAGS,
		  (i->final ? INSPECTION_FINAL : 0) |
			  (i->verdict.approximate ? INSPECTION_APPROXIMATE : 0) |
			  (i->no_registers ? INSPECTION_NO_REGISTERS : 0) |
			  (i->traced ? INSPECTION_TRACED : 0));
	for (char *const *argument = i->cmdline; argument && *argument; argument++)
		wire_string(to, INSPECTION_ARGUMENT, *argument);
	inspection_put_text(to, INSPECTION_CORE, i->core);
	wire_put_numbers(to, inspection_numbers, INSPECTION_RSS_ANON, UINT_MAX, i);
	parts = wire_open(to, INSPECTION_PARTS);
	for (int part = 0; part < MEMORY_PARTS; part++)
		wire_varint(to, i->parts[part]);
	wire_close(to, parts);
	inspection_put_classes(to, INSPECTION_CLASSES, i->verdict.classes);
	inspection_put_lists(to, i);
	wire_close(to, mark);
}

/* ---- reading ------------------------------------------------------------------------------ */

/* An inspection being read, and the room of its lists. */
struct inspection_reading {
	struct recording_in *in;
	struct inspection *out;
	size_t mappings, groups, losses, allocators;
	char *arguments; /* one NUL behind each */
	size_t arguments_len, argument_count;
};

/* In place of one that has come before. */
static int inspection_take_text(char **to, struct wire_reader body)
{
	char *copy = strndup((const char *)body.at, wire_left(&body));

	if (!copy)
		return -ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

static void inspection_take_short(char *to, size_t size, struct wire_reader body)
{
	size_t len = wire_left(&body) < size - 1 ? wire_left(&body) : size - 1;

	memset(to, 0, size);
	memcpy(to, body.at, len);
}

static int inspection_take_classes(struct recording_in *in, struct wire_reader body,
				   struct amount classes[VERDICT_CLASSES])
{
	for (int i = 0; i < VERDICT_CLASSES; i++) {
		if (wire_read_varint(&body, &classes[i].bytes) ||
		    wire_read_varint(&body, &classes[i].count))
			return recording_refuse(in, "classes of blocks cannot be read");
	}
	return 0;
}

static int inspection_take_allocator(struct inspection_reading *r, struct wire_reader message)
{
	struct inspected_allocator *a;
	struct wire_field f;
	int got;

	if (r->out->allocator_count == ALLOCATORS_MAX)
		return recording_refuse(r->in, "there are too many allocators");
	if (!RESERVE_ITEM(r->out->allocators, r->out->allocator_count, r->allocators, 4))
		return -ENOMEM;
	a = &r->out->allocators[r->out->allocator_count++];
	*a = (struct inspected_allocator){0};
	while ((got = wire_next(&message, &f)) > 0) {
		if (f.type != WIRE_BYTES)
			wire_take_number(allocator_numbers, &f, a);
		else if (f.field == ALLOCATOR_NAME)
			inspection_take_short(a->name, sizeof(a->name), f.body);
		else if (f.field == ALLOCATOR_VERSION)
			inspection_take_short(a->version, sizeof(a->version), f.body);
		else if (f.field == ALLOCATOR_WHY)
			inspection_take_short(a->why, sizeof(a->why), f.body);
	}
	return got < 0 ? recording_refuse(r->in, "an allocator cannot be read") : 0;
}

static int inspection_take_mapping(struct inspection_reading *r, struct wire_reader message)
{
	struct inspected_mapping *m;
	struct wire_field f;
	int got, err = 0;

	if (r->out->mapping_count == MAPPINGS_MAX)
		return recording_refuse(r->in, "there are too many mappings");
	if (!RESERVE_ITEM(r->out->mappings, r->out->mapping_count, r->mappings, 16))
		return -ENOMEM;
	m = &r->out->mappings[r->out->mapping_count++];
	*m = (struct inspected_mapping){0};
	while (!err && (got = wire_next(&message, &f)) > 0) {
		if (f.type != WIRE_BYTES)
			wire_take_number(mapping_numbers, &f, m);
		else if (f.field == MAPPING_NAME)
			err = inspection_take_text(&m->name, f.body);
		else if (f.field == MAPPING_HELD_BY)
			err = inspection_take_text(&m->held_by, f.body);
	}
	return err ? err : got < 0 ? recording_refuse(r->in, "a mapping cannot be read") : 0;
}

/* One that a later version knows is of blocks that are alike, and more is not known. */
static enum group_kind inspection_kind(struct wire_reader body)
{
	for (int kind = 0; kind < GROUP_KINDS; kind++) {
		const char *name = group_kind_name((enum group_kind)kind);

		if (strlen(name) == wire_left(&body) && !memcmp(name, body.at, strlen(name)))
			return (enum group_kind)kind;
	}
	return GROUP_SIZE;
}

static int inspection_take_contents(struct inspected_group *g, struct wire_reader body)
{
	size_t len = wire_left(&body);
	char *copy = malloc(len + 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, body.at, len);
	free(g->contents);
	g->contents = copy;
	g->contents_len = len;
	return 0;
}

static void inspection_take_growth(struct inspected_group *g, uint64_t bits)
{
	memcpy(&g->growth_bytes_per_s, &bits, sizeof(bits));
	g->growth_known = isfinite(g->growth_bytes_per_s);
}

static int inspection_take_group_text(struct inspection_reading *r, struct inspected_group *g,
				      const struct wire_field *f)
{
	switch (f->field) {
	case GROUP_FIELD_KIND:
		g->kind = inspection_kind(f->body);
		return 0;
	case GROUP_FIELD_NAME:
		return inspection_take_text(&g->name, f->body);
	case GROUP_FIELD_MODULE:
		return inspection_take_text(&g->module, f->body);
	case GROUP_FIELD_HELD_BY:
		return inspection_take_text(&g->held_by, f->body);
	case GROUP_FIELD_CONTENTS:
		return inspection_take_contents(g, f->body);
	case GROUP_FIELD_CLASSES:
		return inspection_take_classes(r->in, f->body, g->verdict);
	case GROUP_FIELD_ORIGIN:
		return recording_take_origin(r->in, f->body, &g->origin);
	default:
		return 0;
	}
}

static int inspection_take_group(struct inspection_reading *r, struct wire_reader message)
{
	struct inspected_group *g;
	struct wire_field f;
	int got, err = 0;

	if (r->out->group_count == GROUPS_MAX)
		return recording_refuse(r->in, "there are too many groups");
	if (!RESERVE_ITEM(r->out->groups, r->out->group_count, r->groups, 64))
		return -ENOMEM;
	g = &r->out->groups[r->out->group_count++];
	*g = (struct inspected_group){.kind = GROUP_SIZE};
	while (!err && (got = wire_next(&message, &f)) > 0) {
		if (f.type == WIRE_BYTES)
			err = inspection_take_group_text(r, g, &f);
		else if (f.type == WIRE_FIXED64 && f.field == GROUP_FIELD_GROWTH)
			inspection_take_growth(g, f.number);
		else
			wire_take_number(group_numbers, &f, g);
	}
	for (int i = 0; i < VERDICT_CLASSES; i++)
		amount_add(&g->live, &g->verdict[i]);
	return err ? err : got < 0 ? recording_refuse(r->in, "a group cannot be read") : 0;
}

static int inspection_take_loss(struct inspection_reading *r, struct wire_reader message)
{
	struct inspected_loss *loss;
	struct wire_field f;
	int got, err = 0;

	if (r->out->loss_count == GROUPS_MAX)
		return recording_refuse(r->in, "there are too many losses");
	if (!RESERVE_ITEM(r->out->losses, r->out->loss_count, r->losses, 16))
		return -ENOMEM;
	loss = &r->out->losses[r->out->loss_count++];
	*loss = (struct inspected_loss){.group = SIZE_MAX};
	while (!err && (got = wire_next(&message, &f)) > 0) {
		if (f.type == WIRE_BYTES && f.field == LOSS_ORIGIN)
			err = recording_take_origin(r->in, f.body, &loss->origin);
		else if (f.type != WIRE_BYTES)
			wire_take_number(loss_numbers, &f, loss);
	}
	if (!err && (got < 0 || loss->group >= r->out->group_count))
		err = recording_refuse(r->in, "a loss of a group that is not there");
	return err;
}

static int inspection_take_argument(struct inspection_reading *r, struct wire_reader body)
{
	size_t len = wire_left(&body);
	char *grown = realloc(r->arguments, r->arguments_len + len + 1);

	if (!grown)
		return -ENOMEM;
	r->arguments = grown;
	/* A NUL in it would be the beginning of another one. */
	for (size_t i = 0; i < len; i++)
		grown[r->arguments_len++] = (char)(body.at[i] ? body.at[i] : ' ');
	grown[r->arguments_len++] = '\0';
	r->argument_count++;
	return 0;
}

/* Pointers and texts in one piece, as struct inspection has them. */
static int inspection_take_cmdline(struct inspection_reading *r)
{
	size_t pointers = (r->argument_count + 1) * sizeof(char *);
	char **list, *text;

	if (!r->argument_count)
		return 0;
	list = malloc(pointers + r->arguments_len);
	if (!list)
		return -ENOMEM;
	text = (char *)list + pointers;
	memcpy(text, r->arguments, r->arguments_len);
	for (size_t i = 0; i < r->argument_count; i++) {
		list[i] = text;
		text += strlen(text) + 1;
	}
	list[r->argument_count] = NULL;
	r->out->cmdline = list;
	return 0;
}

static int inspection_take_parts(struct inspection_reading *r, struct wire_reader body)
{
	for (int part = 0; part < MEMORY_PARTS && wire_left(&body); part++) {
		if (wire_read_varint(&body, &r->out->parts[part]))
			return recording_refuse(r->in, "parts of the memory cannot be read");
	}
	return 0;
}

static int inspection_take_bytes(struct inspection_reading *r, const struct wire_field *f)
{
	switch (f->field) {
	case INSPECTION_COMM:
		memset(r->out->comm, 0, sizeof(r->out->comm));
		memcpy(r->out->comm, f->body.at,
		       wire_left(&f->body) < sizeof(r->out->comm) ? wire_left(&f->body)
								  : sizeof(r->out->comm));
		return 0;
	case INSPECTION_ARGUMENT:
		return inspection_take_argument(r, f->body);
	case INSPECTION_CORE:
		return inspection_take_text(&r->out->core, f->body);
	case INSPECTION_PARTS:
		return inspection_take_parts(r, f->body);
	case INSPECTION_CLASSES:
		return inspection_take_classes(r->in, f->body, r->out->verdict.classes);
	case INSPECTION_ALLOCATOR:
		return inspection_take_allocator(r, f->body);
	case INSPECTION_MAPPING:
		return inspection_take_mapping(r, f->body);
	case INSPECTION_GROUP:
		return inspection_take_group(r, f->body);
	case INSPECTION_LOSS:
		return inspection_take_loss(r, f->body);
	default:
		return 0;
	}
}

static void inspection_take_number(struct inspection *out, const struct wire_field *f)
{
	switch (f->field) {
	case INSPECTION_PID:
		out->pid = f->number <= INT_MAX ? (pid_t)f->number : 0;
		break;
	case INSPECTION_FLAGS:
		out->final = f->number & INSPECTION_FINAL;
		out->verdict.approximate = f->number & INSPECTION_APPROXIMATE;
		out->no_registers = f->number & INSPECTION_NO_REGISTERS;
		out->traced = f->number & INSPECTION_TRACED;
		break;
	default:
		wire_take_number(inspection_numbers, f, out);
		break;
	}
}

int recording_take_inspection(struct recording_in *in, struct wire_reader message,
			      struct inspection **out)
{
	struct inspection_reading r = {.in = in, .out = calloc(1, sizeof(*r.out))};
	struct wire_field f;
	int got = 0, err = r.out ? 0 : -ENOMEM;

	while (!err && (got = wire_next(&message, &f)) > 0) {
		if (f.type == WIRE_BYTES)
			err = inspection_take_bytes(&r, &f);
		else
			inspection_take_number(r.out, &f);
	}
	if (!err && got < 0)
		err = recording_refuse(in, "an inspection cannot be read");
	err = err ?: inspection_take_cmdline(&r);
	free(r.arguments);
	if (err) {
		inspection_free(r.out);
		return err;
	}
	r.out->verdict.state = VERDICT_TAKEN;
	*out = r.out;
	return 0;
}

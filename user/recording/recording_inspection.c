// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_inspection.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/recording/recording_format.h"
#include "user/recording/recording_managed.h"

/*
 * The most of each list that a chunk has to hold. A list begins with the most telling entries, so
 * what is beyond is the least telling.
 */
#define ALLOCATORS_MAX 64
#define GROUPS_MAX     100000
#define MAPPINGS_MAX   10000
#define WAYS_MAX       100000
#define KEEPERS_MAX    100000
#define HELPS_MAX      1000

static const struct field origin_fields[] = {
	FIELD_NUMBER(1, struct inspected_origin, traced.bytes),
	FIELD_NUMBER(2, struct inspected_origin, traced.count),
	FIELD_IF_ANY(3, struct inspected_origin, most.bytes),
	FIELD_IF_ANY(4, struct inspected_origin, most.count),
	FIELD_IF_ANY(5, struct inspected_origin, stack_id),
	FIELD_TEXT(6, struct inspected_origin, function),
	{0},
};

static const struct field allocator_fields[] = {
	FIELD_CHARS(1, struct inspected_allocator, name),
	FIELD_CHARS(2, struct inspected_allocator, version),
	FIELD_CHARS(3, struct inspected_allocator, why),
	FIELD_NUMBER(4, struct inspected_allocator, arenas),
	FIELD_NUMBER(5, struct inspected_allocator, in_use.bytes),
	FIELD_NUMBER(6, struct inspected_allocator, in_use.count),
	FIELD_NUMBER(7, struct inspected_allocator, slack_bytes),
	FIELD_NUMBER(8, struct inspected_allocator, free_bytes),
	FIELD_NUMBER(9, struct inspected_allocator, cached_bytes),
	FIELD_NUMBER(10, struct inspected_allocator, free_resident),
	FIELD_NUMBER(11, struct inspected_allocator, free_whole_pages),
	FIELD_NUMBER(12, struct inspected_allocator, books_bytes),
	FIELD_NUMBER(13, struct inspected_allocator, unbelieved_bytes),
	FIELD_IF_ANY(14, struct inspected_allocator, unbelieved_resident),
	FIELD_IF_ANY(15, struct inspected_allocator, dirty_resident),
	FIELD_IF_ANY(16, struct inspected_allocator, muzzy_resident),
	FIELD_CHARS(17, struct inspected_allocator, unit),
	FIELD_IF_ANY(18, struct inspected_allocator, units),
	FIELD_IF_ANY(19, struct inspected_allocator, kept_units),
	FIELD_IF_ANY(20, struct inspected_allocator, kept_resident),
	FIELD_IF_ANY(21, struct inspected_allocator, cached_resident),
	FIELD_IF_ANY(22, struct inspected_allocator, untold_resident),
	{0},
};

static const struct field mapping_fields[] = {
	FIELD_NUMBER(1, struct inspected_mapping, start),
	FIELD_NUMBER(2, struct inspected_mapping, bytes),
	FIELD_NUMBER(3, struct inspected_mapping, resident),
	FIELD_TEXT(4, struct inspected_mapping, name),
	FIELD_TEXT(5, struct inspected_mapping, held_by),
	{0},
};

static const struct field holder_fields[] = {
	FIELD_TEXT(1, struct inspected_holder, path),
	FIELD_NUMBER(2, struct inspected_holder, held.bytes),
	FIELD_NUMBER(3, struct inspected_holder, held.count),
	{0},
};

FIELD_OWN_FUNCTIONS(way_up);

static const struct field way_fields[] = {
	FIELD_TEXT(1, struct inspected_way, name),
	FIELD_OWN(2, way_up), /* number of one that stands before, from 1; left out: it is a root */
	FIELD_FLAG_IF_ANY(3, 0, struct inspected_way, linked),
	FIELD_FLAG_IF_ANY(3, 1, struct inspected_way, single),
	FIELD_FLAG_IF_ANY(3, 2, struct inspected_way, lost),
	FIELD_IF_ANY(4, struct inspected_way, own.bytes),
	FIELD_IF_ANY(5, struct inspected_way, own.count),
	FIELD_IF_ANY(6, struct inspected_way, retained.bytes),
	FIELD_IF_ANY(7, struct inspected_way, retained.count),
	FIELD_IF_ANY(8, struct inspected_way, shared.bytes),
	FIELD_IF_ANY(9, struct inspected_way, shared.count),
	FIELD_IF_ANY(10, struct inspected_way, alone.bytes),
	FIELD_IF_ANY(11, struct inspected_way, alone.count),
	{0},
};

FIELD_OWN_FUNCTIONS(group_holders);
FIELD_OWN_FUNCTIONS(group_kind);
FIELD_OWN_FUNCTIONS(group_contents);
FIELD_OWN_FUNCTIONS(group_growth);

static const struct field group_fields[] = {
	FIELD_OWN(1, group_kind), /* by its name: numbers may change */
	FIELD_TEXT(2, struct inspected_group, name),
	FIELD_TEXT(3, struct inspected_group, module),
	FIELD_IF_ANY(4, struct inspected_group, size),
	FIELD_IF_ANY(5, struct inspected_group, beginning),
	FIELD_LIST(6, struct inspected_group, verdict), /* bytes and count of each class */
	/* 7: what held one of its blocks */
	FIELD_OWN(8, group_contents),
	FIELD_OWN(9, group_growth), /* double; left out: not known */
	FIELD_PART(10, struct inspected_group, origin, origin_fields),
	FIELD_OWN_PARTS(11, group_holders, holder_fields),
	{0},
};

static const struct field loss_fields[] = {
	FIELD_NUMBER(1, struct inspected_loss, group), /* of one that stands before, from 0 */
	FIELD_NUMBER(2, struct inspected_loss, lost.bytes),
	FIELD_NUMBER(3, struct inspected_loss, lost.count),
	FIELD_NUMBER(4, struct inspected_loss, kept.bytes),
	FIELD_NUMBER(5, struct inspected_loss, kept.count),
	FIELD_PART(6, struct inspected_loss, origin, origin_fields),
	{0},
};

FIELD_OWN_FUNCTIONS(keeper_group);
FIELD_OWN_FUNCTIONS(keeper_with);
FIELD_OWN_FUNCTIONS(help_kind);

static const struct field keeper_fields[] = {
	FIELD_NUMBER(1, struct inspected_keeper, allocator), /* of one that stands before, from 0 */
	FIELD_OWN(2, keeper_group), /* likewise, from 1; left out: it is a stack's */
	FIELD_NUMBER(3, struct inspected_keeper, kept),
	FIELD_NUMBER(4, struct inspected_keeper, alone),
	FIELD_NUMBER(5, struct inspected_keeper, blocks),
	FIELD_OWN(6, keeper_with), /* as 2; left out: several, or none */
	FIELD_IF_ANY(7, struct inspected_keeper, stack_id),
	FIELD_TEXT(8, struct inspected_keeper, function),
	FIELD_IF_ANY(9, struct inspected_keeper, oldest_ms),
	{0},
};

static const struct field help_fields[] = {
	FIELD_OWN(1, help_kind), /* by its name; one that is not known is left out */
	FIELD_NUMBER(2, struct inspected_help, allocator),
	FIELD_NUMBER(3, struct inspected_help, bytes),
	FIELD_FLAG_IF_ANY(4, 0, struct inspected_help, exact),
	FIELD_IF_ANY(5, struct inspected_help, top),
	FIELD_IF_ANY(6, struct inspected_help, left),
	FIELD_IF_ANY(7, struct inspected_help, mmap_threshold),
	FIELD_IF_ANY(8, struct inspected_help, trim_threshold),
	{0},
};

static const struct inspected_keeper no_keeper = {.group = SIZE_MAX, .with = SIZE_MAX};
static const struct inspected_help no_help = {.kind = HELP_KINDS};
static const struct inspected_group no_group = {.kind = GROUP_SIZE};
static const struct inspected_way no_way = {.up = SIZE_MAX};
static const struct inspected_loss no_loss = {.group = SIZE_MAX};

/* An inspection, and what is read of its command line. */
struct recorded_inspection {
	struct inspection i;
	char *arguments; /* one NUL behind each */
	size_t arguments_len, argument_count;
};

FIELD_OWN_FUNCTIONS(arguments);

const struct field recording_inspection_fields[] = {
	FIELD_NUMBER(1, struct recorded_inspection, i.time_ns),
	FIELD_NUMBER(2, struct recorded_inspection, i.elapsed_ns),
	FIELD_PID(3, struct recorded_inspection, i.pid),
	FIELD_CHARS(4, struct recorded_inspection, i.comm),
	FIELD_FLAG(5, 0, struct recorded_inspection, i.final),
	FIELD_FLAG(5, 1, struct recorded_inspection, i.verdict.approximate),
	FIELD_FLAG(5, 2, struct recorded_inspection, i.no_registers),
	/* and the snapshot before it is of the same moment */
	FIELD_FLAG(5, 3, struct recorded_inspection, i.traced),
	FIELD_OWN(6, arguments),
	FIELD_TEXT(7, struct recorded_inspection, i.core),
	FIELD_NUMBER(8, struct recorded_inspection, i.rss_anon),
	FIELD_NUMBER(9, struct recorded_inspection, i.swap),
	FIELD_NUMBER(10, struct recorded_inspection, i.shmem),
	FIELD_NUMBER(13, struct recorded_inspection, i.verdict.pause_ns),
	FIELD_NUMBER(14, struct recorded_inspection, i.verdict.total_ns),
	FIELD_NUMBER(15, struct recorded_inspection, i.verdict.read_bytes),
	FIELD_NUMBER(16, struct recorded_inspection, i.verdict.unknown_bytes),
	FIELD_NUMBER(17, struct recorded_inspection, i.verdict.unread_bytes),
	FIELD_NUMBER(18, struct recorded_inspection, i.tool_bytes),
	FIELD_IF_ANY(23, struct recorded_inspection, i.unknown_threads),
	FIELD_IF_ANY(24, struct recorded_inspection, i.verdict.unjoined.count),
	FIELD_IF_ANY(25, struct recorded_inspection, i.verdict.unjoined.bytes),
	FIELD_IF_ANY(26, struct recorded_inspection, i.verdict.unjoined.resident),
	FIELD_IF_ANY(27, struct recorded_inspection, i.verdict.unjoined.held),
	FIELD_LIST(11, struct recorded_inspection, i.parts),	       /* by enum memory_part */
	FIELD_LIST(12, struct recorded_inspection, i.verdict.classes), /* as of a group */
	FIELD_PARTS(19, struct recorded_inspection, i.allocators, i.allocator_count,
		    allocator_fields, ALLOCATORS_MAX, NULL),
	FIELD_PARTS(20, struct recorded_inspection, i.mappings, i.mapping_count, mapping_fields,
		    MAPPINGS_MAX, NULL),
	FIELD_PARTS(21, struct recorded_inspection, i.groups, i.group_count, group_fields,
		    GROUPS_MAX, &no_group),
	FIELD_PARTS(22, struct recorded_inspection, i.losses, i.loss_count, loss_fields, GROUPS_MAX,
		    &no_loss),
	FIELD_PARTS(28, struct recorded_inspection, i.ways, i.way_count, way_fields, WAYS_MAX,
		    &no_way),
	FIELD_PARTS(29, struct recorded_inspection, i.keepers, i.keeper_count, keeper_fields,
		    KEEPERS_MAX, &no_keeper),
	FIELD_PARTS(30, struct recorded_inspection, i.helps, i.help_count, help_fields, HELPS_MAX,
		    &no_help),
	FIELD_PARTS(31, struct recorded_inspection, i.managed, i.managed_count,
		    recording_managed_fields, RECORDING_MANAGED_MAX, NULL),
	{0},
};

/* ---- writing ------------------------------------------------------------------------------ */

/* An index, from 1 on; SIZE_MAX: left out. */
static void put_index(struct recording_out *out, unsigned number, size_t index)
{
	if (index != SIZE_MAX)
		wire_uint(&out->chunk.body, number, index + 1);
}

static int put_way_up(struct recording_out *out, unsigned number, const void *from)
{
	put_index(out, number, ((const struct inspected_way *)from)->up);
	return 0;
}

static int put_keeper_group(struct recording_out *out, unsigned number, const void *from)
{
	put_index(out, number, ((const struct inspected_keeper *)from)->group);
	return 0;
}

static int put_keeper_with(struct recording_out *out, unsigned number, const void *from)
{
	put_index(out, number, ((const struct inspected_keeper *)from)->with);
	return 0;
}

static int put_help_kind(struct recording_out *out, unsigned number, const void *from)
{
	wire_string(&out->chunk.body, number,
		    help_kind_name(((const struct inspected_help *)from)->kind));
	return 0;
}

static int put_group_holders(struct recording_out *out, unsigned number, const void *from)
{
	const struct inspected_group *g = from;
	int err = 0;

	for (size_t i = 0; !err && i < g->holder_count; i++)
		err = fields_put_part(out, number, holder_fields, &g->holders[i]);
	return err;
}

static int put_group_kind(struct recording_out *out, unsigned number, const void *from)
{
	wire_string(&out->chunk.body, number,
		    group_kind_name(((const struct inspected_group *)from)->kind));
	return 0;
}

static int put_group_contents(struct recording_out *out, unsigned number, const void *from)
{
	const struct inspected_group *g = from;

	if (g->contents)
		wire_bytes(&out->chunk.body, number, g->contents, g->contents_len);
	return 0;
}

static int put_group_growth(struct recording_out *out, unsigned number, const void *from)
{
	const struct inspected_group *g = from;

	if (g->growth_known)
		wire_double(&out->chunk.body, number, g->growth_bytes_per_s);
	return 0;
}

static int put_arguments(struct recording_out *out, unsigned number, const void *from)
{
	const struct recorded_inspection *r = from;

	for (char *const *argument = r->i.cmdline; argument && *argument; argument++)
		wire_string(&out->chunk.body, number, *argument);
	return 0;
}

int recording_put_inspection(struct recording_out *out, const struct inspection *inspection)
{
	const struct recorded_inspection r = {.i = *inspection};

	return fields_put_part(out, MESSAGE_INSPECTION, recording_inspection_fields, &r);
}

/* ---- reading ------------------------------------------------------------------------------ */

static void take_index(const struct wire_field *f, size_t *index)
{
	if (f->type == WIRE_VARINT)
		*index = f->number ? f->number - 1 : SIZE_MAX;
}

static int take_way_up(struct recording_in *in, const struct wire_field *f, void *to)
{
	(void)in;
	take_index(f, &((struct inspected_way *)to)->up);
	return 0;
}

static int take_keeper_group(struct recording_in *in, const struct wire_field *f, void *to)
{
	(void)in;
	take_index(f, &((struct inspected_keeper *)to)->group);
	return 0;
}

static int take_keeper_with(struct recording_in *in, const struct wire_field *f, void *to)
{
	(void)in;
	take_index(f, &((struct inspected_keeper *)to)->with);
	return 0;
}

static int take_help_kind(struct recording_in *in, const struct wire_field *f, void *to)
{
	struct inspected_help *help = to;

	(void)in;
	for (int kind = 0; f->type == WIRE_BYTES && kind < HELP_KINDS; kind++) {
		const char *name = help_kind_name((enum help_kind)kind);

		if (strlen(name) == wire_left(&f->body) && !memcmp(name, f->body.at, strlen(name)))
			help->kind = (enum help_kind)kind;
	}
	return 0;
}

static int take_group_holders(struct recording_in *in, const struct wire_field *f, void *to)
{
	static const char unreadable[] = "a holder cannot be read";
	struct inspected_group *g = to;
	struct inspected_holder holder = {0};
	int err;

	if (f->type != WIRE_BYTES)
		return 0;
	err = fields_take(in, holder_fields, f->body, &holder, unreadable);
	if (!err && (!holder.path || g->holder_count == INSPECTED_HOLDERS))
		err = recording_refuse(in, unreadable);
	if (err)
		free(holder.path);
	else
		g->holders[g->holder_count++] = holder;
	return err;
}

/* One that a later version knows is of blocks that are alike, and more is not known. */
static int take_group_kind(struct recording_in *in, const struct wire_field *f, void *to)
{
	struct inspected_group *g = to;

	(void)in;
	for (int kind = 0; f->type == WIRE_BYTES && kind < GROUP_KINDS; kind++) {
		const char *name = group_kind_name((enum group_kind)kind);

		if (strlen(name) == wire_left(&f->body) && !memcmp(name, f->body.at, strlen(name)))
			g->kind = (enum group_kind)kind;
	}
	return 0;
}

static int take_group_contents(struct recording_in *in, const struct wire_field *f, void *to)
{
	struct inspected_group *g = to;
	char *copy;

	(void)in;
	if (f->type != WIRE_BYTES)
		return 0;
	copy = malloc(wire_left(&f->body) + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, f->body.at, wire_left(&f->body));
	free(g->contents);
	g->contents = copy;
	g->contents_len = wire_left(&f->body);
	return 0;
}

static int take_group_growth(struct recording_in *in, const struct wire_field *f, void *to)
{
	struct inspected_group *g = to;

	(void)in;
	if (f->type != WIRE_FIXED64)
		return 0;
	memcpy(&g->growth_bytes_per_s, &f->number, sizeof(f->number));
	g->growth_known = isfinite(g->growth_bytes_per_s);
	return 0;
}

static int take_arguments(struct recording_in *in, const struct wire_field *f, void *to)
{
	struct recorded_inspection *r = to;
	size_t len = wire_left(&f->body);
	char *grown;

	(void)in;
	if (f->type != WIRE_BYTES)
		return 0;
	grown = realloc(r->arguments, r->arguments_len + len + 1);
	if (!grown)
		return -ENOMEM;
	r->arguments = grown;
	/* A NUL in it would be the beginning of another one. */
	for (size_t i = 0; i < len; i++)
		grown[r->arguments_len++] = (char)(f->body.at[i] ? f->body.at[i] : ' ');
	grown[r->arguments_len++] = '\0';
	r->argument_count++;
	return 0;
}

/* Pointers and texts in one piece, as struct inspection has them. */
static int inspection_take_cmdline(struct recorded_inspection *r)
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
	r->i.cmdline = list;
	return 0;
}

/*
 * Of groups only the first ones are written, and a later version may know other helps: what leads to none
 * that was read goes.
 */
static void inspection_sift_keepers(struct inspection *i)
{
	size_t kept = 0, helps = 0;

	for (size_t n = 0; n < i->keeper_count; n++) {
		struct inspected_keeper *k = &i->keepers[n];

		if (k->allocator >= i->allocator_count ||
		    (k->group != SIZE_MAX && k->group >= i->group_count)) {
			free(k->function);
			continue;
		}
		k->with = k->with < i->group_count ? k->with : SIZE_MAX;
		i->keepers[kept++] = *k;
	}
	i->keeper_count = kept;
	for (size_t n = 0; n < i->help_count; n++) {
		if (i->helps[n].allocator < i->allocator_count && i->helps[n].kind < HELP_KINDS)
			i->helps[helps++] = i->helps[n];
	}
	i->help_count = helps;
}

static int inspection_check(struct recording_in *in, struct inspection *i)
{
	for (size_t n = 0; n < i->group_count; n++) {
		for (int class = 0; class < VERDICT_CLASSES; class ++)
			amount_add(&i->groups[n].live, &i->groups[n].verdict[class]);
	}
	for (size_t n = 0; n < i->loss_count; n++) {
		if (i->losses[n].group >= i->group_count)
			return recording_refuse(in, "a loss of a group that is not there");
	}
	for (size_t n = 0; n < i->managed_count; n++) {
		if (!managed_heap_is_whole(&i->managed[n]))
			return recording_refuse(in, "a runtime's heap cannot be read");
	}
	for (size_t n = 0; n < i->way_count; n++) {
		const struct inspected_way *way = &i->ways[n];

		if (!way->name || (way->up != SIZE_MAX && way->up >= n))
			return recording_refuse(in, "what hangs on what cannot be read");
	}
	inspection_sift_keepers(i);
	return 0;
}

int recording_take_inspection(struct recording_in *in, struct wire_reader message,
			      struct inspection **out)
{
	struct recorded_inspection r = {0};
	struct inspection *inspection = calloc(1, sizeof(*inspection));
	int err = inspection ? fields_take(in, recording_inspection_fields, message, &r,
					   "an inspection cannot be read")
			     : -ENOMEM;

	err = err ?: inspection_check(in, &r.i);
	err = err ?: inspection_take_cmdline(&r);
	free(r.arguments);
	if (!inspection)
		return err;
	*inspection = r.i;
	if (err) {
		inspection_free(inspection);
		return err;
	}
	inspection->verdict.state = VERDICT_TAKEN;
	*out = inspection;
	return 0;
}

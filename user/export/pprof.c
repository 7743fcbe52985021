// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * -f pprof: a gzipped profile.proto, with the four sample types of Go's heap profiles, and two for
 * each class of a verdict. Format: github.com/google/pprof, proto/profile.proto and
 * proto/README.md.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/lost_cause.h"
#include "user/base/clock.h"
#include "user/base/parse.h"
#include "user/base/util.h"
#include "user/export/collect.h"
#include "user/export/pprof_compress.h"
#include "user/export/pprof_fields.h"
#include "user/export/pprof_profile.h"
#include "user/export/pprof_prune.h"
#include "user/model/lost_causes.h"
#include "user/recording/wire.h"

/* A profile being written. Numbers of locations, functions and mappings count from 1. */
struct profile {
	const struct collection *collection;
	const struct pprof_about *about; /* NULL: nothing */
	const struct site_rules *sites;
	struct wire out;
	/* its numbers are those of the string table, in which 0 is "" */
	struct frame_table *strings;
	struct id_map functions; /* (name, file) -> id */
	struct id_map locations; /* (target, innermost frame) -> id */
	struct id_map mappings;	 /* (target, place in its maps or module without one) -> id */
	uint32_t function_count, location_count, mapping_count;
	const struct collected_target *target;
	uint32_t target_number;
	bool judged; /* some target has a verdict: more values */
	bool peaks;  /* likewise a peak */
};

static uint32_t string_id(struct profile *p, const char *text)
{
	uint32_t id = 0;

	if (text && *text && frame_table_string(p->strings, text, &id))
		p->out.failed = true;
	return id;
}

static void put_value_type(struct profile *p, unsigned field, const char *type, const char *unit)
{
	uint32_t type_id = string_id(p, type), unit_id = string_id(p, unit);
	size_t mark = wire_open(&p->out, field);

	wire_uint(&p->out, VALUE_TYPE_TYPE, type_id);
	wire_uint(&p->out, VALUE_TYPE_UNIT, unit_id);
	wire_close(&p->out, mark);
}

/* True: *id is new, and the caller has to write what it stands for. */
static bool enter(struct profile *p, struct id_map *map, uint64_t key, uint32_t *count,
		  uint32_t *id)
{
	if (id_map_get(map, key, id))
		return false;
	*id = ++*count;
	if (id_map_put(map, key, *id))
		p->out.failed = true;
	return true;
}

static uint32_t function_id(struct profile *p, const struct frame *frame)
{
	char label[FRAME_LABEL_MAX];
	uint32_t name = string_id(p, frame_label(frame, label)), file = string_id(p, frame->file);
	uint32_t id;
	size_t mark;

	if (!enter(p, &p->functions, (uint64_t)name << 32 | file, &p->function_count, &id))
		return id;
	mark = wire_open(&p->out, PROFILE_FUNCTION);
	wire_uint(&p->out, FUNCTION_ID, id);
	wire_uint(&p->out, FUNCTION_NAME, name);
	/*
	 * No system_name: where it equals the name Go's pprof takes both for mangled, leaves out the
	 * template arguments, and then finds none of drop_frames (internal/symbolizer, Demangle()).
	 */
	if (file)
		wire_uint(&p->out, FUNCTION_FILENAME, file);
	wire_close(&p->out, mark);
	return id;
}

static uint32_t build_id_string(struct profile *p, const uint8_t *build_id, size_t len)
{
	char hex[2 * 64 + 1];

	return string_id(p, format_hex(hex, sizeof(hex), build_id, build_id ? len : 0));
}

/* A map without addresses stands for a module that is mapped no more. */
static void put_mapping(struct profile *p, uint32_t id, const struct module_map *map)
{
	uint32_t file = string_id(p, map->path);
	uint32_t build_id = build_id_string(p, map->build_id, map->build_id_len);
	size_t mark = wire_open(&p->out, PROFILE_MAPPING);

	wire_uint(&p->out, MAPPING_ID, id);
	if (map->end) {
		wire_uint(&p->out, MAPPING_START, map->start);
		wire_uint(&p->out, MAPPING_LIMIT, map->end);
		wire_uint(&p->out, MAPPING_OFFSET, map->offset);
	}
	wire_uint(&p->out, MAPPING_FILENAME, file);
	if (build_id)
		wire_uint(&p->out, MAPPING_BUILD_ID, build_id);
	/* Names have been looked for while the process lived: no reader need do it again. */
	wire_uint(&p->out, MAPPING_HAS_FUNCTIONS, 1);
	wire_uint(&p->out, MAPPING_HAS_FILENAMES, 1);
	wire_uint(&p->out, MAPPING_HAS_LINE_NUMBERS, 1);
	wire_uint(&p->out, MAPPING_HAS_INLINE_FRAMES, 1);
	wire_close(&p->out, mark);
}

/* Those that are mapped are told apart by place, the others by name. 0 for code without a module. */
static uint32_t mapping_id(struct profile *p, const struct module_map *map, size_t index)
{
	uint64_t target = (uint64_t)p->target_number << 33;
	uint32_t place = map->end ? (uint32_t)index : string_id(p, map->path);
	uint32_t id;

	if (!map->path)
		return 0;
	if (enter(p, &p->mappings, target | (uint64_t)!map->end << 32 | place, &p->mapping_count,
		  &id))
		put_mapping(p, id, map);
	return id;
}

/* What is inlined at a place is one location with the function that holds it: lines are innermost first. */
static uint32_t location_id(struct profile *p, uint32_t key, const struct frame *const *frames,
			    size_t count)
{
	struct collected_place place;
	uint32_t id, mapping;
	size_t mark;

	if (!enter(p, &p->locations, (uint64_t)p->target_number << 32 | key, &p->location_count,
		   &id))
		return id;
	collected_place(p->target, frames[count - 1], &place);
	mapping = mapping_id(p, &place.map, place.index);
	/* Functions are messages of their own: written first, or they would end inside this one. */
	for (size_t i = 0; i < count; i++)
		function_id(p, frames[i]);
	mark = wire_open(&p->out, PROFILE_LOCATION);
	wire_uint(&p->out, LOCATION_ID, id);
	if (mapping)
		wire_uint(&p->out, LOCATION_MAPPING_ID, mapping);
	if (frame_is_code(frames[count - 1]))
		wire_uint(&p->out, LOCATION_ADDRESS, place.address);
	for (size_t i = 0; i < count; i++) {
		uint32_t function = function_id(p, frames[i]);
		size_t line = wire_open(&p->out, LOCATION_LINE);

		wire_uint(&p->out, LINE_FUNCTION_ID, function);
		if (frames[i]->line)
			wire_uint(&p->out, LINE_LINE, frames[i]->line);
		wire_close(&p->out, line);
	}
	wire_close(&p->out, mark);
	return id;
}

/* The locations of one stack. */
struct pprof_stack {
	struct profile *profile;
	uint32_t *ids; /* room for one more than there are frames */
	size_t count;
};

static void pprof_visit_location(void *ctx, uint32_t key, const struct frame *const *frames,
				 size_t count)
{
	struct pprof_stack *stack = ctx;

	stack->ids[stack->count++] = location_id(stack->profile, key, frames, count);
}

static size_t stack_locations(struct profile *p, const struct collected_stack *stack, uint32_t *ids)
{
	struct pprof_stack locations = {.profile = p, .ids = ids};

	collected_stack_visit(p->collection, stack, pprof_visit_location, &locations);
	return locations.count;
}

static void pprof_put_label(struct profile *p, const char *key, const char *text, uint64_t number)
{
	uint32_t key_id = string_id(p, key), text_id = string_id(p, text);
	size_t mark = wire_open(&p->out, SAMPLE_LABEL);

	wire_uint(&p->out, LABEL_KEY, key_id);
	if (text)
		wire_uint(&p->out, LABEL_STR, text_id);
	else
		wire_uint(&p->out, LABEL_NUM, number);
	wire_close(&p->out, mark);
}

/* `name`: of the collection's strings; 0: no label. */
static void pprof_put_name_label(struct profile *p, const char *key, uint32_t name)
{
	if (name)
		pprof_put_label(p, key, frame_table_string_at(p->collection->frames, name, NULL),
				0);
}

static void pprof_put_amount(struct profile *p, const struct amount *amount)
{
	wire_varint(&p->out, amount->count);
	wire_varint(&p->out, amount->bytes);
}

static void pprof_put_sample(struct profile *p, const struct collected_stack *stack,
			     const uint32_t *ids, size_t n)
{
	const struct amount amounts[] = {stack->alloc, stack->live};
	struct amount lost = stack->verdict[VERDICT_DEFINITE];
	size_t mark = wire_open(&p->out, PROFILE_SAMPLE), list;

	list = wire_open(&p->out, SAMPLE_LOCATION_ID);
	for (size_t i = 0; i < n; i++)
		wire_varint(&p->out, ids[i]);
	wire_close(&p->out, list);
	list = wire_open(&p->out, SAMPLE_VALUE);
	for (size_t i = 0; i < ARRAY_SIZE(amounts); i++)
		pprof_put_amount(p, &amounts[i]);
	if (p->judged) {
		amount_add(&lost, &stack->verdict[VERDICT_INDIRECT]);
		pprof_put_amount(p, &lost);
		for (int i = 0; i < VERDICT_CLASSES; i++)
			pprof_put_amount(p, &stack->verdict[i]);
	}
	if (p->peaks)
		pprof_put_amount(p, &stack->at_peak);
	wire_close(&p->out, list);
	pprof_put_label(p, "pid", NULL, (uint64_t)p->target->pid);
	pprof_put_label(p, "comm", p->target->comm, 0);
	pprof_put_name_label(p, "unit", p->target->unit);
	pprof_put_name_label(p, "container", p->target->container);
	pprof_put_name_label(p, "pod", p->target->pod);
	pprof_put_name_label(p, "pod_name", p->target->pod_name);
	pprof_put_name_label(p, "scope", stack->scope);
	pprof_put_name_label(p, "scope_tag", stack->scope_tag);
	wire_close(&p->out, mark);
}

static __attribute__((format(printf, 2, 3))) void put_comment(struct profile *p, const char *format,
							      ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	wire_uint(&p->out, PROFILE_COMMENT, string_id(p, text));
}

static void put_verdict_comments(struct profile *p, const struct verdict *v)
{
	if (v->state == VERDICT_REFUSED)
		put_comment(p, "no verdict: %s", v->reason);
	if (v->state != VERDICT_TAKEN)
		return;
	put_comment(p, "verdict: paused for %.1f ms%s", (double)v->pause_ns / NS_PER_MS,
		    v->approximate ? ", approximate" : "");
	if (v->unknown_bytes)
		put_comment(p,
			    "verdict: %" PRIu64
			    " bytes may be heap of which no books tell: what they point to "
			    "counts as reachable",
			    v->unknown_bytes);
	if (v->unread_bytes)
		put_comment(p,
			    "verdict: %" PRIu64
			    " bytes could not be read: what only they point to counts as lost",
			    v->unread_bytes);
}

static void put_comments(struct profile *p)
{
	const struct collected_target *t = p->target;

	put_comment(p, "PID %d (%s), %" PRIu64 " ms%s", (int)t->pid, t->comm,
		    t->elapsed_ns / NS_PER_MS,
		    p->about && p->about->difference ? ": what has changed meanwhile"
						     : " since attach");
	if (p->about && p->about->build_id)
		put_comment(p, "build id %s", p->about->build_id);
	put_verdict_comments(p, &t->verdict);
	if (t->left_out_stacks)
		put_comment(p,
			    "left out: %" PRIu64 " bytes in %" PRIu64
			    " blocks of %zu stacks (suppressions, --leak-only)",
			    t->left_out.bytes, t->left_out.count, t->left_out_stacks);
	for (int i = 0; i < LOST_CAUSES; i++) {
		if (t->lost[i])
			put_comment(p, "lost: %" PRIu64 " %s", t->lost[i],
				    lost_cause_text((enum lost_cause)i));
	}
}

static bool pprof_is_nothing(const struct collected_stack *s)
{
	return !s->alloc.count && !s->alloc.bytes && !s->live.count && !s->live.bytes;
}

static int pprof_put_target(struct profile *p)
{
	const struct collected_target *t = p->target;
	uint32_t *ids = NULL;
	size_t room = 0;

	for (size_t i = 0; i < t->stack_count; i++) {
		size_t count = 0;

		if (t->stacks[i].frames)
			frame_table_stack_at(p->collection->frames, t->stacks[i].frames, &count);
		if (count > room)
			room = count;
	}
	ids = calloc(room + 1, sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	/* Readers take the first mapping for the program itself, which is what lies lowest. */
	if (t->maps && t->maps->count)
		mapping_id(p, &t->maps->items[0], 0);
	for (size_t i = 0; i < t->stack_count; i++) {
		/* Of a difference many are nothing. */
		if (!pprof_is_nothing(&t->stacks[i]))
			pprof_put_sample(p, &t->stacks[i], ids,
					 stack_locations(p, &t->stacks[i], ids));
	}
	put_comments(p);
	free(ids);
	return 0;
}

/* "NAME_objects" and "NAME_space", as Go's are called. */
static void put_sample_types(struct profile *p, const char *name)
{
	char text[32];

	snprintf(text, sizeof(text), "%s_objects", name);
	put_value_type(p, PROFILE_SAMPLE_TYPE, text, "count");
	snprintf(text, sizeof(text), "%s_space", name);
	put_value_type(p, PROFILE_SAMPLE_TYPE, text, "bytes");
}

static int put_prune(struct profile *p)
{
	struct pprof_prune prune;
	int err = pprof_prune_make(p->collection, p->sites, &prune);

	if (!err && prune.drop)
		wire_uint(&p->out, PROFILE_DROP_FRAMES, string_id(p, prune.drop));
	if (!err && prune.keep)
		wire_uint(&p->out, PROFILE_KEEP_FRAMES, string_id(p, prune.keep));
	pprof_prune_release(&prune);
	return err;
}

static int put_profile(struct profile *p)
{
	const struct collection *c = p->collection;
	const char *preset = p->about ? p->about->default_type : "inuse_space";
	uint64_t time = 0, duration = 0, period = 0;
	int err = 0;

	put_sample_types(p, "alloc");
	put_sample_types(p, "inuse");
	for (size_t i = 0; i < c->target_count; i++) {
		p->judged |= c->targets[i].verdict.state == VERDICT_TAKEN;
		p->peaks |= c->targets[i].peak;
	}
	if (p->judged) {
		put_sample_types(p, "lost");
		for (int i = 0; i < VERDICT_CLASSES; i++)
			put_sample_types(p, verdict_class_name((enum verdict_class)i));
	}
	if (p->peaks)
		put_sample_types(p, "peak");
	for (size_t i = 0; !err && i < c->target_count; i++) {
		const struct collected_target *t = &c->targets[i];

		p->target = t;
		p->target_number = (uint32_t)i;
		if (t->time_ns > time)
			time = t->time_ns;
		if (t->elapsed_ns > duration)
			duration = t->elapsed_ns;
		period = t->sample_bytes;
		err = pprof_put_target(p);
	}
	if (err)
		return err;
	wire_uint(&p->out, PROFILE_TIME_NANOS, time);
	wire_uint(&p->out, PROFILE_DURATION_NANOS, duration);
	if (period) {
		put_value_type(p, PROFILE_PERIOD_TYPE, "space", "bytes");
		wire_uint(&p->out, PROFILE_PERIOD, period);
	}
	wire_uint(&p->out, PROFILE_DEFAULT_SAMPLE_TYPE, string_id(p, preset));
	err = put_prune(p);
	wire_string(&p->out, PROFILE_STRING_TABLE, "");
	for (size_t i = 1; i <= frame_table_string_count(p->strings); i++) {
		size_t len;
		const char *text = frame_table_string_at(p->strings, (uint32_t)i, &len);

		wire_put_name(&p->out, PROFILE_STRING_TABLE, text);
	}
	return err ?: p->out.failed ? -ENOMEM : 0;
}

/* *data is malloc'ed. 0 or -errno. */
static int pprof_make(const struct document *d, const struct pprof_about *about, uint8_t **data,
		      size_t *len)
{
	struct profile p = {.collection = &d->collection,
			    .about = about,
			    .sites = &d->base.options.sites,
			    .strings = frame_table_new()};
	int err = p.strings ? put_profile(&p) : -ENOMEM;

	if (!err)
		err = pprof_compress(&p.out, data, len);
	wire_free(&p.out);
	id_map_free(&p.functions);
	id_map_free(&p.locations);
	id_map_free(&p.mappings);
	frame_table_free(p.strings);
	return err;
}

static int pprof_write(struct document *d)
{
	_cleanup_free_ uint8_t *data = NULL;
	size_t len = 0;
	int err = pprof_make(d, NULL, &data, &len);

	return err ?: exporter_write_document(&d->base, data, len);
}

static int pprof_write_nothing(struct document *d)
{
	(void)d;
	return 0;
}

int pprof_profile(const struct report *r, const struct pprof_about *about, uint8_t **data,
		  size_t *len)
{
	const struct export_options options = {.value = EXPORT_LIVE_BYTES};
	struct exporter *e = document_new(NULL, &options, pprof_write_nothing);
	int err = e ? document_snapshot(e, r, NULL, 0) : -ENOMEM;

	*data = NULL;
	if (!err)
		err = pprof_make((struct document *)e, about, data, len);
	document_close(e);
	return err;
}

static struct exporter *pprof_open(FILE *out, const struct export_options *options)
{
	return document_new(out, options, pprof_write);
}

const struct exporter_format format_pprof = {
	.name = "pprof",
	.help = "gzipped profile.proto for pprof, Pyroscope, Parca, speedscope",
	.wants_all = true,
	.binary = true,
	.open = pprof_open,
	.snapshot = document_snapshot,
	.profiles = true,
	.close = document_close,
};

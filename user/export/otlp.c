// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * -f otlp: what a sender posts to a collector of OpenTelemetry, in a file: one
 * ExportProfilesServiceRequest. Format: opentelemetry-proto 1.11, profiles/v1development (status:
 * Alpha), and semantic-conventions 1.44, model/profile, for the attributes. Each process is a
 * resource; each of its sample types is a profile of its own, for the format has one a profile.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/base/parse.h"
#include "user/base/util.h"
#include "user/export/collect.h"
#include "user/export/otlp_tables.h"
#include "user/export/render.h"

enum request_field { REQUEST_RESOURCE_PROFILES = 1, REQUEST_DICTIONARY = 2 };
enum resource_profiles_field { RESOURCE_PROFILES_RESOURCE = 1, RESOURCE_PROFILES_SCOPE = 2 };
enum resource_field { RESOURCE_ATTRIBUTES = 1 };
enum key_value_field { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2 };
enum scope_profiles_field { SCOPE_PROFILES_SCOPE = 1, SCOPE_PROFILES_PROFILES = 2 };
enum scope_field { SCOPE_NAME = 1, SCOPE_VERSION = 2, SCOPE_ATTRIBUTES = 3 };
enum otlp_profile_field {
	OTLP_PROFILE_SAMPLE_TYPE = 1,
	OTLP_PROFILE_SAMPLES = 2,
	OTLP_PROFILE_TIME = 3,
	OTLP_PROFILE_DURATION = 4,
	OTLP_PROFILE_PERIOD_TYPE = 5,
	OTLP_PROFILE_PERIOD = 6,
	OTLP_PROFILE_ID = 7,
};
enum otlp_value_type_field { OTLP_VALUE_TYPE_TYPE = 1, OTLP_VALUE_TYPE_UNIT = 2 };
enum otlp_sample_field {
	OTLP_SAMPLE_STACK = 1,
	OTLP_SAMPLE_ATTRIBUTES = 2,
	OTLP_SAMPLE_VALUES = 4,
};
enum otlp_mapping_field {
	OTLP_MAPPING_START = 1,
	OTLP_MAPPING_LIMIT = 2,
	OTLP_MAPPING_OFFSET = 3,
	OTLP_MAPPING_FILENAME = 4,
	OTLP_MAPPING_ATTRIBUTES = 5,
};
enum otlp_location_field {
	OTLP_LOCATION_MAPPING = 1,
	OTLP_LOCATION_ADDRESS = 2,
	OTLP_LOCATION_LINES = 3,
	OTLP_LOCATION_ATTRIBUTES = 4,
};
enum otlp_line_field { OTLP_LINE_FUNCTION = 1, OTLP_LINE_LINE = 2 };
enum otlp_function_field { OTLP_FUNCTION_NAME = 1, OTLP_FUNCTION_FILENAME = 3 };
enum otlp_stack_field { OTLP_STACK_LOCATIONS = 1 };

/* Two for each amount: blocks and bytes. */
#define OTLP_AMOUNTS_MAX (3 + VERDICT_CLASSES + 1)

struct otlp {
	const struct collection *collection;
	const struct collected_target *target;
	struct otlp_tables tables;
	struct id_map stacks; /* (frames, end) -> row of OTLP_STACKS, of one target */
	struct wire out;
};

/* ---- rows of the dictionary ------------------------------------------------------------------ */

/* profile.frame.type of the semantic conventions; NULL: they have no name for it. */
static const char *otlp_frame_type(enum frame_kind kind)
{
	static const char *const types[FRAME_KINDS] = {
		[FRAME_KIND_NATIVE] = "native",	  [FRAME_KIND_PYTHON] = "cpython",
		[FRAME_KIND_JAVASCRIPT] = "v8js", [FRAME_KIND_JAVA] = "jvm",
		[FRAME_KIND_GO] = "go",		  [FRAME_KIND_RUBY] = "ruby",
		[FRAME_KIND_PHP] = "php",	  [FRAME_KIND_PERL] = "perl",
		[FRAME_KIND_DOTNET] = "dotnet",
	};

	return types[kind];
}

static void otlp_put_indices(struct wire *out, unsigned field, const uint32_t *indices, size_t n)
{
	size_t mark;

	if (!n)
		return;
	mark = wire_open(out, field);
	for (size_t i = 0; i < n; i++)
		wire_varint(out, indices[i]);
	wire_close(out, mark);
}

static uint32_t otlp_function(struct otlp *o, const struct frame *frame)
{
	char label[FRAME_LABEL_MAX];
	uint32_t name = otlp_string(&o->tables, frame_label(frame, label));
	uint32_t file = otlp_string(&o->tables, frame->file), index;
	struct wire message = {0};

	otlp_uint(&message, OTLP_FUNCTION_NAME, name);
	otlp_uint(&message, OTLP_FUNCTION_FILENAME, file);
	index = otlp_row(&o->tables, OTLP_FUNCTIONS, &message);
	wire_free(&message);
	return index;
}

static uint32_t otlp_build_id(struct otlp *o, const uint8_t *build_id, size_t len)
{
	char hex[2 * 64 + 1];

	format_hex(hex, sizeof(hex), build_id, build_id ? len : 0);
	return *hex ? otlp_attribute(&o->tables, "process.executable.build_id.gnu", hex) : 0;
}

/* A map without addresses stands for a module that is mapped no more. */
static uint32_t otlp_mapping(struct otlp *o, const struct module_map *map)
{
	uint32_t file = otlp_string(&o->tables, map->path), index;
	uint32_t build_id = otlp_build_id(o, map->build_id, map->build_id_len);
	struct wire message = {0};

	otlp_uint(&message, OTLP_MAPPING_START, map->start);
	otlp_uint(&message, OTLP_MAPPING_LIMIT, map->end);
	otlp_uint(&message, OTLP_MAPPING_OFFSET, map->end ? map->offset : 0);
	otlp_uint(&message, OTLP_MAPPING_FILENAME, file);
	otlp_put_indices(&message, OTLP_MAPPING_ATTRIBUTES, &build_id, build_id != 0);
	index = otlp_row(&o->tables, OTLP_MAPPINGS, &message);
	wire_free(&message);
	return index;
}

static uint32_t otlp_location(struct otlp *o, const struct frame *const *frames, size_t count)
{
	const struct frame *holder = frames[count - 1];
	/* What stands for callers that are not known is no code. */
	const char *type = holder->module || holder->kind != FRAME_KIND_NATIVE
				   ? otlp_frame_type(holder->kind)
				   : NULL;
	uint32_t type_index = type ? otlp_attribute(&o->tables, "profile.frame.type", type) : 0;
	struct collected_place place;
	struct wire message = {0};
	uint32_t mapping, index;

	collected_place(o->target, holder, &place);
	mapping = place.map.path ? otlp_mapping(o, &place.map) : 0;
	otlp_uint(&message, OTLP_LOCATION_MAPPING, mapping);
	otlp_uint(&message, OTLP_LOCATION_ADDRESS, place.address);
	for (size_t i = 0; i < count; i++) {
		uint32_t function = otlp_function(o, frames[i]);
		size_t line = wire_open(&message, OTLP_LOCATION_LINES);

		otlp_uint(&message, OTLP_LINE_FUNCTION, function);
		otlp_uint(&message, OTLP_LINE_LINE, frames[i]->line);
		wire_close(&message, line);
	}
	otlp_put_indices(&message, OTLP_LOCATION_ATTRIBUTES, &type_index, type != NULL);
	index = otlp_row(&o->tables, OTLP_LOCATIONS, &message);
	wire_free(&message);
	return index;
}

struct otlp_stack {
	struct otlp *otlp;
	struct wire locations;
};

static void otlp_visit_location(void *ctx, uint32_t key, const struct frame *const *frames,
				size_t count)
{
	struct otlp_stack *stack = ctx;

	(void)key;
	wire_varint(&stack->locations, otlp_location(stack->otlp, frames, count));
}

static uint32_t otlp_stack(struct otlp *o, const struct collected_stack *s)
{
	struct otlp_stack stack = {.otlp = o};
	uint64_t key = (uint64_t)s->frames << 8 | (uint64_t)s->end;
	struct wire message = {0};
	uint32_t index;

	if (id_map_get(&o->stacks, key, &index))
		return index;
	collected_stack_visit(o->collection, s, otlp_visit_location, &stack);
	wire_bytes(&message, OTLP_STACK_LOCATIONS, stack.locations.data, stack.locations.len);
	message.failed |= stack.locations.failed;
	index = otlp_row(&o->tables, OTLP_STACKS, &message);
	if (id_map_put(&o->stacks, key, index))
		o->tables.failed = true;
	wire_free(&message);
	wire_free(&stack.locations);
	return index;
}

/* ---- profiles -------------------------------------------------------------------------------- */

/* What a stack has of each amount, in the order of otlp_names(). */
static void otlp_amounts(const struct otlp *o, const struct collected_stack *s,
			 struct amount amounts[static OTLP_AMOUNTS_MAX])
{
	size_t n = 0;

	amounts[n++] = s->live;
	amounts[n++] = s->alloc;
	if (o->target->verdict.state == VERDICT_TAKEN) {
		amounts[n] = s->verdict[VERDICT_DEFINITE];
		amount_add(&amounts[n++], &s->verdict[VERDICT_INDIRECT]);
		for (int i = 0; i < VERDICT_CLASSES; i++)
			amounts[n++] = s->verdict[i];
	}
	if (o->target->peak)
		amounts[n++] = s->at_peak;
}

static size_t otlp_names(const struct otlp *o, const char *names[static OTLP_AMOUNTS_MAX])
{
	size_t n = 0;

	names[n++] = "inuse";
	names[n++] = "alloc";
	if (o->target->verdict.state == VERDICT_TAKEN) {
		names[n++] = "lost";
		for (int i = 0; i < VERDICT_CLASSES; i++)
			names[n++] = verdict_class_name((enum verdict_class)i);
	}
	if (o->target->peak)
		names[n++] = "peak";
	return n;
}

static void otlp_put_value_type(struct otlp *o, unsigned field, const char *type, const char *unit)
{
	uint32_t type_index = otlp_string(&o->tables, type);
	uint32_t unit_index = otlp_string(&o->tables, unit);
	size_t mark = wire_open(&o->out, field);

	otlp_uint(&o->out, OTLP_VALUE_TYPE_TYPE, type_index);
	otlp_uint(&o->out, OTLP_VALUE_TYPE_UNIT, unit_index);
	wire_close(&o->out, mark);
}

/* The scope of its blocks, with --scope. */
static size_t otlp_sample_attributes(struct otlp *o, const struct collected_stack *s,
				     uint32_t indices[static 2])
{
	const struct frame_table *strings = o->collection->frames;
	size_t n = 0;

	if (s->scope)
		indices[n++] = otlp_attribute(&o->tables, "scope",
					      frame_table_string_at(strings, s->scope, NULL));
	if (s->scope_tag)
		indices[n++] = otlp_attribute(&o->tables, "scope_tag",
					      frame_table_string_at(strings, s->scope_tag, NULL));
	return n;
}

static void otlp_put_sample(struct otlp *o, const struct collected_stack *s, uint64_t value)
{
	uint32_t stack = otlp_stack(o, s), attributes[2];
	size_t count = otlp_sample_attributes(o, s, attributes), mark, list;

	mark = wire_open(&o->out, OTLP_PROFILE_SAMPLES);
	otlp_uint(&o->out, OTLP_SAMPLE_STACK, stack);
	otlp_put_indices(&o->out, OTLP_SAMPLE_ATTRIBUTES, attributes, count);
	list = wire_open(&o->out, OTLP_SAMPLE_VALUES);
	wire_varint(&o->out, value);
	wire_close(&o->out, list);
	wire_close(&o->out, mark);
}

/* `which`: the amount; bytes of it, or blocks. */
static void otlp_put_profile(struct otlp *o, size_t which, const char *name, bool bytes)
{
	const struct collected_target *t = o->target;
	uint8_t id[16] = {0};
	uint32_t number = (uint32_t)(2 * which + bytes), pid = (uint32_t)t->pid;
	size_t mark = wire_open(&o->out, SCOPE_PROFILES_PROFILES);
	char type[32];

	snprintf(type, sizeof(type), "%s_%s", name, bytes ? "space" : "objects");
	otlp_put_value_type(o, OTLP_PROFILE_SAMPLE_TYPE, type, bytes ? "bytes" : "count");
	for (size_t i = 0; i < t->stack_count; i++) {
		struct amount amounts[OTLP_AMOUNTS_MAX];
		uint64_t value;

		otlp_amounts(o, &t->stacks[i], amounts);
		value = bytes ? amounts[which].bytes : amounts[which].count;
		if (value)
			otlp_put_sample(o, &t->stacks[i], value);
	}
	wire_fixed64(&o->out, OTLP_PROFILE_TIME, t->time_ns - t->elapsed_ns);
	otlp_uint(&o->out, OTLP_PROFILE_DURATION, t->elapsed_ns);
	/* Receivers name a profile by its period type, and take a period of 0 for none. */
	otlp_put_value_type(o, OTLP_PROFILE_PERIOD_TYPE, "memory", "bytes");
	otlp_uint(&o->out, OTLP_PROFILE_PERIOD, t->sample_bytes ?: 1);
	/* One for each profile; the same from the same recording. */
	memcpy(id, &t->time_ns, 8);
	memcpy(id + 8, &pid, 4);
	memcpy(id + 12, &number, 4);
	wire_bytes(&o->out, OTLP_PROFILE_ID, id, sizeof(id));
	wire_close(&o->out, mark);
}

/* ---- the request ------------------------------------------------------------------------------ */

static void otlp_put_pair(struct wire *out, unsigned field, const char *key, const char *text)
{
	size_t mark, value;

	if (!text || !*text)
		return;
	mark = wire_open(out, field);
	wire_string(out, KEY_VALUE_KEY, key);
	value = wire_open(out, KEY_VALUE_VALUE);
	wire_put_name(out, ANY_VALUE_STRING, text);
	wire_close(out, value);
	wire_close(out, mark);
}

static const char *otlp_name(const struct otlp *o, uint32_t string)
{
	return string ? frame_table_string_at(o->collection->frames, string, NULL) : NULL;
}

static void otlp_put_resource(struct otlp *o)
{
	const struct collected_target *t = o->target;
	struct wire *out = &o->out;
	size_t mark = wire_open(out, RESOURCE_PROFILES_RESOURCE), pair, value;

	otlp_put_pair(out, RESOURCE_ATTRIBUTES, "service.name", otlp_name(o, t->unit) ?: t->comm);
	pair = wire_open(out, RESOURCE_ATTRIBUTES);
	wire_string(out, KEY_VALUE_KEY, "process.pid");
	value = wire_open(out, KEY_VALUE_VALUE);
	wire_uint(out, ANY_VALUE_INT, (uint64_t)t->pid);
	wire_close(out, value);
	wire_close(out, pair);
	otlp_put_pair(out, RESOURCE_ATTRIBUTES, "process.executable.name", t->comm);
	otlp_put_pair(out, RESOURCE_ATTRIBUTES, "container.id", otlp_name(o, t->container));
	otlp_put_pair(out, RESOURCE_ATTRIBUTES, "k8s.pod.uid", otlp_name(o, t->pod));
	otlp_put_pair(out, RESOURCE_ATTRIBUTES, "k8s.pod.name", otlp_name(o, t->pod_name));
	wire_close(out, mark);
}

static void otlp_put_target(struct otlp *o)
{
	const char *names[OTLP_AMOUNTS_MAX];
	size_t count = otlp_names(o, names), mark, scopes, scope;

	mark = wire_open(&o->out, REQUEST_RESOURCE_PROFILES);
	otlp_put_resource(o);
	scopes = wire_open(&o->out, RESOURCE_PROFILES_SCOPE);
	scope = wire_open(&o->out, SCOPE_PROFILES_SCOPE);
	wire_string(&o->out, SCOPE_NAME, "memleakbpf");
	wire_string(&o->out, SCOPE_VERSION, MEMLEAKBPF_VERSION);
	otlp_put_pair(&o->out, SCOPE_ATTRIBUTES, "pprof.scope.default_sample_type", "inuse_space");
	wire_close(&o->out, scope);
	for (size_t i = 0; i < count; i++) {
		otlp_put_profile(o, i, names[i], true);
		otlp_put_profile(o, i, names[i], false);
	}
	wire_close(&o->out, scopes);
	wire_close(&o->out, mark);
}

static int otlp_write(struct document *d)
{
	struct otlp o = {.collection = &d->collection};
	int err;

	otlp_tables_init(&o.tables);
	for (size_t i = 0; i < d->collection.target_count; i++) {
		o.target = &d->collection.targets[i];
		id_map_free(&o.stacks);
		otlp_put_target(&o);
	}
	otlp_tables_put(&o.tables, &o.out, REQUEST_DICTIONARY);
	err = o.out.failed ? -ENOMEM : exporter_write_document(&d->base, o.out.data, o.out.len);
	id_map_free(&o.stacks);
	otlp_tables_release(&o.tables);
	wire_free(&o.out);
	return err;
}

static struct exporter *otlp_open(FILE *out, const struct export_options *options)
{
	return document_new(out, options, otlp_write);
}

const struct exporter_format format_otlp = {
	.name = "otlp",
	.help = "OpenTelemetry's profiles (Alpha), a request for a collector",
	.wants_all = true,
	.binary = true,
	.open = otlp_open,
	.snapshot = document_snapshot,
	.close = document_close,
};

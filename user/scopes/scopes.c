// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/scopes/scopes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/probe/probe.h"
#include "user/process/object.h"
#include "user/symbol/function_match.h"
#include "user/stacks/slots.h"
#include "user/symbol/symbol.h"
#include "user/target/scope_spec.h"
#include "user/target/provider.h"
#include "user/scopes/scopes_internal.h"

/* What one object may have, a glob's too: each takes several probes. */
#define FUNCTIONS_MAX 256

static int scopes_fill_rows(struct scopes *s)
{
	const struct scopes_options *o = &s->options;

	s->patterns = calloc(o->count, sizeof(struct function_pattern *));
	s->found = calloc(o->count, sizeof(*s->found));
	s->placeless = calloc(o->count, sizeof(*s->placeless));
	s->rows = calloc(o->count, sizeof(*s->rows));
	if (!s->patterns || !s->found || !s->placeless || !s->rows)
		return -ENOMEM;
	s->pattern_count = o->count;
	for (size_t i = 0; i < o->count; i++) {
		s->patterns[i] = function_pattern_new(o->specs[i].function);
		if (!s->patterns[i])
			return -ENOMEM;
		s->rows[i] = (struct alloc_fn){
			.name = o->specs[i].function,
			.shown = o->specs[i].text,
			.op = OP_SCOPE,
			.ptr_arg = o->specs[i].tag.arg,
		};
	}
	return 0;
}

int scopes_new(const struct scopes_options *options, const struct scopes_uses *uses,
	       struct scopes **out)
{
	struct scopes *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->options = *options;
	s->uses = *uses;
	err = scopes_fill_rows(s) ?: slots_map_array(uses->nodes, (void **)&s->nodes);
	if (err) {
		scopes_free(s);
		return err;
	}
	*out = s;
	return 0;
}

void scopes_free(struct scopes *s)
{
	if (!s)
		return;
	slots_unmap_array(s->uses.nodes, s->nodes);
	for (size_t i = 0; i < s->pattern_count; i++)
		function_pattern_free(s->patterns[i]);
	for (size_t i = 0; i < s->function_count; i++)
		free(s->functions[i]);
	free(s->functions);
	free(s->patterns);
	free(s->found);
	free(s->placeless);
	free(s->rows);
	free(s);
}

/* ---- functions ---------------------------------------------------------------------------- */

/* One number for all functions of a name, in whatever object: they are one scope. */
static int scopes_number(struct scopes *s, const char *name, uint16_t *number)
{
	for (size_t i = 0; i < s->function_count; i++) {
		if (!strcmp(s->functions[i], name)) {
			*number = (uint16_t)i;
			return 0;
		}
	}
	if (s->function_count == SCOPE_FUNCTIONS)
		return -E2BIG;
	if (!RESERVE_ITEM(s->functions, s->function_count, s->function_room, 16))
		return -ENOMEM;
	s->functions[s->function_count] = strdup(name);
	if (!s->functions[s->function_count])
		return -ENOMEM;
	*number = (uint16_t)s->function_count++;
	return 0;
}

struct scopes_search {
	struct scopes *scopes;
	struct provider *provider;
	struct debug_places *lines; /* of each option; NULL: none is a line */
	size_t room;
	bool too_many;
};

static bool scopes_wants_object(const struct scope_spec *spec, const struct object *object)
{
	const char *path = object_path(object), *slash = strrchr(path, '/');

	return !spec->object || !strcmp(path, spec->object) ||
	       (slash && !strcmp(slash + 1, spec->object));
}

static bool scopes_has(const struct provider *provider, uint64_t offset)
{
	for (size_t i = 0; i < provider->count; i++) {
		if (provider->fns[i].offset == offset)
			return true;
	}
	return false;
}

/* Takes over the name. */
static int scopes_add_function(struct scopes_search *search, size_t spec, char *name,
			       uint64_t start, uint64_t end)
{
	struct provider *provider = search->provider;
	struct scopes *s = search->scopes;
	struct provider_fn *fn;
	uint64_t offset;
	int err;

	if (object_vaddr_to_offset(provider->object, start, &offset) ||
	    !object_is_code(provider->object, offset)) {
		s->placeless[spec] = true;
		free(name);
		return 0;
	}
	s->found[spec] = true;
	if (scopes_has(provider, offset)) {
		free(name);
		return 0;
	}
	if (provider->count == FUNCTIONS_MAX) {
		search->too_many = true;
		free(name);
		return 0;
	}
	if (!RESERVE_ITEM(provider->fns, provider->count, search->room, 16)) {
		free(name);
		return -ENOMEM;
	}
	fn = &provider->fns[provider->count];
	*fn = (struct provider_fn){.fn = &s->rows[spec],
				   .offset = offset,
				   .size = end - start,
				   .name = name,
				   .scope_spec = (uint16_t)spec};
	err = scopes_number(s, name, &fn->scope_function);
	if (err) {
		search->too_many |= err == -E2BIG;
		free(name);
		return err == -E2BIG ? 0 : err;
	}
	provider->count++;
	return 0;
}

static char *scopes_show_name(const char *name, size_t len)
{
	_cleanup_free_ char *raw = strndup(name, len);

	return raw ? symbol_demangle(raw) ?: strdup(raw) : NULL;
}

/* The first of the options that means the function has it. */
static int scopes_look_at(void *ctx, const char *name, size_t len, uint64_t start, uint64_t end)
{
	struct scopes_search *search = ctx;
	const struct scopes_options *o = &search->scopes->options;
	const struct scopes *s = search->scopes;

	for (size_t i = 0; i < o->count; i++) {
		char *shown = NULL;

		if (o->specs[i].line) {
			if (!search->lines || !scopes_begins_at(&search->lines[i], start))
				continue;
			shown = scopes_show_name(name, len);
		} else if (!scopes_wants_object(&o->specs[i], search->provider->object) ||
			   !function_matches(s->patterns[i], name, len, &shown)) {
			continue;
		}
		return shown ? scopes_add_function(search, i, shown, start, end) : -ENOMEM;
	}
	return 0;
}

int scopes_find(struct scopes *scopes, struct object *object, struct provider **out)
{
	struct scopes_search search = {.scopes = scopes};
	int err;

	if (!scopes || object_is_vdso(object) || !object_is_elf64(object))
		return -ENOENT;
	search.provider = calloc(1, sizeof(*search.provider));
	if (!search.provider)
		return -ENOMEM;
	search.provider->object = object_ref(object);
	err = scopes_find_lines(scopes, object, &search.lines);
	if (!err)
		err = symbolizer_each_function(scopes->uses.symbolizer, object, scopes_look_at,
					       &search);
	free(search.lines);
	if (search.too_many)
		log_warn(
			"%s: more functions match --scope than the %d that one file may have; name "
			"fewer",
			object_path(object), FUNCTIONS_MAX);
	if (!err && !search.provider->count)
		err = -ENOENT;
	if (err) {
		provider_free(search.provider);
		return err;
	}
	for (size_t i = 0; i < search.provider->count; i++)
		log_debug("%s: scope %s", object_path(object), search.provider->fns[i].name);
	*out = search.provider;
	return 0;
}

void scopes_assign(struct probe_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct provider_fn *fn = set->probes[i].fn;
		union probe_cookie cookie = {.value = 0};

		cookie.scope_op = OP_SCOPE;
		cookie.scope_tail = set->probes[i].ends_call;
		cookie.scope_function = fn->scope_function;
		cookie.scope_tag = fn->scope_spec;
		set->probes[i].cookie = cookie.value;
	}
}

bool scopes_miss(const struct scopes *scopes, size_t *spec)
{
	size_t count = scopes && !scopes->options.anywhere ? scopes->options.count : 0;

	/* Of an object that is named the function may come later. */
	for (*spec = 0; *spec < count; ++*spec) {
		if (!scopes->found[*spec] && !scopes->options.specs[*spec].object)
			return true;
	}
	return false;
}

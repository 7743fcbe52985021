// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/scopes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "bpf/abi.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/probe/probe.h"
#include "user/process/object.h"
#include "user/symbol/function_match.h"
#include "user/symbol/symbol.h"
#include "user/target/scope_spec.h"
#include "user/trace/scopes_internal.h"
#include "user/trace/skeleton.h"

/* What one object may have, a glob's too: each takes several probes. */
#define FUNCTIONS_MAX 256

/* ---- the programs ------------------------------------------------------------------------- */

void scopes_choose_programs(struct memleakbpf *skel, const struct trace_options *options,
			    struct attach_programs *programs)
{
	const struct {
		struct bpf_program **used, *scoped;
	} pairs[] = {
		{&programs->alloc_enter, skel->progs.scoped_alloc_enter},
		{&programs->alloc_leave, skel->progs.scoped_alloc_leave},
		{&programs->alloc_return, skel->progs.scoped_alloc_return},
		{&programs->alloc_session, skel->progs.scoped_alloc_session},
		{&programs->free_enter, skel->progs.scoped_free_enter},
		{&programs->unmap_enter, skel->progs.scoped_unmap_enter},
		{&programs->usdt_free, skel->progs.scoped_usdt_free},
		{&programs->gate_alloc, skel->progs.scoped_gate_alloc},
		{&programs->gate_free, skel->progs.scoped_gate_free},
		{&programs->gate_kept, skel->progs.scoped_gate_kept},
	};
	bool wanted = options->scope_count != 0;

	programs->scopes = wanted;
	programs->scope_entered = skel->progs.scope_entered;
	programs->scope_returned = skel->progs.scope_returned;
	programs->scope_jumped = skel->progs.scope_jumped;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		bpf_program__set_autoload(wanted ? *pairs[i].used : pairs[i].scoped, false);
		if (wanted)
			*pairs[i].used = pairs[i].scoped;
	}
	bpf_program__set_autoload(skel->progs.live_ages, !wanted);
	bpf_program__set_autoload(skel->progs.scoped_live_ages, wanted);
	bpf_program__set_autoload(skel->progs.scope_thread_exits, wanted);
	bpf_program__set_autoload(skel->progs.scope_thread_execs, wanted);
	bpf_map__set_autocreate(skel->maps.scope_threads, wanted);
	if (!wanted)
		return;
	skel->rodata->scope_config = (struct scope_config){
		.only = options->scope_only,
		.find_vma = options->find_vma,
		.tags = SCOPE_TAGS,
	};
	for (size_t i = 0; i < options->scope_count && i < SCOPE_SPECS; i++)
		skel->rodata->scope_specs[i] = options->scopes[i].tag;
}

int scopes_configure(struct trace *trace)
{
	struct memleakbpf *skel = trace->skel;
	const struct {
		struct bpf_map *map;
		uint32_t entries;
	} sizes[] = {
		{skel->maps.scope_stacks, SCOPE_ROWS},
		{skel->maps.scope_free_rows, SCOPE_ROWS},
		{skel->maps.scope_nodes, SCOPE_NODES},
		{skel->maps.scope_free_nodes, SCOPE_NODES},
		{skel->maps.scope_node_of_key, SCOPE_NODES},
		{skel->maps.scope_tag_counts, SCOPE_FUNCTIONS},
		{skel->maps.scope_tags_known, SCOPE_NODES},
		{skel->maps.scope_others, SCOPE_FUNCTIONS},
		{skel->maps.slot_scopes, trace->options.max_stacks + ABI_TARGET_SLOTS},
	};
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sizes) && trace->options.scope_count && !err; i++)
		err = bpf_map__set_max_entries(sizes[i].map, sizes[i].entries);
	return err;
}

static int scopes_make(struct trace *trace)
{
	const struct trace_options *o = &trace->options;
	struct scopes *s = trace->scopes = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->patterns = calloc(o->scope_count, sizeof(struct function_pattern *));
	s->found = calloc(o->scope_count, sizeof(*s->found));
	s->placeless = calloc(o->scope_count, sizeof(*s->placeless));
	s->rows = calloc(o->scope_count, sizeof(*s->rows));
	if (!s->patterns || !s->found || !s->placeless || !s->rows)
		return -ENOMEM;
	s->pattern_count = o->scope_count;
	for (size_t i = 0; i < o->scope_count; i++) {
		s->patterns[i] = function_pattern_new(o->scopes[i].function);
		if (!s->patterns[i])
			return -ENOMEM;
		s->rows[i] = (struct alloc_fn){
			.name = o->scopes[i].function,
			.shown = o->scopes[i].text,
			.op = OP_SCOPE,
			.ptr_arg = o->scopes[i].tag.arg,
		};
	}
	return 0;
}

int scopes_start(struct trace *trace)
{
	const struct {
		struct bpf_link **link;
		const struct bpf_program *program;
	} events[] = {
		{&trace->skel->links.scope_thread_exits, trace->skel->progs.scope_thread_exits},
		{&trace->skel->links.scope_thread_execs, trace->skel->progs.scope_thread_execs},
	};
	int err;

	if (!trace->options.scope_count)
		return 0;
	err = scopes_make(trace) ?: scopes_map(trace);
	for (size_t i = 0; i < ARRAY_SIZE(events) && !err; i++) {
		*events[i].link = bpf_program__attach(events[i].program);
		if (!*events[i].link)
			err = log_errno(errno, "cannot watch the ends of threads (tracepoints)");
	}
	return err;
}

void scopes_free(struct trace *trace)
{
	struct scopes *s = trace->scopes;

	if (!s)
		return;
	scopes_unmap(trace);
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
	trace->scopes = NULL;
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
	const struct trace *trace;
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
	struct scopes *s = search->trace->scopes;
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
	const struct trace_options *o = &search->trace->options;
	const struct scopes *s = search->trace->scopes;

	for (size_t i = 0; i < o->scope_count; i++) {
		char *shown = NULL;

		if (o->scopes[i].line) {
			if (!search->lines || !scopes_begins_at(&search->lines[i], start))
				continue;
			shown = scopes_show_name(name, len);
		} else if (!scopes_wants_object(&o->scopes[i], search->provider->object) ||
			   !function_matches(s->patterns[i], name, len, &shown)) {
			continue;
		}
		return shown ? scopes_add_function(search, i, shown, start, end) : -ENOMEM;
	}
	return 0;
}

int scopes_find(const struct trace *trace, struct object *object, struct provider **out)
{
	struct scopes_search search = {.trace = trace};
	int err;

	if (!trace->options.scope_count || object_is_vdso(object) || !object_is_elf64(object))
		return -ENOENT;
	search.provider = calloc(1, sizeof(*search.provider));
	if (!search.provider)
		return -ENOMEM;
	search.provider->object = object_ref(object);
	err = scopes_find_lines(trace, object, &search.lines);
	if (!err)
		err = symbolizer_each_function(trace->symbolizer, object, scopes_look_at, &search);
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

int scopes_check(const struct trace *trace, const struct target *target)
{
	const struct trace_options *o = &trace->options;

	for (size_t i = 0; !o->scope_anywhere && i < o->scope_count; i++) {
		/* Of an object that is named the function may come later. */
		if (trace->scopes->found[i] || o->scopes[i].object)
			continue;
		return scopes_say_missing(trace, target, i);
	}
	return 0;
}

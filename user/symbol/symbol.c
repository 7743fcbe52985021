// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/symbol/symbol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/hash.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/symbol/intern.h"
#include "user/symbol/jit_name.h"
#include "user/symbol/module.h"
#include "user/symbol/process_names.h"

struct cache_key {
	uint64_t space; /* object_id, or the process's serial for code without a file */
	uint64_t offset;
	uint32_t jit;
	uint32_t is_return_address;
};

/*
 * The frames of one answer. Kept even when the cache has a better one by now: callers may hold
 * them.
 */
struct answer {
	struct answer *older;
	size_t count;
	struct frame *frames;
	uint8_t *build_id; /* of the object, which the frames outlive */
	const struct frame *pointers[];
};

struct cached {
	UT_hash_handle hh;
	struct cache_key key;
	struct answer *answer;
};

struct symbolizer {
	struct symbolizer_options options;
	struct intern_pool *strings;
	struct module_set *modules;
	struct process_set *processes;
	struct cached *cache;
	size_t jit_count; /* of entries for code without a file */
};

struct symbolizer *symbolizer_new(const struct symbolizer_options *options)
{
	struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));

	if (!symbolizer)
		return NULL;
	symbolizer->options = *options;
	symbolizer->strings = intern_pool_new();
	symbolizer->modules = module_set_new(options->debuginfod);
	symbolizer->processes = process_set_new();
	if (!symbolizer->strings || !symbolizer->modules || !symbolizer->processes) {
		symbolizer_free(symbolizer);
		return NULL;
	}
	return symbolizer;
}

static void answer_free(struct answer *answer)
{
	if (!answer)
		return;
	free(answer->frames);
	free(answer->build_id);
	free(answer);
}

static void cached_free(struct symbolizer *symbolizer, struct cached *cached)
{
	HASH_DEL(symbolizer->cache, cached);
	symbolizer->jit_count -= cached->key.jit;
	while (cached->answer) {
		struct answer *older = cached->answer->older;

		answer_free(cached->answer);
		cached->answer = older;
	}
	free(cached);
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	struct cached *cached;
	struct cached *next;

	if (!symbolizer)
		return;
	HASH_ITER (hh, symbolizer->cache, cached, next)
		cached_free(symbolizer, cached);
	module_set_free(symbolizer->modules);
	process_set_free(symbolizer->processes);
	intern_pool_free(symbolizer->strings);
	free(symbolizer);
}

/* Most processes have no such code, so this seldom goes through the cache. */
static void forget_jit(struct symbolizer *symbolizer, uint64_t serial)
{
	struct cached *cached;
	struct cached *next;

	if (!symbolizer->jit_count)
		return;
	HASH_ITER (hh, symbolizer->cache, cached, next) {
		if (cached->key.jit && cached->key.space == serial)
			cached_free(symbolizer, cached);
	}
}

int symbolizer_note_process(struct symbolizer *symbolizer, pid_t pid)
{
	uint64_t before = process_set_serial(symbolizer->processes, pid);
	struct process *process = process_set_get(symbolizer->processes, pid, true);

	if (!process)
		return -ENOMEM;
	process_ref(process);
	/* The pid belongs to another process by now. */
	if (before && before != process_serial(process))
		forget_jit(symbolizer, before);
	return 0;
}

void symbolizer_forget_process(struct symbolizer *symbolizer, pid_t pid)
{
	uint64_t serial = process_set_serial(symbolizer->processes, pid);

	process_set_unref(symbolizer->processes, pid);
	if (serial && !process_set_serial(symbolizer->processes, pid))
		forget_jit(symbolizer, serial);
}

size_t symbolizer_process_count(const struct symbolizer *symbolizer)
{
	return process_set_count(symbolizer->processes);
}

static struct answer *answer_new(size_t count)
{
	struct answer *answer = calloc(1, sizeof(*answer) + count * sizeof(answer->pointers[0]));

	if (!answer)
		return NULL;
	answer->frames = calloc(count, sizeof(*answer->frames));
	if (!answer->frames) {
		free(answer);
		return NULL;
	}
	answer->count = count;
	for (size_t i = 0; i < count; i++)
		answer->pointers[i] = &answer->frames[i];
	return answer;
}

/* Sets *out to the pool's copy; no text, or an empty one, stays NULL: unknown. */
static int set_string(struct symbolizer *symbolizer, const char **out, const char *text, size_t len)
{
	if (!text || !len || !*text)
		return 0;
	*out = intern_bytes(symbolizer->strings, text, len);
	return *out ? 0 : -ENOMEM;
}

static int set_text(struct symbolizer *symbolizer, const char **out, const char *text)
{
	return set_string(symbolizer, out, text, text ? strlen(text) : 0);
}

/* Takes a symbol table's name; a mangled one gives two. */
static int set_symbol_name(struct symbolizer *symbolizer, struct frame *frame, const char *name,
			   size_t len)
{
	_cleanup_free_ char *copy = strndup(name, len);
	_cleanup_free_ char *demangled = NULL;
	int err = 0;

	if (!copy)
		return -ENOMEM;
	demangled = symbol_demangle(copy);
	if (demangled)
		err = set_text(symbolizer, &frame->symbol, copy);
	return err ?: set_text(symbolizer, &frame->function, demangled ? demangled : copy);
}

static int set_module(struct symbolizer *symbolizer, struct frame *frame,
		      const struct object *object)
{
	int err = set_text(symbolizer, &frame->module,
			   object_is_vdso(object) ? "[vdso]" : object_name(object));

	if (!err)
		err = set_text(symbolizer, &frame->module_path, object_path(object));
	frame->build_id = object_build_id(object, &frame->build_id_len);
	return err;
}

/* The code in question, in the object's link-time addresses. */
struct place {
	uint64_t lookup;   /* in the instruction: the call for a return address */
	uint64_t reported; /* in the frame */
};

/*
 * Joins a relative name to the compilation's directory if that is absolute. Distributions map the
 * directory to something relative ("./malloc"), which would only repeat the name.
 */
static int set_file(struct symbolizer *symbolizer, struct frame *frame,
		    const struct source_frame *source)
{
	char joined[INTERN_MAX];
	int len;

	if (!source->file || source->file[0] == '/' || !source->directory ||
	    source->directory[0] != '/')
		return set_text(symbolizer, &frame->file, source->file);
	len = snprintf(joined, sizeof(joined), "%s/%s", source->directory, source->file);
	if (len < 0 || (size_t)len >= sizeof(joined))
		return set_text(symbolizer, &frame->file, source->file);
	return set_text(symbolizer, &frame->file, joined);
}

static int keep_build_id(struct answer *answer, const struct frame *common)
{
	if (!common->build_id)
		return 0;
	answer->build_id = malloc(common->build_id_len);
	if (!answer->build_id)
		return -ENOMEM;
	memcpy(answer->build_id, common->build_id, common->build_id_len);
	for (size_t i = 0; i < answer->count; i++)
		answer->frames[i].build_id = answer->build_id;
	return 0;
}

static int fill_frame(struct symbolizer *symbolizer, struct frame *frame,
		      const struct source_frame *source, const struct frame *common)
{
	int err;

	*frame = *common;
	if (!source)
		return 0;
	err = set_file(symbolizer, frame, source);
	frame->line = frame->file ? source->line : 0;
	return err;
}

static int build_frames(struct symbolizer *symbolizer, const struct source_stack *sources,
			const struct frame *common, struct answer **out)
{
	/*
	 * Without inlines only the real function stays, with the line at which the inlined call was
	 * made.
	 */
	size_t first = sources->count && !symbolizer->options.inlines ? sources->count - 1 : 0;
	size_t count = sources->count ? sources->count - first : 1;
	struct answer *answer = answer_new(count);
	int err = 0;

	if (!answer)
		return -ENOMEM;
	for (size_t i = 0; i < count && !err; i++) {
		const struct source_frame *source =
			sources->count ? &sources->frames[first + i] : NULL;
		struct frame *frame = &answer->frames[i];

		err = fill_frame(symbolizer, frame, source, common);
		if (err || i + 1 == count)
			continue;
		frame->inlined = true;
		frame->function = frame->symbol = NULL;
		err = set_text(symbolizer, &frame->function, source->function);
	}
	err = err ?: keep_build_id(answer, common);
	if (err) {
		answer_free(answer);
		return err;
	}
	*out = answer;
	return 0;
}

static int resolve_place(struct symbolizer *symbolizer, struct module *module, struct place place,
			 struct frame *common, struct source_stack *sources)
{
	uint64_t start = 0;
	size_t len = 0;
	const char *name = module_symbol(module, place.lookup, &len, &start);
	const struct source_frame *function;
	int err = 0;

	common->kind = module_is_go(module, place.lookup) ? FRAME_KIND_GO : FRAME_KIND_NATIVE;
	module_lines(module, place.lookup, sources);
	if (name) {
		err = set_symbol_name(symbolizer, common, name, len);
		common->offset = place.reported - start;
		return err;
	}
	/* There is no symbol table, but debug information. */
	function = sources->count ? &sources->frames[sources->count - 1] : NULL;
	if (function && function->function && sources->entry <= place.lookup) {
		err = set_text(symbolizer, &common->function, function->function);
		common->offset = place.reported - sources->entry;
	}
	return err;
}

static int resolve_object(struct symbolizer *symbolizer, const struct location *location, pid_t pid,
			  bool is_return_address, struct answer **out)
{
	struct process *process = process_set_get(symbolizer->processes, pid, false);
	uint64_t back = is_return_address && location->offset ? 1 : 0;
	struct source_stack sources = {.count = 0};
	struct frame common = {.function = NULL};
	struct module *module;
	struct place place;
	int err;

	if (!process)
		return -ENOMEM;
	err = set_module(symbolizer, &common, location->object);
	if (err)
		return err;
	/*
	 * No segment: a file that changed under its mapping. Then there is no better address than
	 * the offset.
	 */
	if (object_offset_to_vaddr(location->object, location->offset - back, &place.lookup)) {
		common.offset = common.module_offset = location->offset;
		return build_frames(symbolizer, &sources, &common, out);
	}
	place.reported = place.lookup + back;
	common.offset = common.module_offset = place.reported;
	module = module_set_get(symbolizer->modules, location->object, process_root_fd(process));
	if (!module)
		return -ENOMEM;
	err = resolve_place(symbolizer, module, place, &common, &sources);
	if (!err)
		err = build_frames(symbolizer, &sources, &common, out);
	source_stack_release(&sources);
	return err;
}

/* Takes a perf map's name apart: a runtime's own notation has a function, a script and a line. */
static int set_jit_name(struct symbolizer *symbolizer, struct frame *frame, const char *name,
			size_t len)
{
	const struct jit_name parts = jit_name_parse(name, len);
	const char *function = NULL, *file = NULL, *whole = NULL;
	uint64_t address = frame->module_offset;
	int err = set_string(symbolizer, &function, parts.function, parts.function_len);

	err = err ?: set_string(symbolizer, &file, parts.file, parts.file_len);
	if (parts.function_len != len)
		err = err ?: set_string(symbolizer, &whole, name, len);
	if (err || !function)
		return err;
	*frame = frame_managed(parts.kind, function, file, parts.line);
	frame->line_begins = frame->line != 0;
	frame->symbol = whole;
	frame->module_offset = address;
	return 0;
}

/*
 * *out stays NULL when there is no name, and `asked_before` says that there already is an answer
 * without one.
 */
static int resolve_jit(struct symbolizer *symbolizer, struct process *process, uint64_t address,
		       bool is_return_address, bool asked_before, struct answer **out)
{
	uint64_t lookup = is_return_address && address ? address - 1 : address;
	struct frame common = {.offset = address, .module_offset = address};
	const struct source_stack sources = {.count = 0};
	uint64_t start = 0;
	size_t len = 0;
	const char *name = process_jit_symbol(process, lookup, &len, &start);
	int err = name ? set_jit_name(symbolizer, &common, name, len) : 0;

	if (common.function)
		common.offset = address - start;
	else if (asked_before)
		return err;
	return err ? err : build_frames(symbolizer, &sources, &common, out);
}

/* A name may still come for code without a file: the runtime writes its map as it compiles. */
static bool is_final(const struct cached *cached)
{
	return !cached->key.jit || cached->answer->frames[0].function;
}

static int symbol_remember(struct symbolizer *symbolizer, const struct cache_key *key,
			   struct cached *cached, struct answer *answer)
{
	if (!cached) {
		cached = calloc(1, sizeof(*cached));
		if (!cached)
			return -ENOMEM;
		cached->key = *key;
		HASH_ADD(hh, symbolizer->cache, key, sizeof(cached->key), cached);
		if (!cached->hh.tbl) { /* how uthash tells that it ran out of memory */
			free(cached);
			return -ENOMEM;
		}
		symbolizer->jit_count += key->jit;
	}
	answer->older = cached->answer;
	cached->answer = answer;
	return 0;
}

int symbolizer_resolve(struct symbolizer *symbolizer, const struct location *location, pid_t pid,
		       bool is_return_address, const struct frame *const **frames, size_t *count)
{
	struct cache_key key = {.offset = location->offset,
				.jit = location->object == NULL,
				.is_return_address = is_return_address};
	struct process *process = NULL;
	struct answer *answer = NULL;
	struct cached *cached;
	int err;

	if (!location->object) {
		process = process_set_get(symbolizer->processes, pid, false);
		if (!process)
			return -ENOMEM;
	}
	key.space = process ? process_serial(process) : object_id(location->object);
	HASH_FIND(hh, symbolizer->cache, &key, sizeof(key), cached);
	if (!cached || !is_final(cached)) {
		err = process ? resolve_jit(symbolizer, process, location->offset,
					    is_return_address, cached != NULL, &answer)
			      : resolve_object(symbolizer, location, pid, is_return_address,
					       &answer);
		if (!err && answer)
			err = symbol_remember(symbolizer, &key, cached, answer);
		if (err) {
			answer_free(answer);
			return err;
		}
	}
	if (!answer)
		answer = cached->answer;
	*frames = answer->pointers;
	*count = answer->count;
	return 0;
}

void symbolizer_forget_files(struct symbolizer *symbolizer)
{
	struct module_set *none = module_set_new(symbolizer->options.debuginfod);

	if (!none)
		return;
	module_set_free(symbolizer->modules);
	symbolizer->modules = none;
}

typedef const char *(*find_symbol_fn)(struct module *module, uint64_t at, size_t *len,
				      uint64_t *start);

static int name_variable(struct symbolizer *symbolizer, struct object *object, find_symbol_fn find,
			 uint64_t at, pid_t pid, const char **name, uint64_t *offset)
{
	struct process *process = process_set_get(symbolizer->processes, pid, false);
	struct module *module;
	struct frame common = {.function = NULL};
	uint64_t start;
	const char *found;
	size_t len;
	int err = 0;

	*name = NULL;
	if (!process)
		return -ENOMEM;
	module = module_set_get(symbolizer->modules, object, process_root_fd(process));
	if (!module)
		return -ENOMEM;
	found = find(module, at, &len, &start);
	if (found)
		err = set_symbol_name(symbolizer, &common, found, len);
	*name = common.function;
	*offset = found ? at - start : 0;
	return err;
}

int symbolizer_name_data(struct symbolizer *symbolizer, struct object *object, uint64_t vaddr,
			 pid_t pid, const char **name, uint64_t *offset)
{
	return name_variable(symbolizer, object, module_data_symbol, vaddr, pid, name, offset);
}

int symbolizer_name_tls(struct symbolizer *symbolizer, struct object *object, uint64_t place,
			pid_t pid, const char **name, uint64_t *offset)
{
	return name_variable(symbolizer, object, module_tls_symbol, place, pid, name, offset);
}

int symbolizer_types(struct symbolizer *symbolizer, struct object *object, pid_t pid,
		     uint64_t deadline_ns, struct type_table **out)
{
	struct process *process = process_set_get(symbolizer->processes, pid, false);
	struct module *module;

	*out = NULL;
	if (!process)
		return -ENOMEM;
	module = module_set_get(symbolizer->modules, object, process_root_fd(process));
	if (!module)
		return -ENOMEM;
	return module_types(module, deadline_ns, out);
}

int symbolizer_each_function(struct symbolizer *symbolizer, struct object *object,
			     int (*fn)(void *ctx, const char *name, size_t len, uint64_t start,
				       uint64_t end),
			     void *ctx)
{
	struct module *module = module_set_get(symbolizer->modules, object, -1);

	return module ? module_each_function(module, fn, ctx) : -ENOMEM;
}

int symbolizer_places(struct symbolizer *symbolizer, struct object *object,
		      const struct debug_place_query *query, struct debug_places *out)
{
	struct module *module = module_set_get(symbolizer->modules, object, -1);

	*out = (struct debug_places){.count = 0};
	if (!module)
		return -ENOMEM;
	module_places(module, query, out);
	return 0;
}

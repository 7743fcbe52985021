// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* --scope by a line of the source, and what debug information says of a function that is not there. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/symbol/symbol.h"
#include "user/target/image.h"
#include "user/target/scope_spec.h"
#include "user/scopes/scopes.h"
#include "user/scopes/scopes_internal.h"

/* Inlined calls that are named. */
#define CALLS_NAMED 5

/* False: the text is longer than any that could be there. */
static bool scopes_query(const struct scope_spec *spec, struct debug_place_query *query)
{
	size_t length = strlen(spec->function);

	*query = (struct debug_place_query){.line = spec->line};
	if (length >= sizeof(query->text))
		return false;
	memcpy(query->text, spec->function, length + 1);
	return true;
}

int scopes_find_lines(const struct scopes *scopes, struct object *object, struct debug_places **out)
{
	const struct scopes_options *o = &scopes->options;
	struct debug_place_query query;
	int err = 0;

	*out = NULL;
	for (size_t i = 0; i < o->count && !err; i++) {
		if (!o->specs[i].line || !scopes_query(&o->specs[i], &query))
			continue;
		if (!*out)
			*out = calloc(o->count, sizeof(**out));
		err = *out ? symbolizer_places(scopes->uses.symbolizer, object, &query, &(*out)[i])
			   : -ENOMEM;
	}
	return err;
}

bool scopes_begins_at(const struct debug_places *places, uint64_t vaddr)
{
	for (size_t i = 0; i < places->count; i++) {
		if (places->items[i].vaddr == vaddr)
			return true;
	}
	return false;
}

/* "main.c:12, main.c:20 and 3 others"; false: there is no such call. */
static bool scopes_say_calls(const struct debug_places *places, char *to, size_t size)
{
	size_t at = 0, named = places->count < CALLS_NAMED ? places->count : CALLS_NAMED;

	for (size_t i = 0; i < named && at < size; i++)
		at += (size_t)snprintf(to + at, size - at, "%s%s:%" PRIu32, i ? ", " : "",
				       places->items[i].file, places->items[i].line);
	if (places->count > named && at < size)
		snprintf(to + at, size - at, " and %s%zu others",
			 places->count == DEBUG_PLACES_MAX ? "more than " : "",
			 places->count - named);
	return named != 0;
}

/* Where in what the process maps calls of the function were inlined. */
static bool scopes_find_calls(const struct scopes *scopes, const struct image *image,
			      const struct scope_spec *spec, char *to, size_t size)
{
	_cleanup_free_ struct debug_places *places = calloc(1, sizeof(*places));
	size_t ranges = image ? image_range_count(image) : 0;
	const struct object *before = NULL;
	struct debug_place_query query;

	if (!places || !scopes_query(spec, &query))
		return false;
	for (size_t i = 0; i < ranges; i++) {
		struct object *object = image_range_at(image, i)->object;

		if (!object || object == before || object_is_vdso(object) ||
		    !object_is_elf64(object))
			continue;
		before = object;
		if (!symbolizer_places(scopes->uses.symbolizer, object, &query, places) &&
		    scopes_say_calls(places, to, size))
			return true;
	}
	return false;
}

void scopes_say_missing(const struct scopes *scopes, const struct scopes_process *process,
			size_t spec)
{
	const struct scope_spec *scope = &scopes->options.specs[spec];
	char calls[1024];

	if (scopes->placeless[spec])
		log_error("--scope %s: in process %d (%s) there is no place for a probe: what has "
			  "that name is no code of a file",
			  scope->text, process->pid, process->comm);
	else if (scope->line)
		log_error("--scope %s: no function of process %d (%s) begins at that line (a line "
			  "from a function's name to the first of its body is wanted; has the file "
			  "debug information?)",
			  scope->text, process->pid, process->comm);
	else if (scopes_find_calls(scopes, process->image, scope, calls, sizeof(calls)))
		log_error("--scope %s: inlined everywhere in process %d (%s), at %s: name a "
			  "function around it, or have it compiled with "
			  "__attribute__((noinline))",
			  scope->text, process->pid, process->comm, calls);
	else if (process->language)
		log_error("--scope %s: process %d (%s) has no native function of that name, and "
			  "functions of %s cannot be scopes: no code of a file is theirs; "
			  "OBJECT:FUNCTION is for a library that is loaded later",
			  scope->text, process->pid, process->comm, process->language);
	else
		log_error("--scope %s: process %d (%s) has no function of that name (has it "
			  "symbols? is the name spelled as in its stacks?); OBJECT:FUNCTION is for "
			  "a library that is loaded later",
			  scope->text, process->pid, process->comm);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/symbol/debug_places.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/symbol/function_match.h"

#define PLACES_DEPTH_MAX 96
/* Entries that are looked at; a browser has some 100 millions. */
#define PLACES_STEPS (1ull << 28)

struct places_search {
	const struct debug_place_query *query;
	struct function_pattern *pattern; /* of inlined calls */
	struct debug_places *out;
	uint64_t bias, steps;
	Dwarf_Die unit;
};

static bool places_is_file(const char *path, const char *text)
{
	size_t len = strlen(path), want = strlen(text);

	return len >= want && !strcmp(path + len - want, text) &&
	       (len == want || path[len - want - 1] == '/' || *text == '/');
}

static void places_add(struct places_search *s, uint64_t vaddr, const char *file, uint64_t line)
{
	struct debug_places *out = s->out;
	struct debug_place *place = &out->items[out->count];

	if (out->count == DEBUG_PLACES_MAX || line > UINT32_MAX)
		return;
	for (size_t i = 0; i < out->count; i++) {
		const struct debug_place *other = &out->items[i];

		if (other->vaddr == vaddr && other->line == line &&
		    !strncmp(other->file, file, sizeof(other->file) - 1))
			return;
	}
	*place = (struct debug_place){.vaddr = vaddr, .line = (uint32_t)line};
	snprintf(place->file, sizeof(place->file), "%s", file);
	out->count++;
}

/* The first line of the body, behind the prologue; 0: unknown. */
static uint64_t places_body_line(struct places_search *s, Dwarf_Die *function, const char *file)
{
	Dwarf_Addr *addresses = NULL;
	int count = dwarf_entry_breakpoints(function, &addresses), number = 0;
	Dwarf_Line *line = count > 0 ? dwarf_getsrc_die(&s->unit, addresses[0]) : NULL;
	const char *source = line ? dwarf_linesrc(line, NULL, NULL) : NULL;

	free(addresses);
	/* The line may belong to a function that was inlined there. */
	if (!source || strcmp(source, file) != 0 || dwarf_lineno(line, &number))
		return 0;
	return number > 0 ? (uint64_t)number : 0;
}

static void places_look_at_function(struct places_search *s, Dwarf_Die *die)
{
	const char *file = dwarf_decl_file(die);
	uint64_t wanted = s->query->line, body;
	Dwarf_Addr entry;
	int line = 0;

	if (!file || dwarf_decl_line(die, &line) || line <= 0 || wanted < (uint64_t)line ||
	    !places_is_file(file, s->query->text) || dwarf_entrypc(die, &entry) || entry <= 1)
		return;
	body = places_body_line(s, die, file);
	if (wanted == (uint64_t)line || wanted <= body)
		places_add(s, entry - s->bias, file, (uint64_t)line);
}

static const char *places_raw_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name =
		dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));

	return name ?: dwarf_diename(die);
}

static void places_look_at_call(struct places_search *s, Dwarf_Die *die)
{
	const char *name = places_raw_name(die), *file = NULL;
	_cleanup_free_ char *shown = NULL;
	Dwarf_Attribute attribute;
	Dwarf_Word value, line = 0;
	Dwarf_Files *files;
	size_t count;

	if (!name || !function_matches(s->pattern, name, strlen(name), &shown))
		return;
	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &value) == 0 &&
	    dwarf_getsrcfiles(&s->unit, &files, &count) == 0 && value < count)
		file = dwarf_filesrc(files, value, NULL, NULL);
	if (file && dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &line) == 0)
		places_add(s, 0, file, line);
}

static void places_walk(struct places_search *s, Dwarf_Die *die, int depth)
{
	Dwarf_Die child;

	if (depth > PLACES_DEPTH_MAX || dwarf_child(die, &child))
		return;
	do {
		int tag = dwarf_tag(&child);

		if (!s->steps)
			return;
		s->steps--;
		if (tag == DW_TAG_subprogram && s->query->line)
			places_look_at_function(s, &child);
		else if (tag == DW_TAG_inlined_subroutine && !s->query->line)
			places_look_at_call(s, &child);
		if (dwarf_haschildren(&child))
			places_walk(s, &child, depth + 1);
	} while (s->out->count < DEBUG_PLACES_MAX && dwarf_siblingof(&child, &child) == 0);
}

/* Has the unit any code from that file? */
static bool places_unit_has(struct places_search *s)
{
	Dwarf_Files *files;
	size_t count;

	if (!s->query->line)
		return true;
	if (dwarf_getsrcfiles(&s->unit, &files, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		const char *file = dwarf_filesrc(files, i, NULL, NULL);

		if (file && places_is_file(file, s->query->text))
			return true;
	}
	return false;
}

void debug_places_find(Dwarf *dwarf, uint64_t bias, const struct debug_place_query *query,
		       struct debug_places *out)
{
	struct places_search s = {.query = query, .out = out, .bias = bias, .steps = PLACES_STEPS};
	Dwarf_CU *cu = NULL;
	uint8_t kind;

	*out = (struct debug_places){.count = 0};
	s.pattern = function_pattern_new(query->text);
	if (!s.pattern)
		return;
	while (dwarf_get_units(dwarf, cu, &cu, NULL, &kind, &s.unit, NULL) == 0) {
		if (kind != DW_UT_type && kind != DW_UT_split_type && places_unit_has(&s))
			places_walk(&s, &s.unit, 0);
	}
	function_pattern_free(s.pattern);
}

void debug_places_pack(const struct debug_places *places, struct bytes_writer *to)
{
	bytes_put_32(to, (uint32_t)places->count);
	for (size_t i = 0; i < places->count; i++) {
		const struct debug_place *place = &places->items[i];
		uint32_t len = (uint32_t)strlen(place->file);

		bytes_put_64(to, place->vaddr);
		bytes_put_32(to, place->line);
		bytes_put_32(to, len);
		bytes_put(to, place->file, len);
	}
}

int debug_places_parse(struct bytes_reader *from, struct debug_places *out)
{
	uint32_t count = bytes_get_32(from);

	*out = (struct debug_places){.count = 0};
	for (uint32_t i = 0; !from->bad && i < count && i < DEBUG_PLACES_MAX; i++) {
		struct debug_place *place = &out->items[i];
		uint64_t vaddr = bytes_get_64(from);
		uint32_t line = bytes_get_32(from), len = bytes_get_32(from);
		const uint8_t *text =
			from->bad || len >= sizeof(place->file) ? NULL : bytes_take(from, len);

		if (!text)
			break;
		*place = (struct debug_place){.vaddr = vaddr, .line = line};
		memcpy(place->file, text, len);
		out->count++;
	}
	if (!from->bad && out->count == count)
		return 0;
	out->count = 0;
	return -EBADMSG;
}

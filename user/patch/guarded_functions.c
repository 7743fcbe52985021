// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/patch/guarded_functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/gate/displace.h"
#include "user/gate/leads.h"
#include "user/gate/parts.h"
#include "user/guard/guard_names.h"
#include "user/process/elf_symbols.h"
#include "user/target/plt.h"
#include "user/patch/guarded_objects.h"

/* prctl and syscall: what may give a thread a filter. */
#define LEAVE_FUNCTIONS 2

/* A function of the table that the object has. */
struct found_function {
	const struct guard_name *name;
	uint64_t offset, size; /* in the file */
};

struct function_search {
	const struct object *object;
	const struct guard_allocator *allocator;
	struct found_function *found; /* by the table's index; no name: it has none */
	char *strange;		      /* owned; the first that nobody knows */
};

static int functions_look_at(void *ctx, const char *name, const GElf_Sym *sym)
{
	struct function_search *s = ctx;
	size_t count;
	const struct guard_name *names = guard_names(&count);
	uint64_t offset;

	if (GELF_ST_TYPE(sym->st_info) == STT_GNU_IFUNC &&
	    guard_name_is_strange(s->allocator, name))
		s->strange = s->strange ?: strdup(name);
	if (GELF_ST_TYPE(sym->st_info) != STT_FUNC || !sym->st_value ||
	    object_vaddr_to_offset(s->object, sym->st_value, &offset) ||
	    !object_is_code(s->object, offset))
		return 0;
	for (size_t i = 0; i < count; i++) {
		if ((names[i].of & s->allocator->bit) && !strcmp(names[i].name, name))
			s->found[i] = (struct found_function){&names[i], offset, sym->st_size};
	}
	if (guard_name_is_strange(s->allocator, name))
		s->strange = s->strange ?: strdup(name);
	return 0;
}

/* *found: to be freed, as long as the table. */
static int functions_list(const struct object *object, const struct guard_allocator *allocator,
			  struct found_function **found, char reason[static REASON_MAX])
{
	_cleanup_elf_ Elf *elf = object_elf(object, ELF_FOR_SYMBOLS);
	struct function_search s = {.object = object, .allocator = allocator};
	size_t count;
	int err;

	guard_names(&count);
	s.found = *found = calloc(count + 1, sizeof(**found));
	if (!s.found)
		return refuse(reason, -ENOMEM, "no memory");
	err = elf ? elf_symbols(elf, SHT_DYNSYM, functions_look_at, &s) : -EBADMSG;
	if (err)
		return refuse(reason, err, "the symbols of %s cannot be read", object_name(object));
	if (s.strange)
		err = refuse(reason, -EOPNOTSUPP,
			     "%s has %s, of which is not known whether it takes a block",
			     object_name(object), s.strange);
	free(s.strange);
	return err;
}

/* The one of the list that begins there. */
static const struct gate_wanted *functions_at(const struct guarded_functions *out, uint64_t address)
{
	for (size_t i = 0; i < out->count; i++) {
		if (out->items[i].address == address)
			return &out->items[i];
	}
	return NULL;
}

/*
 * Of a function that is a jump by a slot of the PLT that nobody has used yet: the name of where it will go.
 * NULL: it is something else. The name is the Elf's.
 */
static const char *functions_later_name(Elf *elf, const struct guarded_functions *out,
					uint64_t offset)
{
	const struct object_text *text = &out->text;
	uint64_t at = offset - text->offset, to, vaddr, slot;
	struct plt_symbol symbol;
	int32_t distance;

	if (at + DISPLACE_JUMP > text->size || text->bytes[at] != 0xe9)
		return NULL;
	memcpy(&distance, text->bytes + at + 1, sizeof(distance));
	to = at + DISPLACE_JUMP + (uint64_t)(int64_t)distance;
	if (to >= text->size || text->size - to < PLT_ENTRY ||
	    object_offset_to_vaddr(out->object, text->offset + to, &vaddr))
		return NULL;
	slot = plt_slot(text->bytes + to, PLT_ENTRY, vaddr);
	return slot && plt_symbol(elf, slot, &symbol) ? symbol.name : NULL;
}

/*
 * Does the call go to a function that has a guard, or that can do without one? That function is the
 * one in this object. It comes before all others of that name, as guarded_object_find() knows.
 */
static bool functions_goes_on(const struct found_function *found, uint64_t offset,
			      const struct guarded_functions *out)
{
	_cleanup_elf_ Elf *elf = object_elf(out->object, ELF_FOR_SYMBOLS);
	const char *name = elf ? functions_later_name(elf, out, offset) : NULL;
	size_t count;

	guard_names(&count);
	for (size_t i = 0; name && i < count; i++) {
		if (found[i].name && found[i].name->kind != GUARD_KIND_NONE &&
		    !strcmp(found[i].name->name, name))
			return true;
	}
	return false;
}

/* Is there room for a jump? Without it the function is left out, unless it is needed. */
static bool functions_can_have(const struct guarded_functions *out,
			       const struct gate_wanted *wanted)
{
	const struct gate_request request = {
		.text = out->text.bytes,
		.text_address = out->text.address,
		.text_size = out->text.size,
	};
	struct gate_part part = {0};
	char unused[REASON_MAX];

	return !gate_part_plan(&request, wanted, &part, unused);
}

static int functions_add(const struct image *image, const struct leads_object *leads,
			 const struct found_function *all, size_t index,
			 struct guarded_functions *out, char reason[static REASON_MAX])
{
	const struct found_function *found = &all[index];
	const struct guard_name *name = found->name;
	uint64_t entry = out->text.address + (found->offset - out->text.offset), address = entry;
	struct gate_wanted wanted;
	const struct gate_wanted *same;
	const char *why = "";

	if (!out->with_new && guard_name_is_new(name))
		return 0;
	if (leads_beginning(leads, &address, &why))
		return functions_goes_on(all, found->offset, out) || !guard_name_needed(name)
			       ? 0
			       : refuse(reason, -EOPNOTSUPP, "%s: %s", name->name, why);
	same = functions_at(out, address);
	if (name->kind == GUARD_KIND_NONE)
		return same ? 0 : guarded_object_uses(image, out->object, name->name, reason);
	if (same && same->kind != name->kind)
		return refuse(reason, -EOPNOTSUPP, "%s is also %s", name->name, same->name);
	if (same)
		return 0;
	wanted = (struct gate_wanted){
		.name = name->name,
		.address = address,
		.size = address == entry ? found->size : 0,
		.kind = name->kind,
		.arguments = name->arguments,
	};
	if (!guard_name_needed(name) && !functions_can_have(out, &wanted))
		return 0;
	out->pcs[out->count] = entry;
	out->items[out->count++] = wanted;
	return 0;
}

/* What the reallocs' blocks are taken from, by its place in the list. */
static int functions_find_instead(const struct found_function *found, struct guarded_functions *out,
				  char reason[static REASON_MAX])
{
	size_t count;
	const struct guard_name *names = guard_names(&count);

	for (size_t i = 0; i < out->count; i++) {
		const char *instead = NULL;
		bool has = false;

		for (size_t n = 0; n < count; n++) {
			if (found[n].name && !strcmp(names[n].name, out->items[i].name))
				instead = names[n].instead;
		}
		for (size_t j = 0; instead && j < out->count && !has; j++) {
			has = !strcmp(out->items[j].name, instead);
			out->items[i].instead = j;
		}
		if (instead && !has)
			return refuse(reason, -EOPNOTSUPP, "it has %s and no %s",
				      out->items[i].name, instead);
	}
	return 0;
}

/* All that are found, in the order of the table. */
static int functions_fill(const struct image *image, const struct found_function *found,
			  struct guarded_functions *out, char reason[static REASON_MAX])
{
	struct leads_object leads = object_text_leads(&out->text, image);
	size_t count;
	int err = 0;

	guard_names(&count);
	out->items = calloc(count + LEAVE_FUNCTIONS, sizeof(*out->items));
	out->pcs = calloc(count + LEAVE_FUNCTIONS, sizeof(*out->pcs));
	if (!out->items || !out->pcs)
		return refuse(reason, -ENOMEM, "no memory");
	for (size_t i = 0; i < count && !err; i++) {
		if (found[i].name)
			err = functions_add(image, &leads, found, i, out, reason);
	}
	return err ?: functions_find_instead(found, out, reason);
}

/* ---- what may give a thread a filter ------------------------------------------------------- */

struct leave_function {
	const char *name;
	uint32_t kind, arguments;
	uint64_t offset, size; /* in the file; no size: it is not there */
};

struct leave_search {
	const struct object *libc;
	struct leave_function functions[LEAVE_FUNCTIONS];
};

static int leave_look_at(void *ctx, const char *name, const GElf_Sym *sym)
{
	struct leave_search *s = ctx;

	for (size_t i = 0; i < LEAVE_FUNCTIONS; i++) {
		struct leave_function *function = &s->functions[i];

		if (GELF_ST_TYPE(sym->st_info) == STT_FUNC && sym->st_value &&
		    !strcmp(function->name, name) &&
		    !object_vaddr_to_offset(s->libc, sym->st_value, &function->offset))
			function->size = sym->st_size;
	}
	return 0;
}

/* Puts both behind the list, or none. */
static bool leave_add(const struct leave_search *s, struct guarded_functions *out)
{
	const struct object_text *text = &out->leave_text;
	const struct gate_request request = {
		.text = text->bytes, .text_address = text->address, .text_size = text->size};

	for (size_t i = 0; i < LEAVE_FUNCTIONS; i++) {
		const struct leave_function *function = &s->functions[i];
		const struct gate_wanted wanted = {
			.name = function->name,
			.address = text->address + (function->offset - text->offset),
			.size = function->size,
			.kind = function->kind,
			.arguments = function->arguments,
		};
		struct gate_part part = {0};
		char unused[REASON_MAX];

		if (gate_part_plan(&request, &wanted, &part, unused))
			return false;
		out->pcs[out->count + i] = wanted.address;
		out->items[out->count + i] = wanted;
	}
	out->count += LEAVE_FUNCTIONS;
	return true;
}

/* Without them the guards are to do with no system call. */
static void functions_find_leave(const struct image *image, const struct object *libc,
				 struct guarded_functions *out)
{
	struct leave_search s = {
		.libc = libc,
		.functions = {{.name = "prctl", .kind = GUARD_KIND_PRCTL, .arguments = 5},
			      {.name = "syscall", .kind = GUARD_KIND_SYSCALL, .arguments = 6}}};
	_cleanup_elf_ Elf *elf = libc ? object_elf(libc, ELF_FOR_SYMBOLS) : NULL;
	char unused[REASON_MAX];

	if (!elf || elf_symbols(elf, SHT_DYNSYM, leave_look_at, &s) || !s.functions[0].size ||
	    !s.functions[1].size)
		out->keeps = "its C library is none of which is known how a filter comes";
	else if (object_text_read(image, libc, s.functions[0].offset, &out->leave_text, unused) ||
		 !leave_add(&s, out))
		out->keeps = "a filter that it makes would not be seen: no jump fits into its C "
			     "library's prctl or syscall";
}

int guarded_functions_find(const struct image *image, bool with_new, struct guarded_functions *out,
			   char reason[static REASON_MAX])
{
	_cleanup_free_ struct found_function *found = NULL;
	const struct guard_allocator *allocator = NULL;
	const struct object *libc = NULL;
	int err;

	*out = (struct guarded_functions){.with_new = with_new};
	err = guarded_object_find(image, &out->object, &libc, &allocator, reason);
	err = err ?: functions_list(out->object, allocator, &found, reason);
	if (err)
		return err;
	/* malloc is the table's first, and the object has it. */
	err = object_text_read(image, out->object, found[0].offset, &out->text, reason);
	out->allocator = allocator->name;
	err = err ?: functions_fill(image, found, out, reason);
	if (!err)
		functions_find_leave(image, libc, out);
	return err;
}

void guarded_functions_free(struct guarded_functions *functions)
{
	object_text_free(&functions->leave_text);
	free(functions->items);
	free(functions->pcs);
	object_text_free(&functions->text);
}

void guarded_functions_request(const struct guarded_functions *functions,
			       struct guard_request *request)
{
	request->in.functions = functions->items;
	request->in.count = functions->count;
	request->in.text = functions->text.bytes;
	request->in.text_address = functions->text.address;
	request->in.text_size = functions->text.size;
	request->leave_text = functions->leave_text.bytes;
	request->leave_address = functions->leave_text.address;
	request->leave_size = functions->leave_text.size;
	request->keeps = functions->keeps;
}

/* Has somebody come who calls what has no guard? */
static int functions_check_uses(const struct image *image, const struct object *object,
				const struct guard_allocator *allocator,
				char reason[static REASON_MAX])
{
	size_t count;
	const struct guard_name *names = guard_names(&count);
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		if ((names[i].of & allocator->bit) && names[i].kind == GUARD_KIND_NONE)
			err = guarded_object_uses(image, object, names[i].name, reason);
	}
	return err;
}

int guarded_functions_check(const struct image *image, const struct object *object,
			    char reason[static REASON_MAX])
{
	const struct guard_allocator *allocator;
	const struct object *now, *libc;
	int err = guarded_object_find(image, &now, &libc, &allocator, reason);

	if (err)
		return err;
	if (now != object)
		return refuse(reason, -EBUSY, "its allocator is that of %s by now",
			      object_name(now));
	return functions_check_uses(image, object, allocator, reason);
}

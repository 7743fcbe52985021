// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Notes of USDT probes, by SystemTap's wiki, UserSpaceProbeImplementation. Each note has the place
 * of the probe, the address that .stapsdt.base had at linking (prelink moves both), and the place
 * of the semaphore. Three strings follow: provider, name, arguments.
 */
#include "user/target/usdt_notes.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/alloc_op.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/process/elf_open.h"
#include "user/process/object.h"
#include "user/target/provider.h"
#include "user/target/usdt_args.h"

#define NOTE_SECTION "stapsdt"
#define NOTE_TYPE    3
#define PROVIDER     "otel_memory"

/* Copies of an inlined function have a probe each; a file with more is not one that we can attach to. */
#define PROBES_MAX 512

#define ROW(n, o, count)                                                                        \
	{                                                                                       \
		.row = {.name = PROVIDER ":" n, .shown = PROVIDER ":" n, .op = (o)}, .name = n, \
		.args = (count)                                                                 \
	}
static const struct usdt_kind {
	struct alloc_fn row;
	const char *name;
	size_t args;
} usdt_kinds[] = {
	ROW("alloc", OP_USDT_ALLOC, 3),
	ROW("free", OP_USDT_FREE, 1),
};
#undef ROW

struct usdt_search {
	Elf *elf;
	struct provider *provider;
	uint64_t base;	    /* of .stapsdt.base; 0: there is none */
	const char *reason; /* why the object's probes cannot be used; NULL: they can */
};

/* What a note says, of a probe of ours. */
struct usdt_found {
	const struct usdt_kind *kind;
	uint64_t pc, base, semaphore;
	const char *args;
};

/* A string of the note's, consumed. NULL: it does not end in it. */
static const char *usdt_take_string(const char **at, const char *end)
{
	const char *text = *at;
	const char *zero = memchr(text, 0, (size_t)(end - text));

	*at = zero ? zero + 1 : end;
	return zero ? text : NULL;
}

/* False: it is none of ours, or damaged. */
static bool usdt_read_note(const char *text, size_t size, struct usdt_found *out)
{
	const char *end = text + size, *provider, *name;
	uint64_t numbers[3];

	if (size < sizeof(numbers))
		return false;
	memcpy(numbers, text, sizeof(numbers));
	text += sizeof(numbers);
	provider = usdt_take_string(&text, end);
	name = provider ? usdt_take_string(&text, end) : NULL;
	*out = (struct usdt_found){.pc = numbers[0],
				   .base = numbers[1],
				   .semaphore = numbers[2],
				   .args = name ? usdt_take_string(&text, end) : NULL};
	if (!out->args || strcmp(provider, PROVIDER) != 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(usdt_kinds); i++) {
		if (!strcmp(name, usdt_kinds[i].name))
			out->kind = &usdt_kinds[i];
	}
	return out->kind;
}

/* Where it is in the file, and where its arguments are. NULL, or why it cannot be used. */
static const char *usdt_fill(const struct usdt_search *s, const struct usdt_found *found,
			     struct provider_fn *fn, struct usdt_note *note)
{
	const struct object *object = s->provider->object;
	uint64_t moved = s->base && found->base ? s->base - found->base : 0;
	int err;

	if (object_vaddr_to_offset(object, found->pc + moved, &fn->offset) ||
	    !object_is_code(object, fn->offset))
		return "a probe is not in its code";
	if (found->semaphore &&
	    (object_vaddr_to_offset(object, found->semaphore + moved, &note->semaphore) ||
	     object_is_code(object, note->semaphore) || note->semaphore % sizeof(uint16_t)))
		return "a semaphore is not in its data";
	err = usdt_args_parse(found->args, note->spec.args, found->kind->args);
	if (err)
		return err == -ENODATA ? "a probe has fewer arguments than it should"
				       : "an argument is not in a register or memory";
	return NULL;
}

static bool usdt_knows(struct usdt_search *s, uint64_t offset, const struct alloc_fn *row)
{
	for (size_t i = 0; i < s->provider->count; i++) {
		const struct provider_fn *fn = &s->provider->fns[i];

		if (fn->offset != offset)
			continue;
		if (fn->fn != row)
			s->reason = "two probes are in one place";
		return true;
	}
	return false;
}

static int usdt_add(struct usdt_search *s, const struct usdt_found *found)
{
	struct provider *provider = s->provider;
	struct provider_fn *fn = &provider->fns[provider->count];
	struct usdt_note *note = &provider->notes[provider->count];

	if (provider->count == PROBES_MAX) {
		s->reason = "it has too many";
		return 0;
	}
	*note = (struct usdt_note){0};
	s->reason = usdt_fill(s, found, fn, note);
	if (s->reason || usdt_knows(s, fn->offset, &found->kind->row))
		return 0;
	fn->name = strdup(found->kind->row.shown);
	if (!fn->name)
		return -ENOMEM;
	fn->fn = &found->kind->row;
	fn->size = 0;
	fn->note = note;
	provider->count++;
	return 0;
}

static int usdt_walk_notes(struct usdt_search *s, Elf_Data *data)
{
	size_t at = 0, name, desc;
	int err = 0;

	while (!err && !s->reason) {
		const char *text = data->d_buf;
		struct usdt_found found;
		GElf_Nhdr header;

		at = gelf_getnote(data, at, &header, &name, &desc);
		if (!at)
			break;
		if (header.n_type == NOTE_TYPE && header.n_namesz == sizeof(NOTE_SECTION) &&
		    !memcmp(text + name, NOTE_SECTION, sizeof(NOTE_SECTION)) &&
		    usdt_read_note(text + desc, header.n_descsz, &found))
			err = usdt_add(s, &found);
	}
	return err;
}

static int usdt_walk_sections(struct usdt_search *s, size_t names, bool notes)
{
	Elf_Scn *section = NULL;
	int err = 0;

	while (!err && !s->reason && (section = elf_nextscn(s->elf, section))) {
		const char *name;
		Elf_Data *data;
		GElf_Shdr sh;

		name = gelf_getshdr(section, &sh) ? elf_strptr(s->elf, names, sh.sh_name) : NULL;
		if (!name)
			continue;
		if (!notes && !strcmp(name, ".stapsdt.base"))
			s->base = sh.sh_addr;
		if (!notes || sh.sh_type != SHT_NOTE || strcmp(name, ".note." NOTE_SECTION) != 0)
			continue;
		data = elf_getdata(section, NULL);
		if (data && data->d_buf)
			err = usdt_walk_notes(s, data);
	}
	return err;
}

static bool usdt_has(const struct provider *provider, enum alloc_op op)
{
	for (size_t i = 0; i < provider->count; i++) {
		if (provider->fns[i].fn->op == op)
			return true;
	}
	return false;
}

static int usdt_search(struct usdt_search *s)
{
	const struct object *object = s->provider->object;
	size_t names;
	int err;

	if (elf_getshdrstrndx(s->elf, &names))
		return -ENOENT;
	err = usdt_walk_sections(s, names, false);
	err = err ?: usdt_walk_sections(s, names, true);
	if (err)
		return err;
	if (!s->reason && s->provider->count &&
	    !(usdt_has(s->provider, OP_USDT_ALLOC) && usdt_has(s->provider, OP_USDT_FREE)))
		s->reason = usdt_has(s->provider, OP_USDT_ALLOC) ? "there is none of a free"
								 : "there is none of an allocation";
	if (s->reason)
		log_warn("%s: its probes " PROVIDER ":alloc and :free are not used: %s",
			 object_path(object), s->reason);
	return s->reason || !s->provider->count ? -ENOENT : 0;
}

int usdt_find(struct object *object, struct provider **out)
{
	struct usdt_search s = {0};
	_cleanup_elf_ Elf *elf = NULL;
	int err;

	if (!object_is_elf64(object) || object_is_vdso(object))
		return -ENOENT;
	elf = s.elf = object_elf(object, ELF_FOR_SYMBOLS);
	if (!elf)
		return -EBADMSG;
	s.provider = calloc(1, sizeof(*s.provider));
	if (!s.provider)
		return -ENOMEM;
	s.provider->object = object_ref(object);
	s.provider->fns = calloc(PROBES_MAX + 1, sizeof(*s.provider->fns));
	s.provider->notes = calloc(PROBES_MAX + 1, sizeof(*s.provider->notes));
	err = s.provider->fns && s.provider->notes ? usdt_search(&s) : -ENOMEM;
	if (err) {
		provider_free(s.provider);
		return err;
	}
	*out = s.provider;
	return 0;
}

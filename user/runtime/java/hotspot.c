// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The tables that libjvm.so exports for debuggers of its own: src/hotspot/share/runtime/vmStructs.hpp (VMStructEntry,
 * gHotSpotVMStructs and the offsets of its members). CollectedHeap::_reserved, a MemRegion, is there in all versions from 8 on that
 * were looked at.
 */
#include "user/runtime/java/hotspot.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "user/base/util.h"
#include "user/process/elf_open.h"
#include "user/process/elf_symbols.h"

#define HOTSPOT_ENTRIES 8192
#define HOTSPOT_STRIDE	256
#define HOTSPOT_WORDS	(1ull << 44)		/* no machine has as many */
#define HOTSPOT_NAME	32			/* what is looked for is shorter, */
#define HOTSPOT_TYPE	sizeof("CollectedHeap") /* and the longest of the types */

static const struct {
	const char *name;
	size_t member;
} hotspot_names[] = {
	{"gHotSpotVMStructs", offsetof(struct hotspot_symbols, table)},
	{"gHotSpotVMStructEntryArrayStride", offsetof(struct hotspot_symbols, stride)},
	{"gHotSpotVMStructEntryTypeNameOffset", offsetof(struct hotspot_symbols, type_name)},
	{"gHotSpotVMStructEntryFieldNameOffset", offsetof(struct hotspot_symbols, field_name)},
	{"gHotSpotVMStructEntryOffsetOffset", offsetof(struct hotspot_symbols, offset)},
	{"gHotSpotVMStructEntryAddressOffset", offsetof(struct hotspot_symbols, address)},
	{"gHotSpotVMTypes", offsetof(struct hotspot_symbols, types)},
	{"gHotSpotVMTypeEntryArrayStride", offsetof(struct hotspot_symbols, types_stride)},
	{"gHotSpotVMTypeEntryTypeNameOffset", offsetof(struct hotspot_symbols, types_name)},
	{"gHotSpotVMTypeEntrySizeOffset", offsetof(struct hotspot_symbols, types_size)},
};

struct hotspot_search {
	struct hotspot_symbols *out;
	size_t found;
};

static int hotspot_look_at(void *ctx, const char *name, const GElf_Sym *sym)
{
	struct hotspot_search *s = ctx;

	for (size_t k = 0; k < ARRAY_SIZE(hotspot_names); k++) {
		if (strcmp(name, hotspot_names[k].name))
			continue;
		*(uint64_t *)((char *)s->out + hotspot_names[k].member) = sym->st_value;
		s->found++;
	}
	return 0;
}

int hotspot_find(struct object *object, struct hotspot_symbols *out)
{
	_cleanup_elf_ Elf *elf = object_elf(object, ELF_FOR_SYMBOLS);
	struct hotspot_search search = {.out = out};

	*out = (struct hotspot_symbols){0};
	if (!elf)
		return -EBADMSG;
	elf_symbols(elf, SHT_DYNSYM, hotspot_look_at, &search);
	return search.found == ARRAY_SIZE(hotspot_names) ? 0 : -ENOENT;
}

struct hotspot_memory {
	size_t (*read)(void *ctx, uint64_t address, void *to, size_t size);
	void *ctx;
};

static bool hotspot_word(const struct hotspot_memory *m, uint64_t address, uint64_t *word)
{
	return m->read(m->ctx, address, word, sizeof(*word)) == sizeof(*word);
}

static bool hotspot_is(const struct hotspot_memory *m, uint64_t address, const char *name)
{
	char text[HOTSPOT_NAME];
	size_t size = strlen(name) + 1;

	return size <= sizeof(text) && m->read(m->ctx, address, text, size) == size &&
	       !memcmp(text, name, size);
}

/* The fields that lead to the heap. */
struct hotspot_fields {
	uint64_t heap; /* the address of the variable */
	uint64_t reserved, start, words;
	unsigned found;
};

static void hotspot_entry(const struct hotspot_memory *m, const struct hotspot_symbols *at,
			  uint64_t type, uint64_t field, uint64_t entry, struct hotspot_fields *out)
{
	static const struct {
		const char *type, *field;
		bool is_static;
		size_t member;
	} wanted[] = {
		{"Universe", "_collectedHeap", true, offsetof(struct hotspot_fields, heap)},
		{"CollectedHeap", "_reserved", false, offsetof(struct hotspot_fields, reserved)},
		{"MemRegion", "_start", false, offsetof(struct hotspot_fields, start)},
		{"MemRegion", "_word_size", false, offsetof(struct hotspot_fields, words)},
	};
	char name[HOTSPOT_TYPE];

	/* Thousands of entries are of other types. */
	if (m->read(m->ctx, type, name, sizeof(name)) != sizeof(name))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		uint64_t where = entry + (wanted[i].is_static ? at->address : at->offset);
		uint64_t *to = (uint64_t *)((char *)out + wanted[i].member);

		if (!memcmp(name, wanted[i].type, strlen(wanted[i].type) + 1) &&
		    hotspot_is(m, field, wanted[i].field) && hotspot_word(m, where, to))
			out->found |= 1u << i;
	}
}
#define HOTSPOT_ALL 15u

bool hotspot_symbols_read(const struct hotspot_symbols *symbols, uint64_t bias,
			  size_t (*read)(void *ctx, uint64_t address, void *to, size_t size),
			  void *ctx, struct hotspot_symbols *out)
{
	const struct hotspot_memory m = {read, ctx};

	for (size_t i = 0; i < ARRAY_SIZE(hotspot_names); i++) {
		size_t member = hotspot_names[i].member;
		uint64_t *to = (uint64_t *)((char *)out + member);

		if (!hotspot_word(&m, *(const uint64_t *)((const char *)symbols + member) + bias,
				  to))
			return false;
	}
	return true;
}

int hotspot_heap(const struct hotspot_symbols *symbols, uint64_t bias,
		 size_t (*read)(void *ctx, uint64_t address, void *to, size_t size), void *ctx,
		 uint64_t *start, uint64_t *end)
{
	const struct hotspot_memory m = {read, ctx};
	struct hotspot_symbols at;
	struct hotspot_fields fields = {0};
	uint64_t heap, first, words;

	if (!hotspot_symbols_read(symbols, bias, read, ctx, &at))
		return -ENOENT;
	if (!at.stride || at.stride > HOTSPOT_STRIDE)
		return -ENOENT;
	for (size_t i = 0; i < HOTSPOT_ENTRIES && fields.found != HOTSPOT_ALL; i++) {
		uint64_t entry = at.table + i * at.stride, type, field;

		/* The last one has no names. */
		if (!hotspot_word(&m, entry + at.type_name, &type) || !type ||
		    !hotspot_word(&m, entry + at.field_name, &field))
			break;
		hotspot_entry(&m, &at, type, field, entry, &fields);
	}
	if (fields.found != HOTSPOT_ALL || !hotspot_word(&m, fields.heap, &heap) || !heap ||
	    !hotspot_word(&m, heap + fields.reserved + fields.start, &first) ||
	    !hotspot_word(&m, heap + fields.reserved + fields.words, &words) || !words ||
	    words > HOTSPOT_WORDS || first + 8 * words < first)
		return -ENOENT;
	*start = first;
	*end = first + 8 * words;
	return 0;
}

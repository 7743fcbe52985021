// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/inspect/linked_heaps.h"

#include "user/heap/unknown_heaps.h"
#include "user/process/elf_symbols.h"

static int linked_heaps_look_at(void *image, const char *symbol, const GElf_Sym *sym)
{
	const char *name =
		GELF_ST_TYPE(sym->st_info) == STT_FUNC ? unknown_heap_of_symbol(symbol) : NULL;

	if (name)
		unknown_heap_is_linked(image, name);
	return 0;
}

void linked_heaps_find(const struct inspect_source *source, struct heap_image *image)
{
	const struct maps *maps = image->memory->maps;
	const struct mapping *program =
		maps && source->entry ? maps_find(maps, source->entry) : NULL;
	struct object *object = NULL;
	Elf *elf;

	if (!program ||
	    object_cache_get(source->objects, source->core ? 0 : source->pid, program, &object))
		return;
	elf = object_elf(object, ELF_FOR_SYMBOLS);
	if (elf) {
		elf_symbols(elf, SHT_DYNSYM, linked_heaps_look_at, image);
		elf_symbols(elf, SHT_SYMTAB, linked_heaps_look_at, image);
	}
	elf_end(elf);
	object_unref(object);
}

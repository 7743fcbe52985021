// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/inspect/linked_heaps.h"

#include <gelf.h>

#include "user/heap/unknown_heaps.h"

static void linked_heaps_read(struct heap_image *image, Elf *elf, Elf_Scn *section)
{
	GElf_Shdr header;
	Elf_Data *data;
	GElf_Sym symbol;

	if (!gelf_getshdr(section, &header) || !header.sh_entsize ||
	    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
		return;
	data = elf_getdata(section, NULL);
	for (size_t i = 1; data && i < data->d_size / header.sh_entsize && i < INT32_MAX; i++) {
		const char *text, *name;

		if (!gelf_getsym(data, (int)i, &symbol))
			return;
		/* What it has from a library is that one's. */
		if (symbol.st_shndx == SHN_UNDEF || GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
			continue;
		text = elf_strptr(elf, header.sh_link, symbol.st_name);
		name = text ? unknown_heap_of_symbol(text) : NULL;
		if (name)
			unknown_heap_is_linked(image, name);
	}
}

void linked_heaps_find(const struct inspect_source *source, struct heap_image *image)
{
	const struct maps *maps = image->memory->maps;
	const struct mapping *program =
		maps && source->entry ? maps_find(maps, source->entry) : NULL;
	struct object *object = NULL;
	Elf_Scn *section = NULL;
	Elf *elf;

	if (!program ||
	    object_cache_get(source->objects, source->core ? 0 : source->pid, program, &object))
		return;
	elf = object_elf(object, ELF_FOR_SYMBOLS);
	while (elf && (section = elf_nextscn(elf, section)) != NULL)
		linked_heaps_read(image, elf, section);
	elf_end(elf);
	object_unref(object);
}

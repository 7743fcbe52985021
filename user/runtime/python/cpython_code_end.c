// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The member tp_dealloc of PyTypeObject (Include/cpython/object.h) is at the same place from 3.8 to
 * 3.14. The function has no symbol, but an entry in the unwind tables. Nothing else is taken for a
 * function, since a probe may stand only where an instruction begins.
 */
#include "user/runtime/python/cpython_code_end.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/process/elf_open.h"
#include "user/target/bounds.h"

#define TYPE_DEALLOC 48

static const struct alloc_fn code_end = {
	.name = "code_dealloc", .shown = "code_dealloc", .op = OP_CODE_END};

/* What the loader will write at vaddr, by the section's relocations; 0: nothing. */
static uint64_t code_end_relocated(Elf_Scn *section, const GElf_Shdr *sh, uint64_t vaddr)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = data && sh->sh_entsize ? data->d_size / sh->sh_entsize : 0;
	GElf_Rela rela;

	for (size_t i = 0; i < count && gelf_getrela(data, (int)i, &rela); i++) {
		if (rela.r_offset == vaddr && GELF_R_TYPE(rela.r_info) == R_X86_64_RELATIVE)
			return (uint64_t)rela.r_addend;
	}
	return 0;
}

/* The word at vaddr once the object is loaded, less what it is moved by. */
static uint64_t code_end_word(struct object *object, Elf *elf, uint64_t vaddr)
{
	uint64_t offset, word = 0, found = 0;
	Elf_Scn *section = NULL;
	GElf_Shdr sh;

	while (!found && (section = elf_nextscn(elf, section)) != NULL) {
		if (gelf_getshdr(section, &sh) && sh.sh_type == SHT_RELA)
			found = code_end_relocated(section, &sh, vaddr);
	}
	if (found)
		return found;
	return !object_vaddr_to_offset(object, vaddr, &offset) &&
			       pread(object_fd(object), &word, sizeof(word), (off_t)offset) ==
				       sizeof(word)
		       ? word
		       : 0;
}

/* Its place in the file. False: it is none where a function begins. */
static bool code_end_place(struct object *object, uint64_t type, uint64_t *offset)
{
	_cleanup_elf_ Elf *elf = object_elf(object, ELF_FOR_SYMBOLS);
	struct bounds *bounds = elf ? bounds_new(elf, object_fd(object)) : NULL;
	uint64_t vaddr = bounds ? code_end_word(object, elf, type + TYPE_DEALLOC) : 0;
	bool begins = vaddr && bounds_description(bounds, vaddr);

	bounds_free(bounds);
	return begins && !object_vaddr_to_offset(object, vaddr, offset) &&
	       object_is_code(object, *offset);
}

int code_end_find(struct object *object, const struct python_runtime *runtime,
		  struct provider **out)
{
	struct provider *provider;
	uint64_t offset;

	if (!code_end_place(object, runtime->row.code_type, &offset))
		return -ENOENT;
	provider = calloc(1, sizeof(*provider));
	if (!provider)
		return -ENOMEM;
	provider->object = object_ref(object);
	provider->fns = calloc(1, sizeof(*provider->fns));
	if (provider->fns)
		provider->fns[0] = (struct provider_fn){
			.fn = &code_end, .offset = offset, .name = strdup(code_end.shown)};
	if (!provider->fns || !provider->fns[0].name) {
		provider_free(provider);
		return -ENOMEM;
	}
	provider->count = 1;
	*out = provider;
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/process/elf_symbols.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static int elf_symbols_of(Elf *elf, Elf_Scn *section, const GElf_Shdr *sh, bool imported,
			  elf_symbol_fn *fn, void *ctx)
{
	Elf_Data *data = elf_getdata(section, NULL);

	if (!data)
		return -EBADMSG;
	for (size_t i = 1; i < data->d_size / sh->sh_entsize && i < INT32_MAX; i++) {
		const char *name;
		GElf_Sym sym;
		int err;

		if (!gelf_getsym(data, (int)i, &sym))
			break;
		if ((sym.st_shndx == SHN_UNDEF) != imported)
			continue;
		name = elf_strptr(elf, sh->sh_link, sym.st_name);
		err = name ? fn(ctx, name, &sym) : 0;
		if (err)
			return err;
	}
	return 0;
}

static int elf_walk(Elf *elf, unsigned type, bool imported, elf_symbol_fn *fn, void *ctx)
{
	Elf_Scn *section = NULL;
	int err = -ENOENT;

	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr sh;

		if (!gelf_getshdr(section, &sh) || sh.sh_type != type || !sh.sh_entsize)
			continue;
		err = elf_symbols_of(elf, section, &sh, imported, fn, ctx);
		if (err)
			return err;
	}
	return err;
}

int elf_symbols(Elf *elf, unsigned type, elf_symbol_fn *fn, void *ctx)
{
	return elf_walk(elf, type, false, fn, ctx);
}

int elf_imports(Elf *elf, elf_symbol_fn *fn, void *ctx)
{
	return elf_walk(elf, SHT_DYNSYM, true, fn, ctx);
}

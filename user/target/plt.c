// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/target/plt.h"

#include <gelf.h>
#include <string.h>

#if defined(__x86_64__)

/* [endbr64] [bnd] jmp *slot(%rip) */
uint64_t plt_slot(const uint8_t *code, size_t len, uint64_t vaddr)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t at = 0;
	int32_t displacement;

	if (len >= 4 && !memcmp(code, endbr64, 4))
		at = 4;
	if (at < len && code[at] == 0xf2)
		at++;
	if (len < at + 6 || code[at] != 0xff || code[at + 1] != 0x25)
		return 0;
	memcpy(&displacement, code + at + 2, 4);
	return vaddr + at + 6 + (uint64_t)(int64_t)displacement;
}

#elif defined(__aarch64__)

/* [bti] adrp x16, page; ldr x17, [x16, #n] */
uint64_t plt_slot(const uint8_t *code, size_t len, uint64_t vaddr)
{
	uint32_t adrp, ldr;
	uint64_t page;
	size_t at = 0;

	if (len < 12)
		return 0;
	memcpy(&adrp, code, 4);
	if (adrp == 0xd503245f) /* bti c */
		at = 4;
	memcpy(&adrp, code + at, 4);
	memcpy(&ldr, code + at + 4, 4);
	if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
		return 0;
	page = (((uint64_t)adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3)) << 12;
	if (page & 1ULL << 32)
		page |= 0xfffffffe00000000ULL;
	return ((vaddr + at) & ~0xfffULL) + page + ((uint64_t)(ldr >> 10 & 0xfff) << 3);
}

#endif

/* The same by the relocations of one section. */
static bool find_in(Elf *elf, Elf_Scn *section, uint64_t slot, struct plt_symbol *out)
{
	Elf_Scn *symbol_section;
	Elf_Data *data, *symbols;
	GElf_Shdr sh, symbols_header;

	if (!gelf_getshdr(section, &sh) || sh.sh_type != SHT_RELA || !(sh.sh_flags & SHF_ALLOC) ||
	    sh.sh_entsize == 0)
		return false;
	symbol_section = elf_getscn(elf, sh.sh_link);
	if (!symbol_section || !gelf_getshdr(symbol_section, &symbols_header) ||
	    symbols_header.sh_type != SHT_DYNSYM)
		return false;
	data = elf_getdata(section, NULL);
	symbols = elf_getdata(symbol_section, NULL);
	for (size_t i = 0; data && symbols && i < data->d_size / sh.sh_entsize && i < INT32_MAX;
	     i++) {
		GElf_Rela rela;
		GElf_Sym sym;

		if (!gelf_getrela(data, (int)i, &rela))
			return false;
		if (rela.r_offset != slot || !GELF_R_SYM(rela.r_info))
			continue;
		if (!gelf_getsym(symbols, (int)GELF_R_SYM(rela.r_info), &sym))
			return false;
		out->vaddr = sym.st_shndx == SHN_UNDEF ? 0 : sym.st_value;
		out->name = elf_strptr(elf, symbols_header.sh_link, sym.st_name);
		return out->name != NULL;
	}
	return false;
}

bool plt_symbol(Elf *elf, uint64_t slot, struct plt_symbol *out)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section)) != NULL) {
		if (find_in(elf, section, slot, out))
			return true;
	}
	return false;
}

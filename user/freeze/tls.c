// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/freeze/tls.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>

#include "user/base/clock.h"
#include "user/base/util.h"

/* Relocations of one section; chromium has 20 MB of them. */
#define MAX_RELOCATION_BYTES (256u << 20)

/* Threads between two looks at the clock. */
#define CLOCK_EVERY 256

#if defined(__x86_64__)
#define RELOCATION_DISTANCE R_X86_64_TPOFF64
#define RELOCATION_MODULE   R_X86_64_DTPMOD64
#define VECTOR_OFFSET	    8 /* glibc's tcbhead_t.dtv */
#elif defined(__aarch64__)
#define RELOCATION_DISTANCE R_AARCH64_TLS_TPREL
#define RELOCATION_MODULE   R_AARCH64_TLS_DTPMOD
#define VECTOR_OFFSET	    0
#define THREAD_HEADER	    16 /* the two words at the thread pointer */
#endif

static bool tls_read_segment(Elf *elf, struct tls_layout *out)
{
	size_t count;

	if (elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_TLS)
			continue;
		out->size = ph.p_memsz;
		out->align = ph.p_align ? ph.p_align : 1;
		return ph.p_memsz && !(out->align & (out->align - 1)) && ph.p_memsz < UINT32_MAX &&
		       out->align < UINT32_MAX;
	}
	return false;
}

/*
 * Which block is the relocation about? Without a symbol the object's own; else the symbol's, which
 * has to be defined here.
 */
static bool tls_own_addend(Elf *elf, const GElf_Shdr *section, const GElf_Rela *rela,
			   uint64_t *addend)
{
	Elf_Scn *symbols = elf_getscn(elf, section->sh_link);
	Elf_Data *data;
	GElf_Sym symbol;

	*addend = (uint64_t)rela->r_addend;
	if (!GELF_R_SYM(rela->r_info))
		return true;
	data = symbols ? elf_getdata(symbols, NULL) : NULL;
	if (!data || !gelf_getsym(data, (int)GELF_R_SYM(rela->r_info), &symbol) ||
	    symbol.st_shndx == SHN_UNDEF || GELF_ST_TYPE(symbol.st_info) != STT_TLS)
		return false;
	*addend += symbol.st_value;
	return true;
}

static void tls_read_relocations(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
				 struct tls_layout *out)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;

	for (size_t i = 0; i < count && !(out->distance.known && out->module.known); i++) {
		struct tls_word *word;
		GElf_Rela rela;

		if (!gelf_getrela(data, (int)i, &rela))
			return;
		if (GELF_R_TYPE(rela.r_info) == RELOCATION_DISTANCE)
			word = &out->distance;
		else if (GELF_R_TYPE(rela.r_info) == RELOCATION_MODULE)
			word = &out->module;
		else
			continue;
		if (word->known || !tls_own_addend(elf, header, &rela, &word->addend))
			continue;
		word->vaddr = rela.r_offset;
		word->known = true;
	}
	/* The module number is one for all variables. */
	out->module.addend = 0;
}

int tls_layout_read(const struct object *object, struct tls_layout *out)
{
	_cleanup_elf_ Elf *elf = NULL;
	Elf_Scn *section = NULL;

	*out = (struct tls_layout){0};
	if (!object_is_elf64(object))
		return -ENOENT;
	elf = object_elf(object, ELF_FOR_SYMBOLS);
	if (!elf || !tls_read_segment(elf, out))
		return -ENOENT;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA &&
		    header.sh_size <= MAX_RELOCATION_BYTES)
			tls_read_relocations(elf, section, &header, out);
	}
	return 0;
}

uint64_t tls_block_of_program(const struct tls_layout *layout, uint64_t thread_pointer)
{
#if defined(__x86_64__)
	return thread_pointer - ((layout->size + layout->align - 1) & ~(layout->align - 1));
#else
	return thread_pointer + ((THREAD_HEADER + layout->align - 1) & ~(layout->align - 1));
#endif
}

static bool tls_read_word(const struct memory_image *memory, uint64_t bias,
			  const struct tls_word *word, uint64_t *value)
{
	if (!word->known || !memory_image_word(memory, bias + word->vaddr, value))
		return false;
	*value -= word->addend;
	return true;
}

void tls_place_find(struct tls_place *place, const struct memory_image *memory, uint64_t bias,
		    bool glibc)
{
	if (!tls_read_word(memory, bias, &place->layout.distance, &place->distance))
		place->distance = 0;
	if (!glibc || !tls_read_word(memory, bias, &place->layout.module, &place->module))
		place->module = 0;
}

uint64_t tls_block_of(const struct tls_place *place, const struct memory_image *memory,
		      const struct memory_thread *thread)
{
	uint64_t vector, room, block;

	if (!thread->tls)
		return 0;
	if (place->is_program)
		return tls_block_of_program(&place->layout, thread->tls);
	if (place->distance)
		return thread->tls + place->distance;
	/*
	 * glibc's dtv_t: 16 bytes each. The first is a counter; the number of entries stands before
	 * it. Number 1 is the program's.
	 */
	if (place->module < 2 || !memory_image_word(memory, thread->tls + VECTOR_OFFSET, &vector) ||
	    !memory_image_word(memory, vector - 16, &room) || place->module > room ||
	    !memory_image_word(memory, vector + 16 * place->module, &block))
		return 0;
	return block;
}

int tls_find_thread(const struct tls_place *place, const struct memory_image *memory,
		    uint64_t address, uint64_t deadline_ns, const struct memory_thread **thread,
		    uint64_t *offset)
{
	for (size_t i = 0; i < memory->thread_count; i++) {
		uint64_t block;

		if (i % CLOCK_EVERY == 0 && monotonic_ns() >= deadline_ns)
			return -ETIME;
		block = tls_block_of(place, memory, &memory->threads[i]);
		if (!block || address < block || address - block >= place->layout.size)
			continue;
		*thread = &memory->threads[i];
		*offset = address - block;
		return 0;
	}
	return -ENOENT;
}

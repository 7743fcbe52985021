// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * libFuzzer: call frame information of garbage. The first byte says machine and kind of section,
 * the rest is the section.
 */
#include "tests/fuzz/fuzz.h"

#include <elf.h>

#include "user/unwind/cfi.h"

#define VADDR 0x10000

static void check(const struct cfi *cfi)
{
	for (size_t i = 0; i < cfi->function_count; i++) {
		const struct cfi_function *f = &cfi->functions[i];

		MUST(f->start < f->end && f->count > 0);
		MUST(f->first <= cfi->row_count && f->count <= cfi->row_count - f->first);
		MUST(cfi->rows[f->first].vaddr == f->start);
		for (size_t r = f->first; r < f->first + f->count; r++) {
			MUST(cfi->rows[r].rule < cfi_rules_count(cfi->rules));
			MUST(cfi->rows[r].vaddr < f->end);
			MUST(r == f->first || cfi->rows[r].vaddr > cfi->rows[r - 1].vaddr);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned char ident[EI_NIDENT] = {ELFMAG0,	   ELFMAG1,	ELFMAG2,   ELFMAG3,
						       ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
	struct cfi_rules *rules = cfi_rules_new();
	struct cfi cfi = {.rules = rules};
	struct cfi_section section = {.vaddr = VADDR};
	_cleanup_free_ char *bytes = NULL;
	Elf_Data elf_data;

	if (!size || !rules)
		goto out;
	bytes = fuzz_text(data + 1, size - 1);
	elf_data = (Elf_Data){
		.d_buf = bytes, .d_size = size - 1, .d_type = ELF_T_BYTE, .d_version = EV_CURRENT};
	cfi.machine = data[0] & 1 ? EM_AARCH64 : EM_X86_64;
	section.eh_frame = !(data[0] & 2);
	section.data = &elf_data;
	if (!cfi_read(&cfi, ident, &section))
		check(&cfi);
out:
	cfi_clear(&cfi);
	cfi_rules_free(rules);
	return 0;
}

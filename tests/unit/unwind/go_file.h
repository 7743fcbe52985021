/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An ELF file with code and Go's table of functions, and nothing else. */
#ifndef MEMLEAKBPF_TESTS_UNIT_GO_FILE_H
#define MEMLEAKBPF_TESTS_UNIT_GO_FILE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Where its code is linked to be. */
#define GO_FILE_CODE 0x400000

struct go_file {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	Elf64_Shdr shdrs[3];
	char names[32];
};

static const char go_file_names[] = "\0.gopclntab\0.shstrtab";

/* A file with that code and table of functions, both copied. Its descriptor, or -1. */
static inline int go_file_make(const uint8_t *code, size_t code_size, const uint8_t *table,
			       size_t size)
{
	struct go_file f = {
		.ehdr = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT},
			 .e_type = ET_EXEC,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_phoff = offsetof(struct go_file, phdr),
			 .e_shoff = offsetof(struct go_file, shdrs),
			 .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 1,
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 3,
			 .e_shstrndx = 2},
		.phdr = {.p_type = PT_LOAD,
			 .p_flags = PF_R | PF_X,
			 .p_offset = sizeof(f),
			 .p_vaddr = GO_FILE_CODE,
			 .p_filesz = code_size,
			 .p_memsz = code_size},
		.shdrs = {{.sh_type = SHT_NULL},
			  {.sh_name = 1,
			   .sh_type = SHT_PROGBITS,
			   .sh_flags = SHF_ALLOC,
			   .sh_addr = 2 * GO_FILE_CODE,
			   .sh_offset = sizeof(f) + code_size,
			   .sh_size = size,
			   .sh_addralign = 1},
			  {.sh_name = 12,
			   .sh_type = SHT_STRTAB,
			   .sh_offset = offsetof(struct go_file, names),
			   .sh_size = sizeof(go_file_names),
			   .sh_addralign = 1}},
	};
	int fd;

	memcpy(f.names, go_file_names, sizeof(go_file_names));
	fd = memfd_create("go", MFD_CLOEXEC);
	if (fd >= 0 && (write(fd, &f, sizeof(f)) != sizeof(f) ||
			write(fd, code, code_size) != (ssize_t)code_size ||
			write(fd, table, size) != (ssize_t)size)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

#endif

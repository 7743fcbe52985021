/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Facts from an ELF file's headers, read once. The file is not trusted: libelf reads it with pread,
 * and everything is checked. It is never mapped, since somebody else may truncate it. Format:
 * elf(5).
 */
#ifndef MEMLEAKBPF_PROCESS_ELF_FILE_H
#define MEMLEAKBPF_PROCESS_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/base/reason.h"

#if defined(__x86_64__)
#define ELF_NATIVE_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define ELF_NATIVE_MACHINE EM_AARCH64
#else
#error "memleakbpf knows x86_64 and aarch64"
#endif

struct elf_segment { /* PT_LOAD */
	uint64_t offset, vaddr, filesz;
	bool exec;
};

struct elf_headers {
	/* ELFCLASS64 of this machine's architecture and byte order; false: the rest is empty */
	bool native64;
	uint16_t type;			     /* ET_EXEC, ET_DYN … */
	uint64_t interp_offset, interp_size; /* PT_INTERP in the file; size 0: none */
	struct elf_segment *segments;	     /* executable ones first */
	size_t segment_count;
	uint8_t *build_id; /* NULL: none */
	size_t build_id_len;
};

/*
 * Reads the headers of the file behind fd. 0, -ENOMEM or -EIO; -ENOEXEC when it is no ELF file or a
 * broken one; -EFBIG, with the reason, when it is refused (user/process/elf_open.h). Not logged.
 * elf_headers_release() frees the arrays.
 */
int elf_headers_read(int fd, struct elf_headers *headers, char reason[static REASON_MAX]);
void elf_headers_release(struct elf_headers *headers);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one place that gives an ELF file to libelf. A file can claim any size at no cost to its
 * author. A hole of 2 GiB passes for a symbol table, and 40 KiB of compressed zeros are 40 MiB of
 * debug information. So the claimed sizes are added up first, and compared with what the file
 * really holds and with the memory that is left.
 */
#ifndef MEMLEAKBPF_PROCESS_ELF_OPEN_H
#define MEMLEAKBPF_PROCESS_ELF_OPEN_H

#include <libelf.h>
#include <stdint.h>

#include "user/base/reason.h"

/* Which parts of the file are to be read beside its headers. */
enum elf_use {
	ELF_FOR_SYMBOLS = 1 << 0, /* symbols, their names, relocations, .dynamic */
	ELF_FOR_FRAMES = 1 << 1,  /* .eh_frame, .debug_frame, Go's table of functions */
	ELF_FOR_DEBUG = 1 << 2,	  /* DWARF */
	/* The file is mapped, not read: only what is compressed takes memory. */
	ELF_IS_MAPPED = 1 << 3,
	/* A core file may have as many segments as a process has mappings. */
	ELF_IS_CORE = 1 << 4,
};

/*
 * Opens the file behind fd, which stays the caller's, to be read with pread(2). It is never mapped:
 * somebody else may truncate it. `uses` are the bits above, 0 for headers only; reads of other
 * parts are not bounded. 0 and *out, which elf_end() frees. -ENOEXEC when it is no ELF file or a
 * broken one. -ENOMEM, -EIO. -EFBIG, with the reason, when it is refused. Such a file has more
 * section or program headers than programs have, or its sections would take more memory than
 *
 * - 16 MiB and 16 times what the file holds on disk. (A linker's files take no more than they hold,
 *   compressed ones some three times as much.)
 * - of a compressed section 1 MiB and 32 times its bytes in the file
 * - an eighth of the memory that is left now, so that several files together never take all of it.
 *
 * Nothing is logged.
 */
int elf_open(int fd, unsigned uses, char reason[static REASON_MAX], Elf **out);

/*
 * The same for a file that has been opened for fewer uses: 0, -EFBIG with the reason, or -EIO. fd
 * is the file that elf reads.
 */
int elf_check(Elf *elf, int fd, unsigned uses, char reason[static REASON_MAX]);

/* For __attribute__((cleanup)). */
void elf_cleanup(Elf **elf);
#define _cleanup_elf_ __attribute__((cleanup(elf_cleanup)))

/*
 * Returns how many bytes of memory libdw's own structures for a file's DWARF may take. 64 MiB and
 * 64 times what the file holds on disk, and at most a quarter of the memory that is left.
 */
uint64_t elf_debug_allowance(int fd);

/*
 * Returns how many bytes of a file may be copied. 16 MiB and 16 times what it holds on disk, and at
 * most a quarter of the memory left.
 */
uint64_t elf_read_allowance(int fd);

#endif

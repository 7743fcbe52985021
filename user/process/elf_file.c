// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/process/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>

#include "user/base/util.h"
#include "user/process/elf_open.h"

#define MAX_NOTE_BYTES (1u << 20)
#define MAX_BUILD_ID   64

/* NT_GNU_BUILD_ID among the notes of one PT_NOTE segment. */
static int find_build_id(Elf *elf, const GElf_Phdr *ph, struct elf_headers *headers)
{
	Elf_Data *data;
	GElf_Nhdr note;
	size_t position = 0, name, desc;

	if (ph->p_filesz == 0 || ph->p_filesz > MAX_NOTE_BYTES)
		return 0;
	data = elf_getdata_rawchunk(elf, (int64_t)ph->p_offset, ph->p_filesz,
				    ph->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	while (data && (position = gelf_getnote(data, position, &note, &name, &desc)) > 0) {
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof("GNU") ||
		    memcmp((const char *)data->d_buf + name, "GNU", sizeof("GNU")) != 0)
			continue;
		if (note.n_descsz == 0 || note.n_descsz > MAX_BUILD_ID)
			return 0;
		headers->build_id = malloc(note.n_descsz);
		if (!headers->build_id)
			return -ENOMEM;
		memcpy(headers->build_id, (const char *)data->d_buf + desc, note.n_descsz);
		headers->build_id_len = note.n_descsz;
		return 0;
	}
	return 0;
}

static void add_segment(struct elf_headers *headers, const GElf_Phdr *ph)
{
	struct elf_segment *segments = headers->segments;
	size_t at = headers->segment_count;

	/* Code first: where a hostile file lets segments overlap, callers ask for code. */
	if (ph->p_flags & PF_X) {
		while (at > 0 && !segments[at - 1].exec) {
			segments[at] = segments[at - 1];
			at--;
		}
	}
	segments[at] = (struct elf_segment){.offset = ph->p_offset,
					    .vaddr = ph->p_vaddr,
					    .filesz = ph->p_filesz,
					    .exec = ph->p_flags & PF_X};
	headers->segment_count++;
}

static int read_program_headers(Elf *elf, struct elf_headers *headers)
{
	size_t count;
	int err;

	if (elf_getphdrnum(elf, &count) || count > INT32_MAX)
		return -ENOEXEC;
	headers->segments = calloc(count ? count : 1, sizeof(*headers->segments));
	if (!headers->segments)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph))
			return -ENOEXEC;
		if (ph.p_type == PT_INTERP) {
			headers->interp_offset = ph.p_offset;
			headers->interp_size = ph.p_filesz;
		}
		if (ph.p_type == PT_LOAD && ph.p_filesz)
			add_segment(headers, &ph);
		if (ph.p_type == PT_NOTE && !headers->build_id) {
			err = find_build_id(elf, &ph, headers);
			if (err)
				return err;
		}
	}
	return 0;
}

int elf_headers_read(int fd, struct elf_headers *headers, char reason[static REASON_MAX])
{
	_cleanup_elf_ Elf *elf = NULL;
	GElf_Ehdr eh;
	int err;

	memset(headers, 0, sizeof(*headers));
	err = elf_open(fd, 0, reason, &elf);
	if (err)
		return err;
	if (!gelf_getehdr(elf, &eh))
		return -ENOEXEC;
	headers->type = eh.e_type;
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_ident[EI_DATA] != ELFDATA2LSB ||
	    eh.e_machine != ELF_NATIVE_MACHINE)
		return 0;
	err = read_program_headers(elf, headers);
	if (err) {
		elf_headers_release(headers);
		return err;
	}
	headers->native64 = true;
	return 0;
}

void elf_headers_release(struct elf_headers *headers)
{
	free(headers->segments);
	free(headers->build_id);
	memset(headers, 0, sizeof(*headers));
}

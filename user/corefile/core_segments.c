// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/util.h"
#include "user/corefile/core_parts.h"
#include "user/process/elf_file.h"
#include "user/process/own_memory.h"

/* ---- what it is --------------------------------------------------------------------------- */

struct core_packing {
	const char *name, *command;
	size_t length;
	const char *begins;
};

/* systemd-coredump, abrt and people pack cores with these. */
static const struct core_packing core_packings[] = {
	{"zstd", "zstd -d", 4, "\x28\xb5\x2f\xfd"},
	{"lz4", "lz4 -d", 4, "\x04\x22\x4d\x18"},
	{"xz", "xz -d", 6, "\xfd\x37\x7a\x58\x5a\x00"},
	{"gzip", "gzip -d", 2, "\x1f\x8b"},
	{"bzip2", "bzip2 -d", 3, "BZh"},
};

static int core_segments_refuse(int fd, char reason[static REASON_MAX])
{
	char begins[8] = "";
	ssize_t n = pread(fd, begins, sizeof(begins), 0);

	if (n <= 0)
		return refuse(reason, -ENOEXEC, n ? "it cannot be read" : "it is empty");
	for (size_t i = 0; i < ARRAY_SIZE(core_packings); i++) {
		const struct core_packing *p = &core_packings[i];

		if ((size_t)n >= p->length && !memcmp(begins, p->begins, p->length))
			return refuse(reason, -ENOEXEC, "it is packed by %s; unpack it first (%s)",
				      p->name, p->command);
	}
	return refuse(reason, -ENOEXEC, "it is no core file: no ELF header that can be read");
}

static int core_segments_check(const GElf_Ehdr *header, char reason[static REASON_MAX])
{
	if (header->e_type != ET_CORE)
		return refuse(reason, -ENOEXEC, "it is no core file but %s",
			      header->e_type == ET_EXEC || header->e_type == ET_DYN
				      ? "a program or a library"
				      : "another kind of ELF file");
	if (header->e_ident[EI_CLASS] != ELFCLASS64)
		return refuse(reason, -ENOEXEC, "it is of a 32-bit program");
	if (header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_machine != ELF_NATIVE_MACHINE)
		return refuse(reason, -ENOEXEC,
			      "it is of another kind of machine (ELF machine %u) than this "
			      "memleakbpf is for",
			      (unsigned)header->e_machine);
	return 0;
}

/* ---- notes -------------------------------------------------------------------------------- */

static int core_segments_take_notes(struct core_segments *segments, struct core_notes *notes,
				    Elf *elf, const GElf_Phdr *ph)
{
	size_t position = 0, name, bytes;
	uint64_t left = UINT64_MAX;
	Elf_Data *data;
	GElf_Nhdr note;
	int err = 0;

	/*
	 * libelf reads the notes whole, and keeps them; that fails for notes outside the file.
	 * Several headers may claim one place.
	 */
	if (!ph->p_filesz || own_memory_left(&left) ||
	    ph->p_filesz > segments->file_size - segments->notes ||
	    ph->p_filesz > left / 8 - (segments->notes < left / 8 ? segments->notes : left / 8))
		return 0;
	segments->notes += ph->p_filesz;
	data = elf_getdata_rawchunk(elf, (int64_t)ph->p_offset, ph->p_filesz, ELF_T_NHDR);
	while (!err && data &&
	       (position = gelf_getnote(data, position, &note, &name, &bytes)) > 0) {
		const char *owner = (const char *)data->d_buf + name;

		if (note.n_namesz && !owner[note.n_namesz - 1])
			err = core_notes_add(notes, owner, note.n_type,
					     (const char *)data->d_buf + bytes, note.n_descsz);
	}
	return err;
}

/* ---- segments ----------------------------------------------------------------------------- */

static void core_segments_add(struct core_segments *segments, const GElf_Phdr *ph)
{
	struct core_segment *s = &segments->items[segments->count];
	uint64_t there;

	*s = (struct core_segment){
		.start = ph->p_vaddr,
		.offset = ph->p_offset,
		.filled = ph->p_filesz < ph->p_memsz ? ph->p_filesz : ph->p_memsz,
		.read = ph->p_flags & PF_R,
		.write = ph->p_flags & PF_W,
		.exec = ph->p_flags & PF_X,
	};
	if (!ph->p_memsz)
		return;
	if (__builtin_add_overflow(ph->p_vaddr, ph->p_memsz, &s->end)) {
		segments->dropped++;
		return;
	}
	there = s->offset < segments->file_size ? segments->file_size - s->offset : 0;
	if (s->filled > there) {
		s->cut = s->filled - there;
		s->filled = there;
	}
	/*
	 * No two segments share a part of the file: a million that do would be a million times the
	 * work.
	 */
	if (s->filled > segments->file_size - segments->taken) {
		segments->dropped++;
		return;
	}
	segments->taken += s->filled;
	segments->count++;
}

static int core_segment_order(const void *a, const void *b)
{
	const struct core_segment *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Sorts the segments; of overlapping ones the first counts. */
static void core_segments_sort(struct core_segments *segments)
{
	size_t kept = 0;

	if (segments->count)
		qsort(segments->items, segments->count, sizeof(*segments->items),
		      core_segment_order);
	for (size_t i = 0; i < segments->count; i++) {
		if (kept && segments->items[kept - 1].end > segments->items[i].start)
			segments->dropped++;
		else
			segments->items[kept++] = segments->items[i];
	}
	segments->count = kept;
}

static int core_segments_take(struct core_segments *segments, struct core_notes *notes, Elf *elf,
			      char reason[static REASON_MAX])
{
	size_t count;
	int err = 0;

	if (elf_getphdrnum(elf, &count) || count > INT32_MAX)
		return refuse(reason, -ENOEXEC, "its program headers cannot be read: it is cut");
	segments->items = calloc(count ? count : 1, sizeof(*segments->items));
	if (!segments->items)
		return refuse(reason, -ENOMEM, "no memory");
	for (size_t i = 0; !err && i < count; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph))
			return refuse(reason, -ENOEXEC,
				      "its program headers cannot be read: it is cut");
		if (ph.p_type == PT_LOAD)
			core_segments_add(segments, &ph);
		else if (ph.p_type == PT_NOTE)
			err = core_segments_take_notes(segments, notes, elf, &ph);
	}
	core_segments_sort(segments);
	core_notes_finish(notes);
	return err ? refuse(reason, err, "no memory") : 0;
}

int core_segments_read(struct core_segments *segments, struct core_notes *notes, int fd,
		       char reason[static REASON_MAX])
{
	_cleanup_elf_ Elf *elf = NULL;
	GElf_Ehdr header;
	struct stat st;
	int err;

	*segments = (struct core_segments){.fd = fd};
	*notes = (struct core_notes){0};
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return refuse(reason, -EINVAL, "it is no regular file");
	segments->file_size = (uint64_t)st.st_size;
	err = elf_open(fd, ELF_IS_CORE, reason, &elf);
	if (err == -EFBIG)
		return err;
	if (err || !gelf_getehdr(elf, &header))
		return core_segments_refuse(fd, reason);
	err = core_segments_check(&header, reason);
	return err ?: core_segments_take(segments, notes, elf, reason);
}

void core_segments_release(struct core_segments *segments)
{
	free(segments->items);
	*segments = (struct core_segments){.fd = -1};
}

const struct core_segment *core_segments_find(const struct core_segments *segments,
					      uint64_t address)
{
	size_t i = BISECT(k, 0, segments->count, segments->items[k].end <= address);

	return i < segments->count && segments->items[i].start <= address ? &segments->items[i]
									  : NULL;
}

size_t core_segments_get(const struct core_segments *segments, uint64_t address, void *to,
			 size_t size)
{
	size_t done = 0;

	while (done < size) {
		const struct core_segment *s = core_segments_find(segments, address + done);
		uint64_t into = s ? address + done - s->start : 0, wanted = size - done;
		ssize_t n;

		if (!s || into >= s->filled)
			break;
		wanted = wanted < s->filled - into ? wanted : s->filled - into;
		n = pread(segments->fd, (char *)to + done, (size_t)wanted,
			  (off_t)(s->offset + into));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

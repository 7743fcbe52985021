// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Formats: elf(5); Elf64_Chdr in the System V ABI, "Compression header"; .zdebug_* in the GNU
 * binutils' bfd/compress.c; .gnu_debugdata ("MiniDebugInfo") in the GDB manual.
 *
 * We read the counts of headers before libelf sees the file, since elf_begin() makes room for all
 * sections. We look at all else through libelf, which has then read it: later changes by the file's
 * owner change nothing.
 */
#include "user/process/elf_open.h"

#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <lzma.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/process/own_memory.h"

#define SECTIONS_MAX \
	65536 /* a linked program has fewer than a hundred; one of them takes libelf 250 bytes */
#define SEGMENTS_MAX	4096	   /* the kernel runs no program with more than 1,170 */
#define CORE_MAX	(1u << 20) /* of a core file; vm.max_map_count is 65,530 mostly */
#define NAMES_MAX	(16u << 20)
#define ALLOWED_ANYHOW	(16ull << 20)
#define ALLOWED_TIMES	16
#define INFLATED_ANYHOW (1ull << 20)
#define INFLATED_TIMES	32
#define EXTENTS_MAX \
	4096 /* pieces between holes that are looked at; what comes behind counts as a hole */
#define LZMA_MEMORY (128ull << 20)

#define DEBUG_ANYHOW (64ull << 20)
#define DEBUG_TIMES  64

void elf_cleanup(Elf **elf)
{
	elf_end(*elf);
}

/* ---- counts --------------------------------------------------------------------------------- */

/* An unsigned number of the file's byte order. */
static uint64_t elf_number(const uint8_t *p, size_t size, bool big)
{
	uint64_t value = 0;

	for (size_t i = 0; i < size; i++)
		value |= (uint64_t)p[i] << 8 * (big ? size - 1 - i : i);
	return value;
}

/* Where the two classes' headers have these numbers. */
struct elf_places {
	size_t header_size, section_size;
	size_t shoff, off_size, phnum, shnum; /* in the ELF header */
	size_t sh_size, sh_info;	      /* in a section header */
};

#define PLACES(bits)                                                                               \
	{                                                                                          \
		.header_size = sizeof(Elf##bits##_Ehdr), .section_size = sizeof(Elf##bits##_Shdr), \
		.shoff = offsetof(Elf##bits##_Ehdr, e_shoff), .off_size = sizeof(Elf##bits##_Off), \
		.phnum = offsetof(Elf##bits##_Ehdr, e_phnum),                                      \
		.shnum = offsetof(Elf##bits##_Ehdr, e_shnum),                                      \
		.sh_size = offsetof(Elf##bits##_Shdr, sh_size),                                    \
		.sh_info = offsetof(Elf##bits##_Shdr, sh_info),                                    \
	}
static const struct elf_places places_of_32 = PLACES(32), places_of_64 = PLACES(64);

static int elf_check_counts(int fd, bool core, char reason[static REASON_MAX])
{
	const uint64_t segments_max = core ? CORE_MAX : SEGMENTS_MAX;
	const uint64_t sections_max = core ? CORE_MAX : SECTIONS_MAX;
	uint8_t header[sizeof(Elf64_Ehdr)], section[sizeof(Elf64_Shdr)] = {0};
	ssize_t n = pread(fd, header, sizeof(header), 0);
	const struct elf_places *at;
	uint64_t segments, sections, offset;
	bool big;

	if (n < 0)
		return -EIO;
	if (n < EI_NIDENT || memcmp(header, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	big = header[EI_DATA] == ELFDATA2MSB;
	at = header[EI_CLASS] == ELFCLASS64 ? &places_of_64 : &places_of_32;
	if ((size_t)n < at->header_size)
		return -ENOEXEC;
	segments = elf_number(header + at->phnum, 2, big);
	sections = elf_number(header + at->shnum, 2, big);
	offset = elf_number(header + at->shoff, at->off_size, big);
	/* Counts that do not fit there are in the first section header. */
	if (offset && offset <= INT64_MAX && (!sections || segments == PN_XNUM) &&
	    pread(fd, section, at->section_size, (off_t)offset) == (ssize_t)at->section_size) {
		if (!sections)
			sections = elf_number(section + at->sh_size, at->off_size, big);
		if (segments == PN_XNUM)
			segments = elf_number(section + at->sh_info, 4, big);
	}
	/* gdb's cores have a section for each segment. */
	if (sections > sections_max)
		return refuse(reason, -EFBIG, "it claims to have %" PRIu64 " sections", sections);
	if (segments > segments_max)
		return refuse(reason, -EFBIG, "it claims to have %" PRIu64 " segments", segments);
	return 0;
}

/* ---- what the file holds -------------------------------------------------------------------- */

/*
 * Counts the file's bytes that are not in holes. A file system without holes, or that does not
 * tell, shows none (lseek(2)): then it is the file's size. st_blocks would not do: compression
 * makes it smaller, and FUSE may leave it 0.
 */
static uint64_t elf_bytes_held(int fd)
{
	uint64_t held = 0;
	off_t at = 0, hole;
	struct stat st;

	for (int i = 0; i < EXTENTS_MAX; i++) {
		at = lseek(fd, at, SEEK_DATA);
		if (at < 0)
			break;
		hole = lseek(fd, at, SEEK_HOLE);
		if (hole <= at)
			break;
		held += (uint64_t)(hole - at);
		at = hole;
	}
	if (at < 0 && errno == EINVAL && !fstat(fd, &st))
		return (uint64_t)st.st_size;
	return held;
}

/* ---- what would be read --------------------------------------------------------------------- */

struct elf_sum {
	Elf *elf;
	unsigned uses;
	uint64_t file_size;
	uint64_t bytes;
	char *reason;
};

static bool elf_begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

/* Which use reads a section of this type and name; 0: none does. */
static unsigned elf_use_of(const GElf_Shdr *header, const char *name)
{
	switch (header->sh_type) {
	case SHT_SYMTAB:
	case SHT_DYNSYM:
	case SHT_STRTAB:
	case SHT_DYNAMIC:
	case SHT_RELA:
	case SHT_SYMTAB_SHNDX:
	case SHT_NOTE:
		return ELF_FOR_SYMBOLS;
	default:
		break;
	}
	if (!strcmp(name, ".gnu_debugdata") || !strcmp(name, ".gnu_debuglink"))
		return ELF_FOR_SYMBOLS;
	if (!strcmp(name, ".eh_frame") || !strcmp(name, ".eh_frame_hdr"))
		return ELF_FOR_FRAMES;
	if (!strcmp(name, ".gopclntab") || !strncmp(name, ".data.rel.ro", 12))
		return ELF_FOR_FRAMES | ELF_FOR_SYMBOLS;
	if (!strcmp(name, ".debug_frame") || !strcmp(name, ".zdebug_frame"))
		return ELF_FOR_FRAMES | ELF_FOR_DEBUG;
	if (elf_begins(name, ".debug_") || elf_begins(name, ".zdebug_") ||
	    elf_begins(name, ".gnu.debuglto_") || !strcmp(name, ".gnu_debugaltlink"))
		return ELF_FOR_DEBUG;
	return 0;
}

/*
 * How long a section claims to be when inflated; its own size when it is not compressed, or broken.
 */
static uint64_t elf_inflated_size(Elf_Scn *section, const GElf_Shdr *header, const char *name)
{
	GElf_Chdr compression;
	Elf_Data *data;

	if (header->sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(section, &compression) ? compression.ch_size : header->sh_size;
	if (!elf_begins(name, ".zdebug_") || header->sh_size < 12)
		return header->sh_size;
	data = elf_rawdata(section, NULL);
	if (!data || !data->d_buf || data->d_size < 12 || memcmp(data->d_buf, "ZLIB", 4) != 0)
		return header->sh_size;
	return elf_number((const uint8_t *)data->d_buf + 4, 8, true);
}

/*
 * Does the xz stream inflate to `limit` bytes at most? A stream that does not inflate at all
 * passes: libdw fails on it, too.
 */
static bool elf_xz_fits(const uint8_t *in, size_t size, uint64_t limit)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	uint8_t out[4096];
	lzma_ret ret;

	if (lzma_stream_decoder(&stream, LZMA_MEMORY, LZMA_CONCATENATED) != LZMA_OK)
		return false;
	stream.next_in = in;
	stream.avail_in = size;
	do {
		stream.next_out = out;
		stream.avail_out = sizeof(out);
		ret = lzma_code(&stream, LZMA_FINISH);
	} while (ret == LZMA_OK && stream.total_out <= limit);
	lzma_end(&stream);
	return stream.total_out <= limit && ret != LZMA_MEMLIMIT_ERROR && ret != LZMA_MEM_ERROR;
}

/* Adds the inflated size of a compressed section. */
static int elf_add_inflated(struct elf_sum *sum, Elf_Scn *section, const GElf_Shdr *header,
			    const char *name)
{
	uint64_t limit = INFLATED_ANYHOW + INFLATED_TIMES * header->sh_size;
	uint64_t inflated;
	Elf_Data *data;

	if (!strcmp(name, ".gnu_debugdata")) {
		data = elf_rawdata(section, NULL);
		sum->bytes += limit;
		if (!data || !data->d_buf || elf_xz_fits(data->d_buf, data->d_size, limit))
			return 0;
		return refuse(sum->reason, -EFBIG,
			      "its %s of %" PRIu64 " KiB inflates to more than %" PRIu64 " KiB",
			      name, header->sh_size >> 10, limit >> 10);
	}
	inflated = elf_inflated_size(section, header, name);
	if (inflated == header->sh_size)
		return 0;
	if (inflated > limit)
		return refuse(sum->reason, -EFBIG,
			      "%" PRIu64 " KiB of its debug sections claim to be %" PRIu64
			      " KiB, compressed",
			      header->sh_size >> 10, inflated >> 10);
	sum->bytes += inflated;
	return 0;
}

static bool elf_is_inside(const struct elf_sum *sum, uint64_t offset, uint64_t size)
{
	return offset <= sum->file_size && size <= sum->file_size - offset;
}

/* Adds the segments that are read by program headers although there are sections. */
static void elf_add_segments(struct elf_sum *sum)
{
	size_t count;

	if (elf_getphdrnum(sum->elf, &count))
		return;
	for (size_t i = 0; i < count; i++) {
		unsigned use;
		GElf_Phdr ph;

		if (!gelf_getphdr(sum->elf, (int)i, &ph) ||
		    !elf_is_inside(sum, ph.p_offset, ph.p_filesz))
			continue;
		use = ph.p_type == PT_NOTE || ph.p_type == PT_DYNAMIC ? ELF_FOR_SYMBOLS
		      : ph.p_type == PT_GNU_EH_FRAME		      ? ELF_FOR_FRAMES
								      : 0;
		if (use & sum->uses && !(sum->uses & ELF_IS_MAPPED))
			sum->bytes += ph.p_filesz;
	}
}

/* Two rounds: compressed sections are looked into only when all claimed sizes have passed. */
static int elf_add_sections(struct elf_sum *sum, size_t names, bool inflate)
{
	Elf_Scn *section = NULL;
	int err = 0;

	sum->bytes = 0;
	elf_add_segments(sum);
	while (!err && (section = elf_nextscn(sum->elf, section))) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(sum->elf, names, header.sh_name);
		if (!(elf_use_of(&header, name ?: "") & sum->uses))
			continue;
		/* libelf gives nothing of a section that is not wholly in the file. */
		if (!elf_is_inside(sum, header.sh_offset, header.sh_size))
			continue;
		if (!(sum->uses & ELF_IS_MAPPED))
			sum->bytes += header.sh_size;
		if (inflate)
			err = elf_add_inflated(sum, section, &header, name ?: "");
	}
	return err;
}

/* A file without section headers is read by its program headers, which may lead anywhere in it. */
static bool elf_has_sections(Elf *elf)
{
	size_t count;

	return !elf_getshdrnum(elf, &count) && count > 1;
}

static int elf_check_sum(const struct elf_sum *sum, int fd)
{
	uint64_t held, left;

	if (sum->bytes <= ALLOWED_ANYHOW)
		return 0;
	held = elf_bytes_held(fd);
	if (sum->bytes > ALLOWED_ANYHOW + ALLOWED_TIMES * held)
		return refuse(sum->reason, -EFBIG,
			      "what would be read of it claims to be %" PRIu64
			      " MiB, and the file holds %" PRIu64 " KiB",
			      sum->bytes >> 20, held >> 10);
	if (!own_memory_left(&left) && sum->bytes > left / 8)
		return refuse(sum->reason, -EFBIG,
			      "%" PRIu64 " MiB would be read of it, and %" PRIu64
			      " MiB of memory are left",
			      sum->bytes >> 20, left >> 20);
	return 0;
}

int elf_check(Elf *elf, int fd, unsigned uses, char reason[static REASON_MAX])
{
	struct elf_sum sum = {.elf = elf, .uses = uses, .reason = reason};
	GElf_Shdr header;
	struct stat st;
	size_t names;
	int err;

	if (fstat(fd, &st))
		return -EIO;
	sum.file_size = (uint64_t)st.st_size;
	if (!elf_has_sections(elf)) {
		sum.bytes = uses & ELF_IS_MAPPED ? 0 : sum.file_size;
		return elf_check_sum(&sum, fd);
	}
	/* Without names no section is known by name; those known by type are read all the same. */
	if (elf_getshdrstrndx(elf, &names))
		names = 0;
	if (names && gelf_getshdr(elf_getscn(elf, names), &header)) {
		if (header.sh_flags & SHF_COMPRESSED || header.sh_size > NAMES_MAX)
			return refuse(reason, -EFBIG,
				      "its names of sections claim to be %" PRIu64 " KiB%s",
				      header.sh_size >> 10,
				      header.sh_flags & SHF_COMPRESSED ? ", compressed" : "");
	}
	err = elf_add_sections(&sum, names, false);
	err = err ?: elf_check_sum(&sum, fd);
	err = err ?: elf_add_sections(&sum, names, true);
	return err ?: elf_check_sum(&sum, fd);
}

int elf_open(int fd, unsigned uses, char reason[static REASON_MAX], Elf **out)
{
	_cleanup_elf_ Elf *elf = NULL;
	GElf_Ehdr header;
	int err;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return -EIO;
	err = elf_check_counts(fd, uses & ELF_IS_CORE, reason);
	if (err)
		return err;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
		return -ENOEXEC;
	if (uses & ~(unsigned)(ELF_IS_MAPPED | ELF_IS_CORE))
		err = elf_check(elf, fd, uses, reason);
	if (err)
		return err;
	*out = TAKE_PTR(elf);
	return 0;
}

uint64_t elf_debug_allowance(int fd)
{
	uint64_t allowed = DEBUG_ANYHOW + DEBUG_TIMES * elf_bytes_held(fd), left;

	return !own_memory_left(&left) && left / 4 < allowed ? left / 4 : allowed;
}

uint64_t elf_read_allowance(int fd)
{
	uint64_t allowed = ALLOWED_ANYHOW + ALLOWED_TIMES * elf_bytes_held(fd), left;

	return !own_memory_left(&left) && left / 4 < allowed ? left / 4 : allowed;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Format: Linux Standard Base, "The .eh_frame_hdr section"; encodings: LSB, "DWARF Exception Header
 * Encoding".
 */
#include "user/target/bounds.h"

#include <gelf.h>
#include <stdbool.h>
#include <unistd.h>

#include "user/base/util.h"

#define ENTRIES_MAX (1u << 22)

struct header {
	uint8_t version, pointer_encoding, count_encoding, table_encoding;
	uint32_t words[2]; /* where .eh_frame is; how many entries follow */
};

struct entry {
	int32_t start, description; /* both from the header's own address */
};

struct bounds {
	uint64_t base;
	size_t count;
	struct entry entries[];
};

static bool find_segment(Elf *elf, GElf_Phdr *out)
{
	size_t count;

	if (elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count && i < INT32_MAX; i++) {
		if (gelf_getphdr(elf, (int)i, out) && out->p_type == PT_GNU_EH_FRAME)
			return true;
	}
	return false;
}

/* The one form that linkers write: 4-byte offsets, the table's from the header. */
static bool is_usual(const struct header *h)
{
	return h->version == 1 && (h->pointer_encoding & 0xf) == 0xb && h->count_encoding == 0x3 &&
	       h->table_encoding == 0x3b && h->words[1] && h->words[1] <= ENTRIES_MAX;
}

struct bounds *bounds_new(Elf *elf, int fd)
{
	struct bounds *bounds;
	struct header h;
	GElf_Phdr ph;
	size_t size;

	if (!find_segment(elf, &ph) || ph.p_filesz < sizeof(h) ||
	    pread(fd, &h, sizeof(h), (off_t)ph.p_offset) != (ssize_t)sizeof(h) || !is_usual(&h))
		return NULL;
	size = h.words[1] * sizeof(struct entry);
	if (size > ph.p_filesz - sizeof(h))
		return NULL;
	bounds = malloc(sizeof(*bounds) + size);
	if (!bounds)
		return NULL;
	bounds->base = ph.p_vaddr;
	bounds->count = h.words[1];
	if (pread(fd, bounds->entries, size, (off_t)(ph.p_offset + sizeof(h))) != (ssize_t)size) {
		free(bounds);
		return NULL;
	}
	return bounds;
}

void bounds_free(struct bounds *bounds)
{
	free(bounds);
}

static uint64_t address_of(const struct bounds *bounds, int32_t from_header)
{
	return bounds->base + (uint64_t)(int64_t)from_header;
}

/*
 * The first entry that begins behind vaddr. Sorted, or the object's own exceptions would not work; if not, the answer
 * is wrong and nothing worse.
 */
static size_t entry_behind(const struct bounds *bounds, uint64_t vaddr)
{
	return BISECT(i, 0, bounds->count, address_of(bounds, bounds->entries[i].start) <= vaddr);
}

uint64_t bounds_next(const struct bounds *bounds, uint64_t vaddr)
{
	size_t at = bounds ? entry_behind(bounds, vaddr) : 0;

	if (!bounds || at >= bounds->count)
		return UINT64_MAX;
	return address_of(bounds, bounds->entries[at].start);
}

uint64_t bounds_description(const struct bounds *bounds, uint64_t vaddr)
{
	size_t at = bounds ? entry_behind(bounds, vaddr) : 0;

	if (!at || address_of(bounds, bounds->entries[at - 1].start) != vaddr)
		return 0;
	return address_of(bounds, bounds->entries[at - 1].description);
}

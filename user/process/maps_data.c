// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/process/maps_data.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/page.h"
#include "user/base/util.h"

/* Linkers make about a dozen. */
#define HEADERS_MAX 64

struct maps_data {
	struct maps *maps;
	size_t (*read)(void *ctx, uint64_t address, void *to, size_t size);
	void *ctx;
	struct maps_cut *cuts;
	size_t count, room;
};

static bool maps_data_of_one_file(const struct mapping *a, const struct mapping *b)
{
	return a->ino == b->ino && a->dev == b->dev;
}

/*
 * Where the file of mapping `i` begins in memory; 0: its beginning is not mapped. Its mappings
 * follow each other.
 */
static uint64_t maps_data_start(const struct maps *maps, size_t i)
{
	const struct mapping *m = maps_at(maps, i);

	for (size_t at = i + 1; at-- > 0;) {
		const struct mapping *other = maps_at(maps, at);

		if (other->ino && !maps_data_of_one_file(m, other))
			return 0;
		if (other->ino && !other->offset)
			return other->start;
	}
	return 0;
}

/*
 * How far the writable segments reach from the one that begins the file; 0: there are none, or they
 * make no sense.
 */
static uint64_t maps_data_length(const Elf64_Phdr *headers, size_t count)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < count; i++) {
		const Elf64_Phdr *ph = &headers[i];
		uint64_t end;

		if (ph->p_type != PT_LOAD)
			continue;
		if (ph->p_offset < page_size() && first == UINT64_MAX)
			first = page_down(ph->p_vaddr, page_size());
		if (__builtin_add_overflow(ph->p_vaddr, ph->p_memsz, &end))
			return 0;
		if (ph->p_flags & PF_W && end > last)
			last = end;
	}
	return last > first ? last - first : 0;
}

/* Where the data of the file at `start` ends. 0: that cannot be told; `start`: it has no data. */
static uint64_t maps_data_end(const struct maps_data *d, uint64_t start)
{
	Elf64_Phdr headers[HEADERS_MAX];
	Elf64_Ehdr header;
	uint64_t length, end;
	size_t size;

	if (d->read(d->ctx, start, &header, sizeof(header)) != sizeof(header))
		return 0;
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return start;
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    header.e_phentsize != sizeof(*headers) || header.e_phnum > HEADERS_MAX)
		return 0;
	size = header.e_phnum * sizeof(*headers);
	if (d->read(d->ctx, start + header.e_phoff, headers, size) != size)
		return 0;
	length = maps_data_length(headers, header.e_phnum);
	if (__builtin_add_overflow(start, length, &end) || end > UINT64_MAX - page_size())
		return 0;
	return page_up(end, page_size());
}

static int maps_data_look(struct maps_data *d, size_t i)
{
	const struct mapping *m = maps_at(d->maps, i), *file = maps_at(d->maps, i - 1);
	uint64_t start, end;

	if (m->ino || *m->path || !file->ino || file->shared || file->end != m->start)
		return 0;
	start = maps_data_start(d->maps, i - 1);
	end = start ? maps_data_end(d, start) : 0;
	if (!end || end >= m->end)
		return 0;
	if (!RESERVE_ITEM(d->cuts, d->count, d->room, 16))
		return -ENOMEM;
	d->cuts[d->count++] = (struct maps_cut){.index = i, .at = end > m->start ? end : m->start};
	return 0;
}

int maps_cut_data(struct maps *maps,
		  size_t (*read)(void *ctx, uint64_t address, void *to, size_t size), void *ctx)
{
	struct maps_data d = {.maps = maps, .read = read, .ctx = ctx};
	int err = 0;

	for (size_t i = 1; !err && i < maps_count(maps); i++)
		err = maps_data_look(&d, i);
	if (!err && d.count)
		err = maps_cut(maps, d.cuts, d.count);
	free(d.cuts);
	return err;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/inspect/class_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/base/util.h"

#define TEXT_PIECE 256

/* A loaded file's first mapping is one of so many before; files may be mapped in thousands of pieces. */
#define FIRST_BACK 256

/* The mappings of one file that follow each other, and what of its data has no file (.bss). */
struct class_span {
	uint64_t start, end;
};

struct class_file {
	struct object *object;
	bool tried;
	const struct mapping *first; /* of the loaded file; NULL: not looked for */
};

struct class_memory {
	const struct memory_image *image;
	const struct class_files *files;
	struct class_span *spans; /* by address */
	size_t span_count, span_room;
	struct class_file *opened; /* by mapping */
};

static bool class_is_files(const struct mapping *m)
{
	return m->ino && *m->path == '/';
}

/* Anonymous memory right behind a file's writable mapping is the rest of its data. */
static bool class_is_rest(const struct mapping *before, const struct mapping *m)
{
	return !m->ino && !*m->path && m->start == before->end && class_is_files(before) &&
	       before->write && !before->shared;
}

static int class_memory_find_spans(struct class_memory *memory)
{
	const struct maps *maps = memory->image->maps;
	const struct mapping *before = NULL;

	for (size_t i = 0; i < maps_count(maps); i++) {
		const struct mapping *m = maps_at(maps, i);
		bool files = class_is_files(m), rest = before && class_is_rest(before, m);

		if (rest || (files && before && class_is_files(before) && before->ino == m->ino &&
			     before->dev == m->dev && before->end == m->start)) {
			memory->spans[memory->span_count - 1].end = m->end;
		} else if (files) {
			if (!RESERVE_ITEM(memory->spans, memory->span_count, memory->span_room, 64))
				return -ENOMEM;
			memory->spans[memory->span_count++] = (struct class_span){m->start, m->end};
		}
		before = m;
	}
	return 0;
}

struct class_memory *class_memory_new(const struct memory_image *image,
				      const struct class_files *files)
{
	struct class_memory *memory = calloc(1, sizeof(*memory));

	if (!memory)
		return NULL;
	memory->image = image;
	memory->files = files;
	if (!image->maps)
		return memory;
	memory->opened = calloc(maps_count(image->maps) + 1, sizeof(*memory->opened));
	if (!memory->opened || class_memory_find_spans(memory)) {
		class_memory_free(memory);
		return NULL;
	}
	return memory;
}

void class_memory_free(struct class_memory *memory)
{
	if (!memory)
		return;
	for (size_t i = 0; memory->opened && i < maps_count(memory->image->maps); i++)
		object_unref(memory->opened[i].object);
	free(memory->opened);
	free(memory->spans);
	free(memory);
}

const struct memory_image *class_memory_image(const struct class_memory *memory)
{
	return memory->image;
}

bool class_memory_is_object(const struct class_memory *memory, uint64_t address)
{
	size_t i = BISECT(i, 0, memory->span_count, memory->spans[i].end <= address);

	return i < memory->span_count && memory->spans[i].start <= address;
}

/* What is mapped at the address; NULL: nothing. */
static const struct mapping *class_memory_any(const struct class_memory *memory, uint64_t address)
{
	return memory->image->maps ? maps_find(memory->image->maps, address) : NULL;
}

const struct mapping *class_memory_mapping(const struct class_memory *memory, uint64_t address)
{
	const struct mapping *m = class_memory_any(memory, address);

	return m && class_is_files(m) ? m : NULL;
}

struct object *class_memory_object(struct class_memory *memory, const struct mapping *m)
{
	struct class_file *file = &memory->opened[m - maps_at(memory->image->maps, 0)];

	if (!file->tried && class_is_files(m) && memory->files->object) {
		file->tried = true;
		if (memory->files->object(memory->files->ctx, m, &file->object))
			file->object = NULL;
	}
	return file->object;
}

/* How many of `size` bytes at the address could be read: up to the next page that is in another place. */
static size_t class_memory_read_some(struct class_memory *memory, uint64_t address, char *to,
				     size_t size)
{
	const struct memory_region *region = memory_image_region(memory->image, address);
	const struct mapping *m;
	struct object *object;
	ssize_t got;

	if (region && address >= region->start) {
		uint64_t left = region->start + region->size - address;

		size = left < size ? (size_t)left : size;
		memcpy(to, (const char *)region->words + (address - region->start), size);
		return size;
	}
	m = class_memory_any(memory, address);
	object = m && m->read ? class_memory_object(memory, m) : NULL;
	if (!object)
		return 0;
	size = m->end - address < size ? (size_t)(m->end - address) : size;
	if (region && region->start - address < size)
		size = (size_t)(region->start - address);
	got = pread(object_fd(object), to, size, (off_t)(m->offset + (address - m->start)));
	return got > 0 ? (size_t)got : 0;
}

bool class_memory_read(struct class_memory *memory, uint64_t address, void *to, size_t size)
{
	char *out = to;

	while (size) {
		size_t got = class_memory_read_some(memory, address, out, size);

		if (!got)
			return false;
		address += got;
		out += got;
		size -= got;
	}
	return true;
}

ssize_t class_memory_text(struct class_memory *memory, uint64_t address, char *to, size_t size)
{
	size_t used = 0;

	while (used < size) {
		size_t wanted = size - used < TEXT_PIECE ? size - used : TEXT_PIECE;
		size_t got = class_memory_read_some(memory, address + used, to + used, wanted);
		const char *nul = memchr(to + used, '\0', got);

		if (nul)
			return nul - to;
		if (!got)
			return -1;
		used += got;
	}
	return -1;
}

/* That of the file; of memory behind its data, the data's. */
static const struct mapping *class_memory_file(const struct class_memory *memory, uint64_t address)
{
	const struct mapping *m = class_memory_any(memory, address), *before;

	if (!m || class_is_files(m) || !m->start)
		return m && class_is_files(m) ? m : NULL;
	before = class_memory_any(memory, m->start - 1);
	return before && class_is_rest(before, m) ? before : NULL;
}

const char *class_memory_path(const struct class_memory *memory, uint64_t address)
{
	const struct mapping *m = class_memory_file(memory, address);

	return m ? m->path : NULL;
}

/*
 * The first mapping of the same loaded file: there the address in the file is certain. Those of the
 * others begin with a page of the segment before, which has another one.
 */
static const struct mapping *class_memory_first(struct class_memory *memory,
						const struct mapping *m)
{
	const struct mapping *all = maps_at(memory->image->maps, 0), *first = m;

	if (memory->opened[m - all].first)
		return memory->opened[m - all].first;
	for (const struct mapping *other = m;
	     other >= all && m - other < FIRST_BACK && first->offset; other--) {
		if (other->ino == m->ino && other->dev == m->dev && other->offset <= first->offset)
			first = other;
	}
	memory->opened[m - all].first = first;
	return first;
}

bool class_memory_variable(struct class_memory *memory, uint64_t address, uint64_t *vaddr,
			   const char **name, uint64_t *offset)
{
	const struct mapping *m = class_memory_file(memory, address), *first;
	struct object *object = m ? class_memory_object(memory, m) : NULL;
	uint64_t start;

	*name = NULL;
	*offset = 0;
	if (!object)
		return false;
	first = class_memory_first(memory, m);
	if (object_offset_to_vaddr(object, first->offset, &start))
		return false;
	*vaddr = start + (address - first->start);
	if (memory->files->symbolizer &&
	    symbolizer_name_data(memory->files->symbolizer, object, *vaddr, memory->files->pid,
				 name, offset))
		*name = NULL;
	return true;
}

bool class_memory_next_loaded(struct class_memory *memory, struct class_loaded *loaded)
{
	const struct maps *maps = memory->image->maps;
	const struct mapping *all = maps ? maps_at(maps, 0) : NULL, *last;

	last = loaded->mapping ? class_memory_first(memory, &all[loaded->mapping - 1]) : NULL;
	while (maps && loaded->mapping < maps_count(maps)) {
		const struct mapping *m = &all[loaded->mapping++], *first;
		uint64_t start;

		if (!class_is_files(m) || !m->write || m->shared)
			continue;
		loaded->path = m->path;
		loaded->late = monotonic_ns() >= loaded->deadline_ns;
		if (loaded->late)
			return false;
		first = class_memory_first(memory, m);
		loaded->object = first != last ? class_memory_object(memory, m) : NULL;
		last = first;
		if (!loaded->object ||
		    object_offset_to_vaddr(loaded->object, first->offset, &start))
			continue;
		loaded->bias = first->start - start;
		return true;
	}
	return false;
}

int class_memory_types(struct class_memory *memory, struct class_loaded *loaded,
		       struct type_table **out)
{
	const struct class_files *files = memory->files;
	int err;

	*out = NULL;
	loaded->kept = false;
	if (!files->symbolizer)
		return 0;
	err = files->types ? kept_types_get(files->types, loaded->object, out) : 0;
	loaded->kept = *out != NULL;
	if (err || *out)
		return err;
	err = symbolizer_types(files->symbolizer, loaded->object, files->pid, loaded->deadline_ns,
			       out);
	if (!err && *out && files->types)
		kept_types_put(files->types, loaded->object, *out);
	return err;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The kernel puts the first page of each mapped ELF file into a core (bit 4 of coredump_filter, on
 * by default: core(5)). It does so for just this: the page has the file's headers, and mostly its
 * build id.
 */
#include "user/corefile/core_objects.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/log.h"
#include "user/base/page.h"
#include "user/base/parse.h"
#include "user/base/text.h"
#include "user/base/util.h"
#include "user/process/elf_file.h"
#include "user/symbol/debuginfod.h"
#include "user/symbol/root.h"

#define NOTE_MAX  4096 /* bytes of a notes segment that are searched for the build id */
#define DELETED	  " (deleted)"
#define BEGINNING 4096 /* a core has so much of each file's beginning */

/* More files than a program has; each takes a descriptor. */
#define FOUND_MAX 4096

/* ---- what the core has of them ------------------------------------------------------------ */

/* Where a link-time address of the object was mapped; 0: unknown. */
static uint64_t core_object_address(const struct core_object *o, uint64_t vaddr)
{
	for (size_t i = 0; i < o->header_count; i++) {
		const Elf64_Phdr *ph = &o->headers[i];

		/* The segment that begins the file begins the first mapping. */
		if (ph->p_type == PT_LOAD && ph->p_offset < page_size())
			return o->start + vaddr - page_down(ph->p_vaddr, page_size());
	}
	return 0;
}

/*
 * Takes NT_GNU_BUILD_ID from the notes, whose words are aligned to 4 bytes (gABI, "Note Section").
 */
static void core_object_take_id(struct core_object *o, const uint8_t *notes, size_t size)
{
	size_t at = 0;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		uint64_t name, desc;
		Elf64_Nhdr note;

		memcpy(&note, notes + at, sizeof(note));
		name = at + sizeof(note);
		desc = name + (((uint64_t)note.n_namesz + 3) & ~3ull);
		if (desc > size || note.n_descsz > size - desc)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
		    !memcmp(notes + name, "GNU", sizeof("GNU")) && note.n_descsz &&
		    note.n_descsz <= CORE_ID_MAX) {
			memcpy(o->id, notes + desc, note.n_descsz);
			o->id_len = note.n_descsz;
			return;
		}
		at = (size_t)desc + ((note.n_descsz + 3) & ~3u);
		if (at > size)
			return;
	}
}

static void core_object_read(struct core_object *o, const struct core_segments *segments)
{
	uint8_t notes[NOTE_MAX];
	Elf64_Ehdr header;

	if (!o->start ||
	    core_segments_get(segments, o->start, &header, sizeof(header)) != sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return;
	o->is_elf = true;
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > CORE_HEADERS_MAX)
		return;
	if (core_segments_get(segments, o->start + header.e_phoff, o->headers,
			      header.e_phnum * sizeof(Elf64_Phdr)) !=
	    header.e_phnum * sizeof(Elf64_Phdr))
		return;
	o->header_count = header.e_phnum;
	for (size_t i = 0; !o->id_len && i < o->header_count; i++) {
		const Elf64_Phdr *ph = &o->headers[i];
		uint64_t size = ph->p_filesz < NOTE_MAX ? ph->p_filesz : NOTE_MAX;
		uint64_t at = ph->p_type == PT_NOTE ? core_object_address(o, ph->p_vaddr) : 0;

		if (at && core_segments_get(segments, at, notes, size) == size)
			core_object_take_id(o, notes, size);
	}
}

/* ---- the same ones here ------------------------------------------------------------------- */

/* The core itself, and the caller's options. */
struct core_search {
	const struct core_segments *segments;
	const struct core_file_options *options;
};

/*
 * For programs that were linked without a build id. The file here is theirs when it begins with the
 * same page as the mapping, and has not been changed since the core was written.
 */
static bool core_object_is_unchanged(const struct core_search *search, const struct core_object *o,
				     int fd)
{
	uint8_t here[BEGINNING], there[BEGINNING];
	struct stat core, file;
	size_t size = core_segments_get(search->segments, o->start, there, sizeof(there));

	return size >= sizeof(Elf64_Ehdr) && !fstat(search->segments->fd, &core) &&
	       !fstat(fd, &file) &&
	       (file.st_ctim.tv_sec != core.st_mtim.tv_sec
			? file.st_ctim.tv_sec < core.st_mtim.tv_sec
			: file.st_ctim.tv_nsec < core.st_mtim.tv_nsec) &&
	       pread(fd, here, size, 0) == (ssize_t)size && !memcmp(here, there, size);
}

/* Takes fd over. 0 and o->object; -ESTALE when it is another file; or another -errno. */
static int core_object_compare(const struct core_search *search, struct core_object *o, int fd,
			       const char *path)
{
	struct object *object;
	const uint8_t *id;
	size_t len;
	bool same;
	int err = object_cache_take(search->options->objects, fd, path, &object);

	if (err)
		return err;
	id = object_build_id(object, &len);
	if (o->id_len)
		same = len == o->id_len && !memcmp(id, o->id, len);
	else
		same = !len && core_object_is_unchanged(search, o, object_fd(object));
	if (!same) {
		object_unref(object);
		return -ESTALE;
	}
	o->object = object;
	return 0;
}

/* Fedora links to programs and libraries by their build ids, in both directories. */
static int core_object_try_id(const struct core_search *search, struct core_object *o, int root,
			      const char *path)
{
	static const char *const directories[] = {"/usr/lib/.build-id", "/usr/lib/debug/.build-id"};
	char hex[2 * CORE_ID_MAX + 1], name[sizeof(hex) + 64];
	int err = -ENOENT;

	format_hex(hex, sizeof(hex), o->id, o->id_len);
	for (size_t i = 0; err && o->id_len && i < ARRAY_SIZE(directories); i++) {
		int fd;

		snprintf(name, sizeof(name), "%s/%.2s/%s", directories[i], hex, hex + 2);
		fd = root_open_file(root, name);
		if (fd >= 0)
			err = core_object_compare(search, o, fd, path);
	}
	return err;
}

static int core_object_ask_servers(const struct core_search *search, struct core_object *o,
				   const char *path)
{
	const char *slash = strrchr(path, '/');
	char name[256];
	int fd;

	if (!o->id_len || !search->options->debuginfod)
		return -ENOENT;
	text_copy(name, sizeof(name), slash ? slash + 1 : path, sizeof(name), &text_for_terminal);
	log_info("asking debuginfod for %s", name);
	fd = debuginfod_executable(o->id, o->id_len);
	return fd < 0 ? fd : core_object_compare(search, o, fd, path);
}

static void core_object_say_why(struct core_object *o, int err)
{
	if (err == -ESTALE)
		refuse(o->why, 0, "%s",
		       o->id_len ? "the file of that name here has another build id"
				 : "there is no build id to know it by, and the file of that name "
				   "here is another, or has been changed since");
	else
		refuse(o->why, 0, "%s", err == -ENOENT ? "it is not here" : strerror(-err));
}

static void core_object_open(const struct core_search *search, struct core_object *o)
{
	int root = search->options->root_fd < 0 ? ROOT_OURS : search->options->root_fd, fd, err;
	size_t len = strlen(o->path), mark = strlen(DELETED);
	_cleanup_free_ char *path = NULL;

	if (len > mark && !strcmp(o->path + len - mark, DELETED))
		len -= mark;
	path = strndup(o->path, len);
	if (!path) {
		refuse(o->why, 0, "no memory");
		return;
	}
	fd = path[0] == '/' ? root_open_file(root, path) : -ENOENT;
	err = fd < 0 ? fd : core_object_compare(search, o, fd, path);
	if (err && core_object_try_id(search, o, root, path) &&
	    core_object_ask_servers(search, o, path))
		core_object_say_why(o, err);
}

void core_objects_find(struct core_notes *notes, const struct core_segments *segments,
		       const struct core_file_options *options)
{
	const struct core_search search = {.segments = segments, .options = options};
	size_t found = 0;

	for (size_t i = 0; i < notes->object_count; i++) {
		struct core_object *o = &notes->objects[i];

		core_object_read(o, segments);
		if (!o->is_elf)
			continue;
		if (found == FOUND_MAX)
			refuse(o->why, 0, "there are more than %d of them", FOUND_MAX);
		else
			core_object_open(&search, o);
		found += o->object != NULL;
	}
}

uint64_t core_object_end(const struct core_object *object)
{
	uint64_t end = 0;

	for (size_t i = 0; i < object->header_count; i++) {
		const Elf64_Phdr *ph = &object->headers[i];

		if (ph->p_type == PT_LOAD && ph->p_vaddr + ph->p_memsz > end)
			end = ph->p_vaddr + ph->p_memsz;
	}
	return end ? core_object_address(object, end) : 0;
}

/* Does the segment have the page of the file that the offset is in? Segments are mapped in whole pages. */
static bool core_header_has(const Elf64_Phdr *ph, uint64_t offset)
{
	const uint64_t page = page_size(), start = page_down(ph->p_offset, page);

	return ph->p_type == PT_LOAD && offset >= start &&
	       offset - start < page_up(ph->p_filesz + (ph->p_offset - start), page);
}

bool core_object_is_code(const struct core_object *object, uint64_t offset)
{
	for (size_t i = 0; i < object->header_count; i++) {
		if (object->headers[i].p_flags & PF_X &&
		    core_header_has(&object->headers[i], offset))
			return true;
	}
	return false;
}

bool core_object_may_be_written(const struct core_object *object, uint64_t offset)
{
	bool known = false;

	for (size_t i = 0; i < object->header_count; i++) {
		known |= object->headers[i].p_type == PT_LOAD;
		if (object->headers[i].p_flags & PF_W &&
		    core_header_has(&object->headers[i], offset))
			return true;
	}
	return !known;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/managed/go_program.h"

#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/process/elf_open.h"

#define PIECE_WORDS 8192u
#define AHEAD_WORDS 512u
#define SCAN_PAGE   4096u

/* A program's variables: more than any has. */
#define DATA_MAX (4ull << 30)

/* Of a function that are looked at for the size of its frame. */
#define VALUES_MAX (1u << 16)

/*
 * Go wants its first arena at 0x00c0 << 32, or at one of these with i << 40 more; from 1.26 on somewhere
 * (runtime/malloc.go). Arenas of glibc begin at multiples of as much.
 */
#define GO_ARENA      (64ull << 20)
#define GO_HINT	      (1ull << 40)
#define GO_HINT_FIRST (0xc0ull << 32)

/* debug/buildinfo: magic, size of a pointer, flags; the version behind 32 bytes. */
#define BUILD_MAGIC  "\xff Go buildinf:"
#define BUILD_BYTES  128
#define BUILD_INLINE 2u

/* Words of struct moduledata. */
enum {
	MODULE_NAMES_LEN = 2,
	MODULE_NAMES_CAP = 3,
	MODULE_UNITS_LEN = 5,
	MODULE_UNITS_CAP = 6,
	MODULE_FUNCTIONS_LEN = 17,
	MODULE_FUNCTIONS_CAP = 18,
	MODULE_MIN_PC = 20,
	MODULE_MAX_PC = 21,
	MODULE_TEXT = 22,
	MODULE_TEXT_END = 23,
	MODULE_DATA = 24,
	MODULE_WORDS = 40,
};

/* ---- reading ------------------------------------------------------------------------------- */

uint64_t *go_copy_words(const struct managed_memory *memory, uint64_t address, uint64_t count)
{
	uint64_t *words;

	if (!count || address % 8 || count > memory->image->bytes / 8)
		return NULL;
	words = malloc(count * 8);
	if (words && !managed_read(memory, address, words, count * 8)) {
		free(words);
		return NULL;
	}
	return words;
}

const uint64_t *go_words(const struct managed_memory *memory, uint64_t address, size_t count,
			 uint64_t *room)
{
	const struct memory_image *image = memory->image;
	const struct memory_region *near = NULL;
	const uint64_t *words;

	if (!address || address % 8 || address + 8 * count < address)
		return NULL;
	words = memory_image_words(image, address, count);
	if (words)
		return words;
	for (size_t i = 0; i < count; i++) {
		const struct mapping *m;

		if (memory_image_word_near(image, &near, address + 8 * i, &room[i]))
			continue;
		m = maps_find(image->maps, address + 8 * i);
		if (!m || m->ino || !m->write)
			return NULL;
		room[i] = 0;
	}
	return room;
}

/* Where the next page may be that is there: of memory that nobody has touched there may be terabytes. */
static uint64_t scan_next(const struct managed_memory *memory, uint64_t address)
{
	const struct memory_region *r = memory_image_region(memory->image, address);
	const struct mapping *m = maps_find(memory->image->maps, address);
	uint64_t page = (address | (SCAN_PAGE - 1)) + 1;

	if (!m || m->ino || !r || r->start <= page)
		return page;
	return r->start < m->end ? r->start : m->end;
}

/* As many words as are there, page by page. */
static size_t scan_read(const struct managed_memory *memory, uint64_t at, uint64_t *words,
			uint64_t bytes)
{
	uint64_t got = 0;

	if (managed_read(memory, at, words, bytes))
		return bytes / 8;
	while (got < bytes) {
		uint64_t step = SCAN_PAGE - (at + got) % SCAN_PAGE;

		step = step < bytes - got ? step : bytes - got;
		if (!managed_read(memory, at + got, (char *)words + got, step))
			break;
		got += step;
	}
	return got / 8;
}

int go_scan(const struct managed_memory *memory, uint64_t start, uint64_t end, size_t ahead,
	    go_words_fn *fn, void *ctx)
{
	uint64_t *words = malloc((PIECE_WORDS + AHEAD_WORDS) * sizeof(*words));
	int err = words ? 0 : -ENOMEM;

	ahead = ahead < AHEAD_WORDS ? ahead : AHEAD_WORDS;
	end &= ~7ull;
	for (uint64_t at = (start + 7) & ~7ull; !err && at < end;) {
		uint64_t want = 8 * (PIECE_WORDS + ahead);
		size_t count, own;

		count = scan_read(memory, at, words, want < end - at ? want : end - at);
		own = count < PIECE_WORDS ? count : PIECE_WORDS;
		if (own)
			err = fn(ctx, at, words, own, count);
		at = own ? at + 8 * own : scan_next(memory, at);
	}
	free(words);
	return err;
}

int go_scan_data(const struct go_program *program, size_t ahead, go_words_fn *fn, void *ctx)
{
	int err = 0;

	for (size_t i = 0; !err && i < GO_DATA_RANGES; i++)
		err = go_scan(program->memory, program->data[i].start, program->data[i].end, ahead,
			      fn, ctx);
	return err;
}

/* ---- the version --------------------------------------------------------------------------- */

/* Where the file has its build information: strip(1) leaves the section. False: it has none. */
static bool build_find(Elf *elf, GElf_Shdr *shdr)
{
	Elf_Scn *scn = NULL;
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings))
		return false;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;

		if (gelf_getshdr(scn, shdr) && (name = elf_strptr(elf, strings, shdr->sh_name)) &&
		    !strcmp(name, ".go.buildinfo"))
			return true;
	}
	return false;
}

/* "go1.24.4", and what experiments it was built with: "go1.24.4 X:nogreenteagc". */
static bool build_version(struct go_program *program, const char *text, size_t len)
{
	unsigned minor;

	if (len >= sizeof(program->version))
		len = sizeof(program->version) - 1;
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)text[i] < ' ' || (unsigned char)text[i] > '~')
			return false;
		program->version[i] = text[i];
	}
	program->version[len] = '\0';
	program->experiments = strstr(program->version, "X:") != NULL;
	if (sscanf(program->version, "go1.%u", &minor) == 1)
		program->layout = go_layout_of(minor);
	if (program->layout)
		program->inline_marks = strstr(program->version, "greenteagc")
						? !strstr(program->version, "nogreenteagc")
						: program->layout->inline_marks;
	return true;
}

static int build_read(struct go_program *program, const struct object *object,
		      char reason[static REASON_MAX])
{
	uint8_t bytes[BUILD_BYTES] = {0};
	GElf_Shdr shdr;
	size_t len = 0, at = 32;

	if (!build_find(program->elf, &shdr) ||
	    pread(object_fd(object), bytes, sizeof(bytes) - 1, (off_t)shdr.sh_offset) < 64 ||
	    memcmp(bytes, BUILD_MAGIC, sizeof(BUILD_MAGIC) - 1) != 0) {
		snprintf(reason, REASON_MAX, "the program does not say which Go built it");
		return -ENOTSUP;
	}
	if (!(bytes[15] & BUILD_INLINE)) {
		snprintf(reason, REASON_MAX, "it was built by a Go before 1.18");
		return -ENOTSUP;
	}
	/* A varint; a version has no 128 bytes. */
	len = bytes[at++];
	if (!len || len >= sizeof(bytes) - at ||
	    !build_version(program, (const char *)bytes + at, len)) {
		snprintf(reason, REASON_MAX, "the program does not say which Go built it");
		return -ENOTSUP;
	}
	if (!program->layout) {
		snprintf(reason, REASON_MAX, "it was built by %s, whose heap is not known",
			 program->version);
		return -ENOTSUP;
	}
	return 0;
}

/* ---- struct moduledata --------------------------------------------------------------------- */

struct module_search {
	struct go_program *program;
	uint64_t words[MODULE_WORDS];
	bool found;
};

static bool module_is_header(const struct managed_memory *memory, uint64_t address)
{
	uint8_t p[8];
	uint32_t magic;

	if (!address || address % 8 || !managed_read(memory, address, p, sizeof(p)))
		return false;
	memcpy(&magic, p, sizeof(magic));
	return (magic == 0xfffffff0u || magic == 0xfffffff1u) && !p[4] && !p[5] && p[7] == 8;
}

static bool module_is(const struct managed_memory *memory, const uint64_t *w)
{
	if (!w[0] || !w[MODULE_NAMES_LEN] || w[MODULE_NAMES_LEN] != w[MODULE_NAMES_CAP] ||
	    w[MODULE_UNITS_LEN] != w[MODULE_UNITS_CAP] ||
	    w[MODULE_FUNCTIONS_LEN] != w[MODULE_FUNCTIONS_CAP] || !w[MODULE_MIN_PC] ||
	    w[MODULE_MAX_PC] <= w[MODULE_MIN_PC] || w[MODULE_TEXT_END] <= w[MODULE_TEXT])
		return false;
	for (size_t i = 0; i < GO_DATA_RANGES; i++) {
		const uint64_t *range = &w[MODULE_DATA + 2 * i];

		if (range[1] < range[0] || range[1] - range[0] > DATA_MAX)
			return false;
	}
	return module_is_header(memory, w[0]);
}

static int module_look(void *ctx, uint64_t address, const uint64_t *words, size_t own, size_t count)
{
	struct module_search *search = ctx;

	(void)address;
	for (size_t i = 0; i < own && i + MODULE_WORDS <= count; i++) {
		if (!module_is(search->program->memory, words + i))
			continue;
		memcpy(search->words, words + i, sizeof(search->words));
		search->found = true;
		return 1;
	}
	return 0;
}

/* In the object's data; of a position-independent program that may be made read-only once it is relocated. */
static int module_search(struct module_search *search, const struct mapping *of)
{
	const struct managed_memory *memory = search->program->memory;
	const struct maps *maps = memory->image->maps;

	for (int pass = 0; pass < 2 && !search->found; pass++) {
		for (size_t i = 0; i < maps_count(maps) && !search->found; i++) {
			const struct mapping *m = maps_at(maps, i);
			int err;

			if (m->ino != of->ino || m->dev != of->dev || m->exec || !m->read ||
			    m->write != !pass || m->end - m->start > DATA_MAX)
				continue;
			err = go_scan(memory, m->start, m->end, MODULE_WORDS, module_look, search);
			if (err < 0)
				return err;
		}
	}
	return 0;
}

static int module_find(struct go_program *program, const struct mapping *of,
		       char reason[static REASON_MAX])
{
	struct module_search search = {.program = program};
	const struct go_layout *layout = program->layout;
	int err = module_search(&search, of);

	if (err)
		return err;
	if (!search.found) {
		snprintf(reason, REASON_MAX, "its runtime's variables were not found");
		return -ENOTSUP;
	}
	program->bias = search.words[MODULE_TEXT] - go_functions_text(program->functions);
	for (size_t i = 0; i < GO_DATA_RANGES; i++)
		program->data[i] = (struct go_range){search.words[MODULE_DATA + 2 * i],
						     search.words[MODULE_DATA + 2 * i + 1]};
	program->types = (struct go_range){search.words[layout->types / 8],
					   search.words[layout->etypes / 8]};
	if (program->types.end < program->types.start ||
	    program->types.end - program->types.start > UINT32_MAX)
		program->types = (struct go_range){0, 0};
	return 0;
}

/* ---- finding it ---------------------------------------------------------------------------- */

enum go_arena {
	ARENA_NONE,
	ARENA_PERHAPS,
	ARENA_WANTED, /* where Go wants it: a library may be Go's, too */
};

static enum go_arena find_arena(const struct maps *maps)
{
	enum go_arena found = ARENA_NONE;

	for (size_t i = 0; i < maps_count(maps); i++) {
		const struct mapping *m = maps_at(maps, i);

		if (m->ino || m->shared || m->start % GO_ARENA)
			continue;
		if (m->start % GO_HINT == GO_HINT_FIRST)
			return ARENA_WANTED;
		found = ARENA_PERHAPS;
	}
	return found;
}

static int program_of(const struct mapping *m, struct object *object, struct go_program *out,
		      char reason[static REASON_MAX])
{
	int err;

	out->elf = object_elf(object, ELF_FOR_FRAMES);
	if (!out->elf)
		return -ENOENT;
	err = go_functions_read(out->elf, object_fd(object), &out->functions);
	err = err ?: build_read(out, object, reason);
	return err ?: module_find(out, m, reason);
}

int go_program_find(const struct managed_memory *memory, struct go_program *out,
		    char reason[static REASON_MAX])
{
	const struct maps *maps = memory->image->maps;
	enum go_arena arena = maps ? find_arena(maps) : ARENA_NONE;
	const struct object *last = NULL;
	int err = -ENOENT;

	*out = (struct go_program){.memory = memory};
#if !defined(__x86_64__)
	arena = ARENA_NONE;
#endif
	for (size_t i = 0; arena && err == -ENOENT && i < maps_count(maps); i++) {
		const struct mapping *m = maps_at(maps, i);
		struct object *object;

		if (!m->exec || !m->ino)
			continue;
		object = memory->object(memory->ctx, m);
		if (!object || object == last)
			continue;
		/* The program comes first: the files of a hundred libraries are not for nothing. */
		if (last && arena != ARENA_WANTED)
			break;
		last = object;
		go_program_release(out);
		*out = (struct go_program){.memory = memory};
		err = program_of(m, object, out, reason);
	}
	return err;
}

void go_program_release(struct go_program *program)
{
	go_functions_free(program->functions);
	elf_end(program->elf);
	program->functions = NULL;
	program->elf = NULL;
}

const char *go_program_number(const struct go_program *program)
{
	return program->version + 2 * !strncmp(program->version, "go", 2);
}

/* ---- its functions ------------------------------------------------------------------------- */

bool go_program_function(const struct go_program *program, uint64_t pc, struct go_function *out)
{
	return go_functions_find(program->functions, pc - program->bias, out);
}

bool go_program_frame(const struct go_program *program, const struct go_function *function,
		      uint64_t pc, int64_t *bytes)
{
	struct go_values v = go_values_of(program->functions, function, function->sp_values);
	uint32_t left = VALUES_MAX;

	pc -= program->bias;
	while (left-- && go_values_next(&v) && v.pc < function->end) {
		if (pc >= v.pc && pc < v.end) {
			*bytes = v.value;
			return true;
		}
	}
	return false;
}

void go_program_place(const struct go_program *program, uint64_t pc, const char **function,
		      const char **file, uint32_t *line)
{
	struct go_function f;

	*function = NULL;
	*file = NULL;
	*line = 0;
	if (!go_program_function(program, pc, &f))
		return;
	*function = *f.name ? f.name : NULL;
	if (!go_functions_line(program->functions, &f, pc - program->bias, file, line)) {
		*file = NULL;
		*line = 0;
	}
}

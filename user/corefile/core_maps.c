// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A core has no names of memory without a file. We look for the ones that others rely on:
 *
 * 	[stack]	has the strings that the kernel put there for the program (AT_RANDOM: 16 bytes)
 * 	[heap]	is the first memory behind the program's data, at a random distance (arch_randomize_brk())
 * 	guards	gcore leaves out memory without any right, or says that it may be read. The libc keeps in
 * 		a thread's control block where its stack begins, guard included
 */
#include "user/corefile/core_maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "user/base/page.h"
#include "user/base/util.h"
#include "user/corefile/core_objects.h"

/* x86_64 from 6.9 on, aarch64 before, and room for rounding. */
#define HEAP_DISTANCE_MAX ((1ull << 30) + (1ull << 20))

/* ELF_ET_DYN_BASE of the kernel's asm/elf.h, for the usual size of address spaces. */
#if defined(__x86_64__)
#define DYN_BASE 0x555555554aaaull
#elif defined(__aarch64__)
#define DYN_BASE 0xaaaaaaaaaaaaull
#endif

/* Numbers that no file system has: for files that are not here. */
#define NO_DEVICE makedev(0xfff, 0xfffff)

/* A thread's control block in glibc and musl, on both sides of the thread pointer. */
#define THREAD_BLOCK_MAX 4096
#define GUARD_MAX	 (1ull << 30)

#define LOOKED_AT 16384 /* bytes at a time of memory that may be a guard */

/* A line of maps. */
struct core_mapping {
	uint64_t start, end, offset;
	bool read, write, exec, shared;
	size_t object;	  /* CORE_NONE: no file */
	const char *name; /* of memory without a file; NULL: none */
};

struct core_maps {
	const struct core_notes *notes;
	const struct core_segments *segments;
	struct core_mapping *items; /* by address */
	size_t count, room;
};

static bool core_maps_put(struct core_maps *maps, const struct core_mapping *m)
{
	if (!RESERVE_ITEM(maps->items, maps->count, maps->room, 256))
		return false;
	maps->items[maps->count++] = *m;
	return true;
}

static int core_maps_order(const void *a, const void *b)
{
	const struct core_mapping *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* The index of the mapping at the address, or of the first one behind it. */
static size_t core_maps_find(const struct core_maps *maps, uint64_t address)
{
	return BISECT(i, 0, maps->count, maps->items[i].end <= address);
}

/* ---- from segments and NT_FILE ------------------------------------------------------------ */

/*
 * Shared memory of these kinds may be in a core; shared mappings of other files are not. Neither
 * are private ones that never were written to. So a writable mapping that the core lacks counts as
 * shared, unless the file is a program's.
 */
static bool core_maps_is_shared(const struct core_object *o, const struct core_segment *s)
{
	static const char *const shared[] = {"/dev/shm/", "/memfd:", "/SYSV", "/dev/zero"};

	for (size_t i = 0; i < ARRAY_SIZE(shared); i++) {
		if (!strncmp(o->path, shared[i], strlen(shared[i])))
			return !o->is_elf;
	}
	return s && s->write && !s->filled && !s->cut && !o->is_elf;
}

static int core_maps_take_segments(struct core_maps *maps)
{
	for (size_t i = 0; i < maps->segments->count; i++) {
		const struct core_segment *s = &maps->segments->items[i];
		const struct core_mapped_file *f = core_notes_file(maps->notes, s->start);
		struct core_mapping m = {
			.start = s->start,
			.end = s->end,
			.read = s->read,
			.write = s->write,
			.exec = s->exec,
			.object = f ? f->object : CORE_NONE,
		};

		if (f) {
			m.offset = f->offset + (s->start - f->start);
			m.shared = core_maps_is_shared(&maps->notes->objects[f->object], s);
		}
		if (!core_maps_put(maps, &m))
			return -ENOMEM;
	}
	return 0;
}

/* Is all of the mapping zeros, and in the file? */
static bool core_maps_is_zeros(const struct core_maps *maps, const struct core_mapping *m)
{
	static const uint8_t zeros[LOOKED_AT];
	uint8_t bytes[LOOKED_AT];

	if (m->end - m->start > GUARD_MAX)
		return false;
	for (uint64_t at = m->start; at < m->end; at += LOOKED_AT) {
		size_t size = m->end - at < LOOKED_AT ? (size_t)(m->end - at) : LOOKED_AT;

		if (core_segments_get(maps->segments, at, bytes, size) != size ||
		    memcmp(bytes, zeros, size) != 0)
			return false;
	}
	return true;
}

/*
 * gcore says that all memory may be read, and fills unreadable memory with zeros. Memory that is
 * all zeros and cannot be written may be a guard: we call it unreadable. To the program there is no
 * difference.
 */
static void core_maps_find_unreadable(struct core_maps *maps)
{
	for (size_t i = 0; i < maps->count; i++) {
		if (!maps->items[i].read)
			return; /* the kernel's */
	}
	for (size_t i = 0; i < maps->count; i++) {
		struct core_mapping *m = &maps->items[i];

		if (m->object == CORE_NONE && !m->write && !m->exec)
			m->read = !core_maps_is_zeros(maps, m);
	}
}

/* gcore has no segments for memory that it takes from files: code and read-only data. */
static int core_maps_take_files(struct core_maps *maps)
{
	const size_t segments = maps->count;

	for (size_t i = 0; i < maps->notes->file_count; i++) {
		const struct core_mapped_file *f = &maps->notes->files[i];
		struct core_maps known = {.items = maps->items, .count = segments};
		size_t k = core_maps_find(&known, f->start);
		struct core_mapping m = {
			.start = f->start,
			.end = f->end,
			.offset = f->offset,
			.object = f->object,
			.read = true,
			.exec = core_object_is_code(&maps->notes->objects[f->object], f->offset),
		};

		if (k < segments && maps->items[k].start < f->end)
			continue;
		if (!core_maps_put(maps, &m))
			return -ENOMEM;
	}
	if (maps->count > segments)
		qsort(maps->items, maps->count, sizeof(*maps->items), core_maps_order);
	return 0;
}

/* ---- guards of stacks --------------------------------------------------------------------- */

/*
 * Does the thread's control block say that the mapping is its stack, above a guard? In glibc's
 * struct pthread stackblock, stackblock_size and guardsize follow each other. In musl's map_base,
 * map_size, stack, stack_size and guard_size do. The block begins with the guard and ends where the
 * mapping does. Returns where it begins; 0: no.
 */
static uint64_t core_maps_guard_of(const struct core_maps *maps, const struct core_mapping *m,
				   uint64_t thread)
{
	uint64_t words[2 * THREAD_BLOCK_MAX / 8];
	uint64_t start = (thread & ~7ull) - THREAD_BLOCK_MAX;
	uint64_t end = (thread & ~7ull) + THREAD_BLOCK_MAX;
	size_t count;

	start = start > m->start && start < thread ? start : m->start;
	end = end < m->end ? end : m->end;
	if (start >= end)
		return 0;
	count = core_segments_get(maps->segments, start, words, (size_t)(end - start) & ~7ull) / 8;
	for (size_t i = 0; i + 2 < count; i++) {
		uint64_t guard = m->start - words[i];

		if (words[i] >= m->start || words[i] % page_size() || guard > GUARD_MAX ||
		    words[i] + words[i + 1] != m->end)
			continue;
		for (size_t k = i + 2; k < i + 5 && k < count; k++) {
			if (words[k] == guard)
				return words[i];
		}
	}
	return 0;
}

/*
 * The control block of an ended thread whose stack the libc keeps: as in user/heap/dead_memory.c.
 */
static uint64_t core_maps_ended_thread(const struct core_maps *maps, const struct core_mapping *m)
{
	uint64_t words[THREAD_BLOCK_MAX / 8], start = m->end - THREAD_BLOCK_MAX;
	size_t count;

	if (m->end - m->start < THREAD_BLOCK_MAX)
		return 0;
	count = core_segments_get(maps->segments, start, words, sizeof(words)) / 8;
	for (size_t i = 0; i + 2 < count; i += 8) {
		if (words[i] == start + 8 * i && words[i + 2] == words[i])
			return words[i];
	}
	return 0;
}

struct core_guards {
	struct core_mapping *items;
	size_t count, room;
};

/* Adds the guard of the mapping, if that is the thread's stack. 0 or -ENOMEM. */
static int core_maps_look_for_guard(const struct core_maps *maps, struct core_guards *guards,
				    size_t i, uint64_t thread)
{
	const struct core_mapping *m = &maps->items[i];
	struct core_mapping guard = {.end = m->start, .object = CORE_NONE};

	if (m->object != CORE_NONE || !m->write || m->exec || !thread ||
	    (i && m[-1].end == m->start))
		return 0;
	guard.start = core_maps_guard_of(maps, m, thread);
	if (!guard.start || (i && m[-1].end > guard.start))
		return 0;
	if (!RESERVE_ITEM(guards->items, guards->count, guards->room, 64))
		return -ENOMEM;
	guards->items[guards->count++] = guard;
	return 0;
}

static int core_maps_find_guards(const struct core_maps *maps, struct core_guards *guards)
{
	int err = 0;

	for (size_t i = 0; !err && i < maps->notes->thread_count; i++) {
		const struct core_thread *t = &maps->notes->threads[i];
		size_t m = core_maps_find(maps, t->tls);

		if (t->has_tls && m < maps->count && maps->items[m].start <= t->tls)
			err = core_maps_look_for_guard(maps, guards, m, t->tls);
	}
	for (size_t i = 0; !err && i < maps->count; i++)
		err = core_maps_look_for_guard(maps, guards, i,
					       core_maps_ended_thread(maps, &maps->items[i]));
	return err;
}

static int core_maps_add_guards(struct core_maps *maps)
{
	struct core_guards guards = {0};
	int err = core_maps_find_guards(maps, &guards);

	if (guards.count)
		qsort(guards.items, guards.count, sizeof(*guards.items), core_maps_order);
	for (size_t i = 0; !err && i < guards.count; i++) {
		/* One stack may have several threads. */
		if (i && guards.items[i].start < guards.items[i - 1].end)
			continue;
		if (!core_maps_put(maps, &guards.items[i]))
			err = -ENOMEM;
	}
	free(guards.items);
	if (guards.count)
		qsort(maps->items, maps->count, sizeof(*maps->items), core_maps_order);
	return err;
}

/* ---- names -------------------------------------------------------------------------------- */

/* Names the mapping at the address and returns it; NULL: it has a file, or is not there. */
static struct core_mapping *core_maps_name(struct core_maps *maps, uint64_t address,
					   const char *name)
{
	size_t i = core_maps_find(maps, address);
	struct core_mapping *m = &maps->items[i];

	if (!address || i == maps->count || m->start > address || m->object != CORE_NONE)
		return NULL;
	m->name = name;
	return m;
}

static void core_maps_name_kernels(struct core_maps *maps)
{
	struct core_mapping *vsyscall = core_maps_name(maps, 0xffffffffff600000, "[vsyscall]");
	uint64_t vdso = core_notes_aux(maps->notes, AT_SYSINFO_EHDR);
	uint64_t random = core_notes_aux(maps->notes, AT_RANDOM);
	size_t i;

	if (vsyscall)
		vsyscall->read = false; /* the kernel's own cores say so, gcore's do not */
	core_maps_name(maps, vdso, "[vdso]");
	/* The vdso's kernel data lies before it; no core has any of that. */
	for (i = vdso ? core_maps_find(maps, vdso) : 0; i > 0; i--) {
		struct core_mapping *m = &maps->items[i - 1];

		if (i == maps->count || m->end != maps->items[i].start || m->write || m->exec ||
		    !m->read || m->object != CORE_NONE)
			break;
		m->name = "[vvar]";
	}
	if (!random && maps->notes->thread_count)
		random = maps->notes->threads[0].sp;
	core_maps_name(maps, random, "[stack]");
}

/* The program's own last mapping, .bss included; CORE_NONE: unknown. */
static size_t core_maps_program_end(const struct core_maps *maps)
{
	uint64_t address = core_notes_aux(maps->notes, AT_PHDR);
	size_t i = core_maps_find(maps, address), last = CORE_NONE;
	uint64_t bss;

	if (!address || i == maps->count || maps->items[i].start > address ||
	    maps->items[i].object == CORE_NONE)
		return CORE_NONE;
	for (size_t object = maps->items[i].object; i < maps->count; i++) {
		if (maps->items[i].object == object)
			last = i;
		else if (maps->items[i].object != CORE_NONE)
			break;
	}
	/*
	 * .bss follows directly, in several mappings where the program has changed the rights of a
	 * part. It ends where the program headers say: without randomness the heap follows
	 * directly, and has become one with it.
	 */
	bss = core_object_end(&maps->notes->objects[maps->items[last].object]);
	bss = bss ? page_up(bss, page_size()) : UINT64_MAX;
	while (last + 1 < maps->count && maps->items[last + 1].start == maps->items[last].end &&
	       maps->items[last + 1].object == CORE_NONE && maps->items[last + 1].end <= bss)
		last++;
	return last;
}

/*
 * A program in the region of libraries is linked statically, or was started as an argument of the
 * dynamic linker. The kernel puts its heap where other programs are: at ELF_ET_DYN_BASE, far from
 * everything.
 */
static size_t core_maps_find_far_heap(const struct core_maps *maps, uint64_t program)
{
	size_t i = core_maps_find(maps, DYN_BASE);

	if (i == maps->count || maps->items[i].start < DYN_BASE ||
	    maps->items[i].start - DYN_BASE > HEAP_DISTANCE_MAX || maps->items[i].start > program ||
	    program - maps->items[i].start < HEAP_DISTANCE_MAX)
		return CORE_NONE;
	return i;
}

static size_t core_maps_find_heap(const struct core_maps *maps)
{
	size_t program = core_maps_program_end(maps), heap;

	if (program == CORE_NONE)
		return CORE_NONE;
	heap = core_maps_find_far_heap(maps, maps->items[program].start);
	if (heap != CORE_NONE || program + 1 == maps->count)
		return heap;
	return maps->items[program + 1].start - maps->items[program].end > HEAP_DISTANCE_MAX
		       ? CORE_NONE
		       : program + 1;
}

/*
 * A part with other rights (musl begins with a page without any), or that is kept from forks, is a
 * mapping of its own.
 */
static void core_maps_name_heap(struct core_maps *maps)
{
	size_t first = core_maps_find_heap(maps), end;
	bool written = false;

	if (first == CORE_NONE)
		return;
	for (end = first; end < maps->count; end++) {
		const struct core_mapping *m = &maps->items[end];

		if (m->object != CORE_NONE || m->exec || m->name ||
		    (end > first && m[-1].end != m->start))
			break;
		written |= m->write;
	}
	for (size_t i = first; written && i < end; i++)
		maps->items[i].name = "[heap]";
}

/* ---- as text ------------------------------------------------------------------------------ */

/* Writes a newline as \012, like the kernel. */
static void core_maps_print_path(FILE *out, const char *path)
{
	for (; *path; path++) {
		if (*path == '\n')
			fputs("\\012", out);
		else
			fputc(*path, out);
	}
}

static void core_maps_print(FILE *out, const struct core_maps *maps)
{
	for (size_t i = 0; i < maps->count; i++) {
		const struct core_mapping *m = &maps->items[i];
		const struct core_object *o =
			m->object == CORE_NONE ? NULL : &maps->notes->objects[m->object];
		uint64_t dev = !o ? 0 : o->object ? object_dev(o->object) : NO_DEVICE;
		uint64_t ino = !o ? 0 : o->object ? object_ino(o->object) : m->object + 1;

		fprintf(out, "%" PRIx64 "-%" PRIx64 " %c%c%c%c %" PRIx64 " %x:%x %" PRIu64 " ",
			m->start, m->end, m->read ? 'r' : '-', m->write ? 'w' : '-',
			m->exec ? 'x' : '-', m->shared ? 's' : 'p', m->offset, major(dev),
			minor(dev), ino);
		core_maps_print_path(out, o ? o->path : m->name ?: "");
		fputc('\n', out);
	}
}

int core_maps_new(const struct core_notes *notes, const struct core_segments *segments,
		  struct maps **out)
{
	struct core_maps maps = {.notes = notes, .segments = segments};
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	FILE *stream;
	int err = core_maps_take_segments(&maps);

	if (!err)
		core_maps_find_unreadable(&maps);
	err = err ?: core_maps_take_files(&maps);
	err = err ?: core_maps_add_guards(&maps);
	if (!err) {
		core_maps_name_kernels(&maps);
		core_maps_name_heap(&maps);
		stream = open_memstream(&text, &len);
		if (stream)
			core_maps_print(stream, &maps);
		err = stream ? close_memstream(stream) : -ENOMEM;
	}
	free(maps.items);
	return err ?: maps_parse(text, len, out);
}

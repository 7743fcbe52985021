// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Allocators whose books nobody here reads, or whose books were not found: they are said by name, where a
 * mapping or a file has one, or the shape of its mappings tells (unknown_shapes.c). Names of mappings are what the allocator itself has given them with
 * PR_SET_VMA_ANON_NAME (system-alloc.cc of Google's tcmalloc, common.h and linux.cpp of Scudo); what lies
 * there is the allocator's, and not believed.
 */
#include <string.h>

#include "user/base/util.h"
#include "user/heap/unknown_heaps.h"
#include "user/heap/unknown_shapes.h"
#include "user/heap/walker.h"

struct unknown_heap {
	const char *name;
	/* what the name of its library begins with, or a program's whole name; NULL: it has none */
	const char *file;
	const char *mapping; /* what the names of its mappings begin with; NULL: they have none */
	/* what its walker calls it; NULL: it has none */
	const char *walked;
};

static const struct unknown_heap unknown_heaps[] = {
	{"Scudo", "libclang_rt.scudo", "[anon:scudo:", NULL},
	{"tcmalloc (Google)", NULL, "[anon:tcmalloc_region_", NULL},
	{"PartitionAlloc", NULL, "[anon:partition_alloc", NULL},
	{"snmalloc", "libsnmalloc", NULL, NULL},
	{"rpmalloc", "librpmalloc", NULL, NULL},
	{"hardened_malloc", "libhardened_malloc", NULL, NULL},
	{"Hoard", "libhoard", NULL, NULL},
	{"oneTBB", "libtbbmalloc", NULL, NULL},
	{"AddressSanitizer", "libasan", NULL, NULL},
	{"Java", "libjvm.so", NULL, NULL},
	/* ggc-page.cc: cc1, cc1plus, cc1obj; link-time optimization; Fortran, Ada, D */
	{"GCC's collected heap", "cc1", NULL, NULL},
	{"GCC's collected heap", "cc1plus", NULL, NULL},
	{"GCC's collected heap", "cc1obj", NULL, NULL},
	{"GCC's collected heap", "cc1objplus", NULL, NULL},
	{"GCC's collected heap", "lto1", NULL, NULL},
	{"GCC's collected heap", "f951", NULL, NULL},
	{"GCC's collected heap", "gnat1", NULL, NULL},
	{"GCC's collected heap", "d21", NULL, NULL},
	/* Of other versions than those that are known, or built in another way. */
	{"jemalloc", "libjemalloc", NULL, "jemalloc"},
	{"tcmalloc (gperftools)", "libtcmalloc", NULL, "tcmalloc (gperftools)"},
	{"mimalloc", "libmimalloc", NULL, "mimalloc"},
};

/*
 * Of what is linked to the program only its symbols tell. A name of C is taken whole, of C++ the namespace. Words
 * in constants are no sign: programs have those of other allocators, to tell them apart.
 */
static const struct {
	const char *symbol, *name;
} unknown_symbols[] = {
	{"_ZN5scudo", "Scudo"},
	{"_ZN7__scudo", "Scudo"}, /* -fsanitize=scudo of clang 14 and older */
	{"_ZN8tcmalloc17tcmalloc_internal", "tcmalloc (Google)"},
	{"_ZN8snmalloc", "snmalloc"},
	{"rpmalloc_initialize", "rpmalloc"},
	{"h_malloc_object_size", "hardened_malloc"},
	{"scalable_malloc", "oneTBB"},
	{"__asan_init", "AddressSanitizer"},
	{"je_arena_boot", "jemalloc"},
	{"_rjem_je_arena_boot", "jemalloc"},
	{"tc_version", "tcmalloc (gperftools)"},
	{"mi_version", "mimalloc"},
};

static bool unknown_begins(const char *text, const char *with)
{
	return with && !strncmp(text, with, strlen(with));
}

static bool unknown_is_file(const char *name, const struct unknown_heap *heap)
{
	return heap->file && (strncmp(heap->file, "lib", 3) ? !strcmp(name, heap->file)
							    : unknown_begins(name, heap->file));
}

static bool unknown_is_walked(const struct inventory *inventory, const struct unknown_heap *heap)
{
	for (size_t i = 0; heap->walked && i < inventory->count; i++) {
		if (!strcmp(inventory->allocators[i].shown.name, heap->walked))
			return true;
	}
	return false;
}

/* A library that is only mapped may have no memory; nothing tells. */
static bool unknown_is_here(const struct maps *maps, const struct unknown_heap *heap)
{
	for (size_t i = 0; i < maps_count(maps); i++) {
		const struct mapping *m = maps_at(maps, i);
		const char *slash = strrchr(m->path, '/');

		if (unknown_begins(m->path, heap->mapping) ||
		    (slash && m->exec && unknown_is_file(slash + 1, heap)))
			return true;
	}
	return false;
}

static int unknown_report(struct heap_image *image, const struct unknown_heap *heap)
{
	struct inventory_allocator *allocator = walker_allocator(image, heap->name);
	const struct maps *maps = image->memory->maps;
	bool named = false; /* some kernels do not keep names (CONFIG_ANON_VMA_NAME) */
	int err = 0;

	for (size_t i = 0; !err && i < maps_count(maps); i++) {
		const struct mapping *m = maps_at(maps, i);

		if (!unknown_begins(m->path, heap->mapping))
			continue;
		named = true;
		err = walker_report(image, allocator, INVENTORY_UNBELIEVED, m->start, m->end,
				    UINT64_MAX);
	}
	if (heap->walked)
		walker_doubt(allocator, "its books were not found: it may be a version that is not "
					"known, or not in use");
	else if (named)
		walker_doubt(allocator, "its books are not known");
	else
		walker_doubt(allocator, "its books are not known, and what it has is among the "
					"mappings of no allocator");
	return err;
}

const char *unknown_heap_of_symbol(const char *symbol)
{
	for (size_t i = 0; i < ARRAY_SIZE(unknown_symbols); i++) {
		const char *known = unknown_symbols[i].symbol;

		if (!strncmp(known, "_Z", 2) ? unknown_begins(symbol, known)
					     : !strcmp(symbol, known))
			return unknown_symbols[i].name;
	}
	return NULL;
}

void unknown_heap_is_linked(struct heap_image *image, const char *name)
{
	for (size_t i = 0; i < image->inventory->count; i++) {
		if (!strcmp(image->inventory->allocators[i].shown.name, name))
			return;
	}
	walker_doubt(
		walker_allocator(image, name),
		"it is linked to the program; its books are not known, or it is not in use, and "
		"what it has is among the mappings of no allocator");
}

int unknown_heaps_mark(struct heap_image *image)
{
	int err = image->inventory ? unknown_shapes_mark(image) : 0;

	for (size_t i = 0; image->inventory && !err && i < ARRAY_SIZE(unknown_heaps); i++) {
		const struct unknown_heap *heap = &unknown_heaps[i];

		if (unknown_is_here(image->memory->maps, heap) &&
		    !unknown_is_walked(image->inventory, heap))
			err = unknown_report(image, heap);
	}
	return err;
}

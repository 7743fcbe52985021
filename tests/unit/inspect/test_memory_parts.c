// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Where a process's memory is, on an image made by hand: each byte in one part, what is not told apart in the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/heap/fake_image.h"
#include "user/inspect/memory_parts.h"

#define HEAP  0x555555600000ull
#define ANON  0x7fffe0000000ull
#define NAMED 0x7fffe8000000ull
#define KEPT  0x7ffff0000000ull /* a stack that nobody uses now */
#define DATA  0x7ffff7a00000ull
#define BSS   0x7ffff7a01000ull
#define SHM   0x7ffff7c00000ull
#define STACK 0x7ffffff00000ull

static const char some_maps[] = "555555600000-555555610000 rw-p 00000000 00:00 0 [heap]\n"
				"7fffe0000000-7fffe0010000 rw-p 00000000 00:00 0 \n"
				"7fffe8000000-7fffe8020000 rw-p 00000000 00:00 0 [anon:pool]\n"
				"7ffff0000000-7ffff0004000 rw-p 00000000 00:00 0 \n"
				"7ffff7a00000-7ffff7a01000 rw-p 000cc000 08:01 9 /lib/libx.so\n"
				"7ffff7a01000-7ffff7a03000 rw-p 00000000 00:00 0 \n"
				"7ffff7c00000-7ffff7c10000 rw-s 00000000 00:01 7 /dev/shm/x\n"
				"7ffffff00000-7ffffff10000 rw-p 00000000 00:00 0 [stack]\n";

struct scene {
	struct heap_image *image;
	struct inventory inventory;
	struct inspect_source source;
	struct inspection out;
};

/* All of it is there, but half of the mapping without a name, which is in two regions. */
static void open_scene(struct scene *s)
{
	*s = (struct scene){.image = fake_image(some_maps)};
	fake_region(s->image, HEAP, 0x10000);
	fake_region(s->image, ANON, 0x4000);
	fake_region(s->image, ANON + 0x8000, 0x4000);
	fake_region(s->image, NAMED, 0x20000);
	fake_region(s->image, KEPT, 0x4000);
	fake_region(s->image, DATA, 0x1000);
	fake_region(s->image, BSS, 0x2000);
	fake_region(s->image, SHM, 0x10000);
	fake_region(s->image, STACK, 0x10000);
	fake_thread(s->image, STACK + 0x8000, 0, 0);
	assert_int_equal(heap_image_add_dead(s->image, KEPT, KEPT + 0x4000), 0);
	fake_finish(s->image);
	s->inventory.covered = calloc(s->image->memory->region_count + 1, sizeof(uint64_t));
	assert_non_null(s->inventory.covered);
	s->image->inventory = &s->inventory;
}

static void close_scene(struct scene *s)
{
	for (size_t i = 0; i < s->out.mapping_count; i++)
		free(s->out.mappings[i].name);
	free(s->out.mappings);
	free(s->out.allocators);
	free(s->inventory.covered);
	heap_image_free(s->image);
}

static void of_no_allocator(void **state)
{
	struct scene s;

	(void)state;
	open_scene(&s);
	s.source = (struct inspect_source){
		.rss_anon = 0x60000, .swap = 0x1000, .file_private = 0x1000};
	assert_int_equal(memory_parts_find(s.image, &s.source, &s.out), 0);
	assert_int_equal(s.out.allocator_count, 0);
	assert_int_equal(s.out.parts[MEMORY_STACKS], 0x10000 + 0x4000);
	assert_int_equal(s.out.parts[MEMORY_FILE_PRIVATE], 0x2000 + 0x1000); /* .bss and data */
	assert_int_equal(s.out.parts[MEMORY_ANONYMOUS], 0x10000 + 0x8000 + 0x20000);
	assert_int_equal(s.out.parts[MEMORY_REST], 0x61000 - 0x14000 - 0x3000 - 0x38000);
	/* The largest first, each once, however many regions of it there are. */
	assert_int_equal(s.out.mapping_count, 3);
	assert_int_equal(s.out.mappings[0].start, NAMED);
	assert_string_equal(s.out.mappings[0].name, "[anon:pool]");
	assert_int_equal(s.out.mappings[1].start, HEAP);
	assert_int_equal(s.out.mappings[2].start, ANON);
	assert_int_equal(s.out.mappings[2].bytes, 0x10000);
	assert_int_equal(s.out.mappings[2].resident, 0x8000);
	assert_null(s.out.mappings[2].name);
	close_scene(&s);
}

/* What an allocator has of a mapping is none of the rest, in .bss and in a file's pages neither. */
static void of_an_allocator(void **state)
{
	struct inventory_allocator *a;
	struct scene s;

	(void)state;
	open_scene(&s);
	a = inventory_add_allocator(&s.inventory, "some");
	assert_non_null(a);
	inventory_count(&s.inventory, a, s.image->memory, INVENTORY_IN_USE, HEAP, HEAP + 0x8000,
			0x5000);
	inventory_count(&s.inventory, a, s.image->memory, INVENTORY_FREE, HEAP + 0x8000,
			HEAP + 0xc000, UINT64_MAX);
	inventory_count(&s.inventory, a, s.image->memory, INVENTORY_CACHED, HEAP + 0xc000,
			HEAP + 0x10000, UINT64_MAX);
	/* Half of that is not there. */
	inventory_count(&s.inventory, a, s.image->memory, INVENTORY_UNBELIEVED, ANON, ANON + 0x8000,
			UINT64_MAX);
	inventory_count(&s.inventory, a, s.image->memory, INVENTORY_BOOKS, DATA, DATA + 0x800,
			UINT64_MAX);
	s.source = (struct inspect_source){.rss_anon = 0x1000, .file_private = 0x1000};
	assert_int_equal(memory_parts_find(s.image, &s.source, &s.out), 0);
	assert_int_equal(s.out.allocator_count, 1);
	assert_string_equal(s.out.allocators[0].name, "some");
	assert_int_equal(s.out.parts[MEMORY_IN_USE], 0x5000);
	assert_int_equal(s.out.parts[MEMORY_SLACK], 0x3000);
	assert_int_equal(s.out.parts[MEMORY_FREE], 0x8000);
	assert_int_equal(s.out.parts[MEMORY_UNBELIEVED], 0x4000);
	assert_int_equal(s.out.parts[MEMORY_BOOKS], 0x800);
	assert_int_equal(s.out.parts[MEMORY_ANONYMOUS], 0x4000 + 0x20000);
	assert_int_equal(s.out.parts[MEMORY_FILE_PRIVATE], 0x2000 + 0x1000 - 0x800);
	assert_int_equal(s.out.mapping_count, 2); /* of [heap] nothing is left */
	assert_int_equal(s.out.mappings[1].resident, 0x4000);
	/* The kernel may have counted a moment before: no rest, and no wrapping around. */
	assert_int_equal(s.out.parts[MEMORY_REST], 0);
	close_scene(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_no_allocator),
		cmocka_unit_test(of_an_allocator),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Walkers on real allocators in real processes that nobody has traced: each block of the program's own
 * books (blocks_side.c) is reported in use once, with its size, and nothing else is but what was
 * there before the program began.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "tests/unit/heap/blocks_side.h"
#include "tests/unit/heap/real_image.h"
#include "user/base/util.h"

#define MIMALLOC "/usr/lib/x86_64-linux-gnu/libmimalloc.so.2"

struct allocator_case {
	const char *side;      /* the program, beside this one */
	const char *preload;   /* NULL: none */
	const char *allocator; /* its name in the inventory */
	bool exact;	       /* its books have what was asked for */
};

/* What the walkers have found at one time. */
struct found {
	struct heap_image *image;
	struct inventory inventory;
};

static struct found *look(pid_t pid)
{
	struct found *found = calloc(1, sizeof(*found));
	struct timespec before, after;

	assert_non_null(found);
	found->image = real_image(pid);
	found->image->inventory = &found->inventory;
	clock_gettime(CLOCK_MONOTONIC, &before);
	assert_int_equal(dead_memory_find(found->image), 0);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_int_equal(heap_image_take_old(found->image), 0);
	print_message("%zu blocks in %ld ms\n", found->image->block_count,
		      (after.tv_sec - before.tv_sec) * 1000 +
			      (after.tv_nsec - before.tv_nsec) / 1000000);
	return found;
}

static void forget(struct found *found)
{
	heap_image_free(found->image);
	free(found);
}

/* The block that is reported at the address, or (aligned ones) in which it is; its index. */
static size_t find_block(const struct found *found, uint64_t address)
{
	size_t i = BISECT(i, 0, found->image->block_count,
			  heap_block_address(found->image, i) <= address);

	return i ? i - 1 : SIZE_MAX;
}

static void check_block(const struct allocator_case *c, const struct found *found,
			const struct side_block *block, uint8_t *seen)
{
	struct heap_block reported;
	size_t i = find_block(found, block->address);

	assert_true(i < found->image->block_count);
	reported = heap_block_at(found->image, i);
	assert_int_equal(seen[i]++, 0);
	/* A block that was to be aligned may begin behind its place, where the books do not say so. */
	if (c->exact || !block->align)
		assert_int_equal(reported.address, block->address);
	assert_int_equal(reported.address + reported.size,
			 block->address + (c->exact ? block->size : block->usable));
}

/* Reads the program's books; each is found once, all others were there at first. */
static void check_books(const struct allocator_case *c, struct real_process *process,
			const struct found *first)
{
	struct found *found;
	struct side_block block;
	uint8_t *seen;
	uint64_t count;

	struct side_block *blocks;

	assert_true(real_read(process, &count, sizeof(count)));
	blocks = calloc(count, sizeof(block));
	assert_non_null(blocks);
	assert_true(real_read(process, blocks, count * sizeof(block)));
	found = look(process->pid);
	seen = calloc(found->image->block_count, 1);
	assert_non_null(seen);
	for (uint64_t i = 0; i < count; i++)
		check_block(c, found, &blocks[i], seen);
	for (size_t i = 0; i < found->image->block_count; i++) {
		size_t before = find_block(first, heap_block_address(found->image, i));

		if (seen[i])
			continue;
		assert_true(before < first->image->block_count);
		assert_int_equal(heap_block_address(first->image, before),
				 heap_block_address(found->image, i));
	}
	assert_int_equal(found->inventory.count, 1);
	assert_string_equal(found->inventory.allocators[0].shown.name, c->allocator);
	assert_int_equal(found->inventory.allocators[0].shown.in_use.count,
			 found->image->block_count);
	assert_string_equal(found->inventory.allocators[0].shown.why, "");
	assert_int_equal(found->inventory.allocators[0].shown.unbelieved_bytes, 0);
	free(blocks);
	free(seen);
	forget(found);
}

static bool side_path(const char *name, char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 32);

	assert_in_range(n, 1, size - 33);
	path[n] = '\0';
	strcpy(strrchr(path, '/') + 1, name);
	return !access(path, X_OK);
}

static void books_of(const struct allocator_case *c)
{
	char path[4096], number[32];
	const char *count = getenv("TEST_BLOCKS");
	char *argv[] = {path, number, NULL};
	struct real_process process;
	struct found *first;
	uint64_t none;

	if (!side_path(c->side, path, sizeof(path)) || (c->preload && access(c->preload, R_OK))) {
		print_message("no %s here\n", c->allocator);
		skip();
	}
	snprintf(number, sizeof(number), "%s", count ? count : "60000");
	real_start(&process, c->preload, argv);
	assert_true(real_read(&process, &none, sizeof(none)));
	assert_int_equal(none, 0);
	first = look(process.pid);
	real_go_on(&process);
	check_books(c, &process, first);
	real_go_on(&process);
	check_books(c, &process, first);
	forget(first);
	real_end(&process);
}

static void musl(void **state)
{
	(void)state;
	books_of(&(struct allocator_case){"blocks_side.musl", NULL, "musl", true});
}

static void musl_static(void **state)
{
	(void)state;
	books_of(&(struct allocator_case){"blocks_side.musl-static", NULL, "musl", true});
}

static void mimalloc(void **state)
{
	(void)state;
	books_of(&(struct allocator_case){"blocks_side", MIMALLOC, "mimalloc", false});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(musl),
		cmocka_unit_test(musl_static),
		cmocka_unit_test(mimalloc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

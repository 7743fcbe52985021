// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A Go process that is made by hand, with the layout of each version that is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/managed/fake_go.h"

#define FIRST 19
#define LAST  27

static void check_part(const struct managed_heap *heap, const char *name, uint64_t bytes,
		       uint64_t count)
{
	const struct managed_part *part = managed_heap_part(heap, name);

	assert_non_null(part);
	assert_int_equal(part->amount.bytes, bytes);
	assert_int_equal(part->amount.count, count);
}

static uint64_t kind_count(const struct managed_heap *heap, const char *name)
{
	for (size_t i = 0; i < heap->kind_count; i++) {
		if (!strcmp(heap->kinds[i].name, name))
			return heap->kinds[i].live.count;
	}
	return 0;
}

static void release(struct managed_heap *heaps, size_t count)
{
	for (size_t i = 0; i < count; i++)
		managed_heap_release(&heaps[i]);
	free(heaps);
}

static void check_all(const struct managed_heap *heap, const struct go_layout *layout)
{
	assert_string_equal(heap->why, "");
	assert_true(heap->read);
	check_part(heap, "objects", FAKE_GO_ITEMS * 64 + 2 * 1024 + 4 * 16, FAKE_GO_ITEMS + 6);
	check_part(heap, "unswept", 0, 0);
	check_part(heap, "spans", 3 * GO_PAGE, 3);
	check_part(heap, "stacks", GO_PAGE, 1);
	assert_int_equal(kind_count(heap, "main.Item"), FAKE_GO_ITEMS);
	assert_int_equal(kind_count(heap, "[]main.Item"), layout->large_type ? 1 : 0);
	assert_int_equal(kind_count(heap, "objects of 16 B without pointers"), 4);
	assert_int_equal(heap->thread_count, 2);
	assert_int_equal(heap->thread_group_count, 1);
	assert_string_equal(heap->threads[0].state, "chan receive");
	assert_string_equal(heap->threads[0].at, "main.wait main.go:7");
	assert_string_equal(heap->threads[0].created, "main.start main.go:7");
	assert_int_equal(heap->sample_count, 1);
	assert_int_equal(heap->samples[0].frame_count, 2);
	assert_string_equal(heap->samples[0].frames[1].function, "main.start");
	assert_int_equal(heap->samples[0].live.bytes, 3 * 64);
	assert_int_equal(heap->samples[0].alloc.count, 5);
}

static void test_each_version(void **state)
{
	(void)state;
	for (unsigned minor = FIRST; minor <= LAST; minor++) {
		uint64_t covered[16] = {0}, sum = 0;
		struct inventory inventory = {.covered = covered};
		struct managed_heap *heaps;
		struct fake_go go;
		size_t count;
		char version[16];

		fake_go_new(&go, minor);
		heaps = fake_go_look(&go, &inventory, &count);
		assert_int_equal(count, 1);
		snprintf(version, sizeof(version), "1.%u.1", minor);
		assert_string_equal(heaps[0].version, version);
		check_all(&heaps[0], go.layout);
		assert_int_equal(inventory.count, 1);
		for (int part = 0; part < INVENTORY_PARTS; part++)
			sum += inventory.allocators[0].resident[part];
		assert_int_equal(sum, 0x10000); /* all of the heap, each byte once */
		assert_int_equal(inventory.allocators[0].shown.in_use.count, FAKE_GO_ITEMS + 6);
		release(heaps, count);
		fake_go_free(&go);
	}
}

/* Changes a word of the process. What is read then must say `why` and nothing else. */
static void check_refused(uint64_t address, uint64_t word, const char *why)
{
	struct managed_heap *heaps;
	struct fake_go go;
	size_t count;

	fake_go_new(&go, 24);
	fake_word(go.image, address, word);
	heaps = fake_go_look(&go, NULL, &count);
	assert_int_equal(count, 1);
	assert_false(heaps[0].read);
	if (!strstr(heaps[0].why, why))
		fail_msg("%s", heaps[0].why);
	assert_int_equal(heaps[0].part_count, 0);
	release(heaps, count);
	fake_go_free(&go);
}

static void test_refused(void **state)
{
	(void)state;
	/* pagesInUse */
	check_refused(FAKE_GO_DATA + 0x2120, 100, "3 of 100 pages");
	/* An element of allspans that is none. */
	check_refused(FAKE_GO_RUNTIME, 0x12345, "were not found");
	/* A span that has a page of the next one. */
	check_refused(FAKE_GO_RUNTIME + 0x1000 + GO_SPAN_PAGES, 2, "overlap");
	/* runtime.moduledata */
	check_refused(FAKE_GO_DATA, 0, "were not found");
}

/* A count that differs from the bits by an object: it is shown, and said. */
static void test_changing(void **state)
{
	struct managed_heap *heaps;
	struct fake_go go;
	size_t count;

	(void)state;
	fake_go_new(&go, 24);
	fake_word(go.image, FAKE_GO_RUNTIME + 0x2180, 1u << 5 | 1u << 6);
	heaps = fake_go_look(&go, NULL, &count);
	assert_true(heaps[0].read);
	assert_non_null(strstr(heaps[0].why, "1 of its 4 spans"));
	release(heaps, count);
	fake_go_free(&go);
}

/* Marked and not swept: what the mark left is garbage, though it is still allocated. */
static void test_unswept(void **state)
{
	for (unsigned minor = FIRST; minor <= LAST; minor++) {
		/* sweepgen is 2 behind; the marks are the bits of alloc_bits: two of the ten are marked */
		struct managed_heap *heaps;
		struct fake_go go;
		size_t count;
		bool in_span;

		(void)state;
		fake_go_new(&go, minor);
		in_span = minor >= 26;
		fake_word(go.image, FAKE_GO_DATA + 0x2100, 6);
		fake_word(go.image,
			  in_span ? FAKE_GO_HEAP + GO_PAGE - 64 : FAKE_GO_RUNTIME + 0x2000, 3);
		heaps = fake_go_look(&go, NULL, &count);
		assert_true(heaps[0].read);
		/* of each span with 64 and 1024 bytes, and of 16: all that is not marked */
		assert_true(managed_heap_part(&heaps[0], "unswept")->amount.count >= 8);
		assert_int_equal(kind_count(&heaps[0], "main.Item"), 2);
		release(heaps, count);
		fake_go_free(&go);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_version),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_changing),
		cmocka_unit_test(test_unswept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

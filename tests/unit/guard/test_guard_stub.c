// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Guard sampling, put into this very process: each bug is made, and must be seen for what it is; and
 * the program must find what it would have found without.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>

#if !defined(__x86_64__) || defined(__SANITIZE_ADDRESS__)
int main(void)
{
	puts("1..0 # SKIP x86_64 only, and the C library's own malloc");
	return 0;
}
#else
#include "tests/unit/guard/guard_in_process.h"
#include "tests/unit/guard/touches.h"

static int begin(void **state)
{
	if (open_guard(state))
		return -1;
	assert_int_equal(touches_open(), 0);
	guard_by(1);
	return 0;
}

/* Where to put a block: 0 at the right, 256 at the left. */
static void put_at(unsigned left)
{
	guard.header->at_left = left;
}

static void *volatile kept;

static uint8_t *guarded(size_t size)
{
	uint8_t *block = kept = c.malloc(size);

	assert_true(is_guarded(block));
	return block;
}

/* ---- touches ------------------------------------------------------------------------------ */

/* How often the pool was touched since last time. */
static unsigned touched(uint64_t *last)
{
	return touches_in(pool, guard_pool_size(PLACES), (uintptr_t)guard.code, GUARD_CODE_SIZE,
			  last);
}

static void assert_touched(const volatile uint8_t *at)
{
	uint64_t last = 0;

	assert_int_equal(touched(&last), 1);
	assert_int_equal(last, (uintptr_t)at);
}

static void assert_untouched(void)
{
	uint64_t last = 0;

	assert_int_equal(touched(&last), 0);
}

static uint8_t read_byte(const volatile uint8_t *at)
{
	return *at;
}

static void write_byte(volatile uint8_t *at)
{
	*at = 0x77;
}

/* `at` is a byte outside of a new block of the size; it is seen once, the block stays as it was. */
static void assert_seen(size_t size, int64_t at, bool by_write)
{
	uint8_t *block = guarded(size);

	memset(block, 1, size);
	assert_untouched();
	if (by_write)
		write_byte(block + at);
	else
		assert_int_equal(read_byte(block + at), 0);
	assert_touched(block + at);
	if (by_write)
		assert_int_equal(read_byte(block + at), 0x77);
	else
		read_byte(block + at);
	assert_untouched();
	for (size_t i = 0; i < size; i++)
		assert_int_equal(block[i], 1);
	c.free(block);
	/* What the tool does with what it has seen. */
	meta_of(block)->touched = 1;
}

static void bounds(void **state)
{
	static const size_t sizes[] = {0, 16, 32, 112, 4080, 4096};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (int by_write = 0; by_write < 2; by_write++) {
			put_at(0);
			assert_seen(sizes[i], (int64_t)sizes[i], by_write);
			assert_seen(sizes[i], (int64_t)sizes[i] + 4096, by_write);
			assert_seen(sizes[i], (int64_t)sizes[i] + 28671, by_write);
			assert_seen(sizes[i], (int64_t)sizes[i] - 4097, by_write);
			put_at(256);
			assert_seen(sizes[i], -1, by_write);
			assert_seen(sizes[i], -32768, by_write);
			assert_seen(sizes[i], 4096, by_write);
		}
	}
	put_at(0);
	assert_books();
}

/* A guard that was touched is armed again for the next block there, where the tool has set its mark. */
static void armed_again(void **state)
{
	(void)state;
	for (int mark = 0; mark < 2; mark++) {
		uint8_t *block = guarded(64), *again;
		uint64_t last;

		write_byte(block + 64);
		assert_touched(block + 64);
		meta_of(block)->touched = (uint8_t)mark;
		c.free(block);
		do {
			again = guarded(64);
			c.free(again);
			touched(&last);
		} while (again != block);
		/* Freed as well by now, and its guards are as they were. */
		assert_int_equal(read_byte(block + 64), mark ? 0 : 0x77);
		if (mark)
			assert_touched(block + 64);
		else
			assert_untouched();
		meta_of(block)->touched = 1;
	}
	assert_books();
}

static void after_free(void **state)
{
	(void)state;
	for (int by_write = 0; by_write < 2; by_write++) {
		uint8_t *block = guarded(100);

		for (int i = 0; i < 100; i++)
			block[i] = (uint8_t)i;
		c.free(block);
		assert_untouched();
		if (by_write)
			write_byte(block + 7);
		else
			assert_int_equal(read_byte(block + 7), 7);
		assert_touched(block + 7);
		for (int i = 0; i < 100; i++)
			assert_int_equal(block[i], by_write && i == 7 ? 0x77 : i);
		assert_untouched();
	}
	assert_books();
}

/* Other blocks' pages are not brought in with one that was touched. */
static void after_free_of_neighbours(void **state)
{
	uint8_t *blocks[PLACES / 8];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
		blocks[i] = guarded(48);
		memset(blocks[i], (int)i, 48);
	}
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		c.free(blocks[i]);
	assert_untouched();
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
		assert_int_equal(read_byte(blocks[i]), i);
		assert_touched(blocks[i]);
	}
	assert_books();
}

/* A system call that touches what it must not goes on as if nothing were. */
static void by_system_calls(void **state)
{
	uint8_t *block = guarded(112), junk[300];
	int pipes[2];

	(void)state;
	memset(junk, 'j', sizeof(junk));
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(write(pipes[1], junk, sizeof(junk)), sizeof(junk));
	assert_untouched();
	assert_int_equal(read(pipes[0], block, sizeof(junk)), sizeof(junk));
	assert_touched(block + 112);
	assert_memory_equal(block, junk, sizeof(junk));
	c.free(block);
	meta_of(block)->touched = 1;
	block = guarded(112);
	memset(block, 'k', 112);
	assert_untouched();
	assert_int_equal(write(pipes[1], block, sizeof(junk)), sizeof(junk));
	assert_touched(block + 112);
	assert_int_equal(read(pipes[0], junk, sizeof(junk)), sizeof(junk));
	assert_int_equal(junk[111], 'k');
	assert_int_equal(junk[112], 0);
	c.free(block);
	meta_of(block)->touched = 1;
	close(pipes[0]);
	close(pipes[1]);
	assert_books();
}

/* ---- ends --------------------------------------------------------------------------------- */

#define BAD(call, block, wrong, function)                                 \
	do {                                                              \
		uint64_t before = books.bad, freed = books.freed;         \
                                                                          \
		(call);                                                   \
		assert_int_equal(books.bad, before + 1);                  \
		assert_int_equal(books.last_block, (uintptr_t)(block));   \
		assert_int_equal(books.last_wrong, wrong);                \
		assert_int_equal(books.last_stub, stub_number(function)); \
		assert_int_equal(books.freed, freed);                     \
	} while (0)

static void bad_frees(void **state)
{
	uint8_t *block = guarded(50), *again;

	(void)state;
	memset(block, 5, 50);
	BAD(c.free(block + 16), block + 16, GUARD_INVALID_FREE, IS_FREE);
	BAD(c.free(block - 1), block - 1, GUARD_INVALID_FREE, IS_FREE);
	BAD(c.free(block + 8000), block + 8000, GUARD_INVALID_FREE, IS_FREE);
	BAD(kept = c.realloc(block + 16, 100), block + 16, GUARD_INVALID_FREE, IS_REALLOC);
	c.free(kept);
	/* The block is whole, and is freed as if nothing had been. */
	assert_int_equal(block[49], 5);
	assert_int_equal(meta_of(block)->state, GUARD_LIVE);
	c.free(block);
	assert_int_equal(books.last_block, (uintptr_t)block);
	assert_int_equal(books.last_stub, stub_number(IS_FREE));
	BAD(c.free(block), block, GUARD_DOUBLE_FREE, IS_FREE);
	BAD(c.free(block + 16), block + 16, GUARD_INVALID_FREE, IS_FREE);
	/* Of one that was freed realloc gives what a read of it would give. */
	BAD(again = c.realloc(block, 30), block, GUARD_DOUBLE_FREE, IS_REALLOC);
	assert_false(is_guarded(again));
	assert_int_equal(again[29], 5);
	c.free(again);
	BAD(again = c.reallocarray(block, 10, 10), block, GUARD_DOUBLE_FREE, IS_REALLOC_ARRAY);
	assert_int_equal(again[49], 5);
	c.free(again);
	/* None of that has touched the freed block's page: the program's next touch is seen. */
	assert_untouched();
	assert_int_equal(read_byte(block), 5);
	assert_touched(block);
	for (size_t i = 0; i < PLACES; i++) {
		if (guard.metas[i].state != GUARD_EMPTY)
			continue;
		again = (void *)(uintptr_t)(pool + i * GUARD_PLACE + GUARD_DATA);
		BAD(c.free(again), again, GUARD_INVALID_FREE, IS_FREE);
		break;
	}
	assert_books();
}

/* A byte outside that the program has written to, where no guard is. */
static void assert_found(size_t size, int16_t at)
{
	uint8_t *block = guarded(size);
	uint64_t freed = books.freed, bad = books.bad;

	write_byte(block + at);
	/* Further away, and not what is told. */
	if (size == 100 && at < 0)
		write_byte(block + at - 100);
	c.free(block);
	assert_int_equal(books.bad, bad + 1);
	assert_int_equal(books.last_wrong, GUARD_CHANGED);
	assert_int_equal(books.freed, freed + 1);
	assert_int_equal(meta_of(block)->state, GUARD_GONE);
	assert_int_equal(meta_of(block)->changed_at, at);
	assert_int_equal(meta_of(block)->changed_to, 0x77);
}

static void changed(void **state)
{
	uint64_t last;

	(void)state;
	put_at(0);
	for (int16_t size = 1; size < 16; size++) {
		for (int16_t at = size; at < 16; at++)
			assert_found((size_t)size, at);
		assert_found((size_t)size, -1);
	}
	assert_found(100, -1);
	assert_found(100, -5);
	assert_found(100, -3900);
	assert_found(101, 111);
	put_at(256);
	assert_found(100, 100);
	assert_found(100, 4095);
	assert_found(1, 1);
	assert_found(4095, 4095);
	put_at(0);
	touched(&last);
	assert_books();
}

static void resized(void **state)
{
	uint8_t *block = guarded(100), *other;
	volatile size_t nothing = 0, absurd = SIZE_MAX / 4;
	uint64_t freed = books.freed;

	(void)state;
	for (int i = 0; i < 100; i++)
		block[i] = (uint8_t)i;
	other = c.realloc(block, absurd);
	assert_null(other);
	assert_int_equal(books.freed, freed);
	other = c.reallocarray(block, absurd, 16);
	assert_null(other);
	assert_int_equal(books.freed, freed);
	other = c.realloc(block, 5000);
	assert_false(is_guarded(other));
	for (int i = 0; i < 100; i++)
		assert_int_equal(other[i], i);
	assert_int_equal(books.freed, freed + 1);
	assert_int_equal(books.last_stub, stub_number(IS_REALLOC));
	c.free(other);
	block = guarded(100);
	memset(block, 9, 100);
	other = c.reallocarray(block, 2, 5);
	assert_int_equal(other[9], 9);
	assert_int_equal(books.last_stub, stub_number(IS_REALLOC_ARRAY));
	c.free(other);
	block = guarded(10);
	assert_null(c.realloc(block, nothing));
	assert_int_equal(books.freed, freed + 3);
	/* realloc(NULL) is malloc. */
	kept = other = c.realloc(NULL, 40);
	assert_true(is_guarded(other));
	c.free(other);
	assert_books();
}

/* ---- allocations -------------------------------------------------------------------------- */

static void assert_zero(const uint8_t *block, size_t size)
{
	for (size_t i = 0; i < size; i++)
		assert_int_equal(block[i], 0);
}

/* Each is told, aligned, as large as was asked for, and empty; or is the library's. */
static void assert_fits(void *block, size_t size, size_t alignment)
{
	assert_int_equal((uintptr_t)block & (alignment - 1), 0);
	if (size > 4096) {
		assert_false(is_guarded(block));
	} else {
		assert_true(is_guarded(block));
		assert_int_equal(books.last_block, (uintptr_t)block);
		assert_int_equal(books.last_size, size);
		assert_int_equal(c.malloc_usable_size(block), size);
		assert_zero(block, size);
		memset(block, 0xee, size);
	}
	c.free(block);
}

static void each_function(void **state)
{
	volatile size_t absurd = SIZE_MAX / 4;
	void *block = NULL;
	uint64_t last;

	(void)state;
	for (unsigned left = 0; left <= 256; left += 256) {
		put_at(left);
		for (size_t size = 0; size <= 4200; size += size < 40 || size > 4090 ? 1 : 37) {
			assert_fits(c.malloc(size), size, 16);
			assert_fits(c.calloc(size, 1), size, 16);
			assert_fits(c.memalign(8, size), size, 16);
			assert_fits(c.aligned_alloc(64, size), size, 64);
			assert_fits(c.memalign(4096, size), size, 4096);
			assert_int_equal(c.posix_memalign(&block, 256, size), 0);
			assert_fits(block, size, 256);
		}
	}
	put_at(0);
	assert_fits(c.calloc(16, 256), 4096, 16);
	/* What the library says no to, it says so. */
	assert_int_equal(c.posix_memalign(&block, 0, 100), EINVAL);
	assert_int_equal(c.posix_memalign(&block, 3, 100), EINVAL);
	assert_int_equal(c.posix_memalign(&block, 4, 100), EINVAL);
	assert_null(c.calloc(absurd, 8));
	assert_null(c.malloc(absurd));
	block = c.memalign(8192, 100);
	assert_false(is_guarded(block));
	c.free(block);
	c.free(NULL);
	kept = guarded(0);
	assert_int_equal(c.malloc_usable_size((uint8_t *)kept + 1), 0);
	c.free(kept);
	touched(&last);
	assert_books();
}

/* Pages that must not be dropped: no use after free is seen, and all else is as it was. */
static void pages_kept(void **state)
{
	uint8_t *block;

	(void)state;
	guard.pool->keep_pages = 1;
	block = guarded(100);
	memset(block, 3, 100);
	c.free(block);
	assert_int_equal(meta_of(block)->state, GUARD_FREED);
	assert_untouched();
	assert_int_equal(read_byte(block), 3);
	assert_untouched();
	BAD(c.free(block), block, GUARD_DOUBLE_FREE, IS_FREE);
	for (unsigned i = 0; i < 3 * PLACES; i++) {
		uint64_t last;

		block = guarded(112);
		assert_zero(block, 112);
		memset(block, 1, 112);
		c.free(block);
		touched(&last);
	}
	guard.pool->keep_pages = 0;
	assert_books();
}

/* Then a guard that has been touched cannot be armed again: its place gets no block before pages may be dropped. */
static void touched_kept(void **state)
{
	uint8_t *block, *next;

	(void)state;
	guard.pool->filters = 1; /* no probe tells of them here */
	c.free(block = guarded(112));
	read_byte(block + 112);
	assert_touched(block + 112);
	meta_of(block)->touched = 1;
	for (unsigned i = 0; i < 3 * PLACES; i++) {
		c.free(next = guarded(112));
		assert_ptr_not_equal(next, block);
	}
	guard.pool->filters = 0;
	do
		c.free(next = guarded(112));
	while (next != block);
	read_byte(block + 112);
	assert_touched(block + 112);
	meta_of(block)->touched = 1;
}

/* How a block that is given now is told of: by its page's fault, or by its probe. */
static void assert_told(size_t size, bool by_fault)
{
	uint64_t given = (uintptr_t)guard.code + functions[IS_MALLOC].stub->given;
	uint64_t before = books.allocated, last = 0;
	uint8_t *block;

	touches_by(given, &last);
	block = guarded(size);
	assert_int_equal(touches_by(given, &last), by_fault);
	assert_int_equal(books.allocated - before, !by_fault);
	if (by_fault) {
		assert_int_equal(last & ~4095ull, ((uintptr_t)block - 1) & ~4095ull);
		book_allocated((uintptr_t)block, size);
	}
	for (size_t i = 0; i < size; i++)
		assert_int_equal(block[i], 0);
	c.free(block);
}

static void told_by_faults(void **state)
{
	(void)state;
	put_at(0);
	/* No page is there that another test has kept. */
	for (unsigned i = 0; i < PLACES; i++)
		c.free(guarded(64));
	guard.header->by_fault = 1;
	for (unsigned i = 0; i < 2 * PLACES; i++)
		assert_told(1 + i % 4096, true);
	/* Touched: its page and its guards are there, and are dropped before the next block. */
	for (unsigned i = 0; i < PLACES; i++) {
		uint8_t *block = guarded(64);

		book_allocated((uintptr_t)block, 64);
		write_byte(block + 64);
		c.free(block);
		write_byte(block);
		meta_of(block)->touched = 1;
	}
	for (unsigned i = 0; i < PLACES; i++)
		assert_told(64, true);
	/* Pages stay: no fault is to come but a place's first. */
	guard.pool->keep_pages = 1;
	for (unsigned i = 0; i < PLACES; i++)
		assert_told(64, true);
	for (unsigned i = 0; i < PLACES; i++)
		assert_told(64, false);
	guard.pool->keep_pages = 0;
	for (unsigned i = 0; i < PLACES; i++)
		assert_told(64, false);
	for (unsigned i = 0; i < PLACES; i++)
		assert_told(64, true);
	guard.header->by_fault = 0;
	assert_told(64, false);
}

/* Numbers in the code: the pool's addresses and no others. */
static void fills(void **state)
{
	uint64_t end = pool + guard_pool_size(PLACES);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		const uint8_t *mine = guard.written + functions[i].stub->mine;
		int32_t number;

		if (functions[i].kind < GUARD_KIND_FREE)
			continue;
		assert_int_not_equal(functions[i].stub->mine, 0);
		memcpy(&number, mine + 6, sizeof(number));
		assert_int_equal(pool >> mine[3], number);
		assert_int_equal((end - 1) >> mine[3], number);
		assert_int_not_equal((pool - 1) >> mine[3], number);
		assert_int_not_equal(end >> mine[3], number);
	}
}

static void fill_refused(void **state)
{
	struct guard_function function = {.request = {.address = (uintptr_t)guard.code}};
	const struct guard_stub *free_stub = functions[IS_FREE].stub;
	const struct guard_stub *realloc_stub = functions[IS_REALLOC].stub;
	static uint8_t code[GUARD_CODE_SIZE], bytes[64];
	uint64_t at = (uintptr_t)guard.code, size = guard_pool_size(16);

	(void)state;
	memset(bytes, 0x90, sizeof(bytes));
	function.request.code = bytes;
	function.request.size = sizeof(bytes);
	function.plan = (struct displaced){.kept = 1, .length = 5};
	assert_int_equal(guard_fill_stub(code, at, free_stub, &function, 16 * size, 16), 0);
	/* Not at a multiple of its size; no power of two; too high; no malloc. */
	assert_int_equal(guard_fill_stub(code, at, free_stub, &function, size + 4096, 16), -EINVAL);
	assert_int_equal(guard_fill_stub(code, at, free_stub, &function, 16 * size, 17), -EINVAL);
	assert_int_equal(guard_fill_stub(code, at, free_stub, &function, 0, 8192), -EINVAL);
	assert_int_equal(guard_fill_stub(code, at, free_stub, &function, 1ull << 55, 16), -ERANGE);
	assert_int_equal(guard_fill_stub(code, at, realloc_stub, &function, 16 * size, 16),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds),	   cmocka_unit_test(armed_again),
		cmocka_unit_test(after_free),	   cmocka_unit_test(after_free_of_neighbours),
		cmocka_unit_test(by_system_calls), cmocka_unit_test(bad_frees),
		cmocka_unit_test(changed),	   cmocka_unit_test(resized),
		cmocka_unit_test(each_function),   cmocka_unit_test(pages_kept),
		cmocka_unit_test(touched_kept),	   cmocka_unit_test(told_by_faults),
		cmocka_unit_test(fills),	   cmocka_unit_test(fill_refused),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
#endif

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A table of live blocks that was read while the target went on, turned back to the moment of its copy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "user/base/util.h"
#include "user/blocks/live_table.h"

#define MOMENT 1000u
#define MANY   100000

static struct live_entry block(uint64_t address, uint64_t size, uint32_t time)
{
	return (struct live_entry){address, {.size = size, .slot = 1, .time = time}};
}

static void add_all(struct live_table *table, const struct live_entry *entries, size_t count)
{
	assert_int_equal(live_table_reserve(table, count), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(live_table_add(table, &entries[i]), 0);
}

/*
 * The table's `count` entries, of which the first `noted` are notes too, and `notes`, become those that
 * `after` has, in any order.
 */
static void turns_into(uint32_t moment, const struct live_entry *entries, size_t count,
		       size_t noted, const struct live_entry *freed, size_t freed_count,
		       const struct live_entry *after, size_t after_count)
{
	struct live_notes notes = {.ticks = moment};
	struct live_table table;

	add_all(&table, entries, count);
	for (size_t i = 0; i < noted; i++)
		live_notes_add(&notes, &entries[i]);
	for (size_t i = 0; i < freed_count; i++)
		live_notes_add(&notes, &freed[i]);
	assert_int_equal(live_table_turn_back(&table, &notes), 0);
	assert_int_equal(table.count, after_count);
	for (size_t i = 0; i < after_count; i++) {
		size_t found = 0;

		for (size_t k = 0; k < table.count; k++)
			found += table.entries[k].address == after[i].address &&
				 table.entries[k].value.size == after[i].value.size &&
				 table.entries[k].value.time == after[i].value.time;
		assert_int_equal(found, 1);
	}
	live_notes_release(&notes);
	live_table_release(&table);
}

#define LIST(...)                                   \
	((const struct live_entry[]){__VA_ARGS__}), \
		ARRAY_SIZE(((const struct live_entry[]){__VA_ARGS__}))
#define NOTHING NULL, 0

static void as_it_was(void **state)
{
	(void)state;
	turns_into(MOMENT, NOTHING, 0, NOTHING, NOTHING);
	turns_into(MOMENT, LIST(block(16, 8, 1), block(32, 8, MOMENT)), 0, NOTHING,
		   LIST(block(16, 8, 1), block(32, 8, MOMENT)));
}

static void without_what_came_later(void **state)
{
	(void)state;
	turns_into(MOMENT, LIST(block(16, 8, MOMENT + 1), block(32, 8, MOMENT)), 0, NOTHING,
		   LIST(block(32, 8, MOMENT)));
	/* It came and went: neither then. */
	turns_into(MOMENT, NOTHING, 0, LIST(block(16, 8, MOMENT + 1)), NOTHING);
}

static void with_what_has_gone(void **state)
{
	(void)state;
	turns_into(MOMENT, LIST(block(32, 8, 2)), 0, LIST(block(16, 8, 1)),
		   LIST(block(16, 8, 1), block(32, 8, 2)));
	/* Read before it was freed. */
	turns_into(MOMENT, LIST(block(16, 8, 1), block(32, 8, 2)), 0, LIST(block(16, 8, 1)),
		   LIST(block(16, 8, 1), block(32, 8, 2)));
	/* The next block has its address by now. */
	turns_into(MOMENT, LIST(block(16, 4, MOMENT + 5)), 0, LIST(block(16, 8, 1)),
		   LIST(block(16, 8, 1)));
	/* That one is gone, too. */
	turns_into(MOMENT, NOTHING, 0, LIST(block(16, 4, MOMENT + 5), block(16, 8, 1)),
		   LIST(block(16, 8, 1)));
}

/* In the midst of a resize: out of the map, and put back or freed later. */
static void resized(void **state)
{
	(void)state;
	turns_into(MOMENT, LIST(block(16, 8, 1), block(32, 8, 2)), 1, NOTHING,
		   LIST(block(16, 8, 1), block(32, 8, 2)));
	/* It failed: the block is as it was, and is in the map again. */
	turns_into(MOMENT, LIST(block(16, 8, 1), block(16, 8, 1)), 1, NOTHING,
		   LIST(block(16, 8, 1)));
	/* And was freed then. */
	turns_into(MOMENT, LIST(block(16, 8, 1)), 1, LIST(block(16, 8, 1)), LIST(block(16, 8, 1)));
	/* It succeeded, where the block was. */
	turns_into(MOMENT, LIST(block(16, 8, 1), block(16, 80, MOMENT + 1)), 1, NOTHING,
		   LIST(block(16, 8, 1)));
}

/* The kernel's ticks wrap around after some months. */
static void ticks_that_wrap_around(void **state)
{
	(void)state;
	turns_into(UINT32_MAX, LIST(block(16, 8, UINT32_MAX - 1), block(32, 8, 0)), 0,
		   LIST(block(48, 8, 3), block(64, 8, UINT32_MAX)),
		   LIST(block(16, 8, UINT32_MAX - 1), block(64, 8, UINT32_MAX)));
	turns_into(2, LIST(block(16, 8, UINT32_MAX)), 0, NOTHING, LIST(block(16, 8, UINT32_MAX)));
}

/* More than there was room for. All even addresses are in the table, all others have been freed. */
static void many(void **state)
{
	struct live_notes notes = {.ticks = MOMENT};
	struct live_table table;
	uint64_t sum = 0;

	(void)state;
	assert_int_equal(live_table_reserve(&table, 0), 0);
	for (uint64_t i = MANY; i > 0; i--) {
		struct live_entry entry = block(16 * i, i, 1);

		if (i % 2)
			live_notes_add(&notes, &entry);
		else
			assert_int_equal(live_table_add(&table, &entry), 0);
		entry.value.time = MOMENT + 1;
		entry.address += 8;
		assert_int_equal(live_table_add(&table, &entry), 0);
	}
	assert_int_equal(live_table_turn_back(&table, &notes), 0);
	assert_int_equal(table.count, MANY);
	for (size_t i = 0; i < table.count; i++) {
		assert_int_equal(table.entries[i].address, 16 * table.entries[i].value.size);
		sum += table.entries[i].value.size;
	}
	assert_int_equal(sum, MANY / 2ull * (MANY + 1));
	live_notes_release(&notes);
	live_table_release(&table);
}

static void without_memory_for_notes(void **state)
{
	struct live_notes notes = {.ticks = MOMENT, .failed = true};
	const struct live_entry entry = block(16, 8, 1);
	struct live_table table;

	(void)state;
	add_all(&table, &entry, 1);
	assert_int_equal(live_table_turn_back(&table, &notes), -ENOMEM);
	live_table_release(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_it_was),
		cmocka_unit_test(without_what_came_later),
		cmocka_unit_test(with_what_has_gone),
		cmocka_unit_test(resized),
		cmocka_unit_test(ticks_that_wrap_around),
		cmocka_unit_test(many),
		cmocka_unit_test(without_memory_for_notes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is kept of debug information from one look to the next: as it was, within a limit, and what has not been wanted for longest goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/inspect/kept_types.h"

#define OBJECTS 4

/* Of one object, with what is kept of it; and room for two, but not for three. */
#define NAME_BYTES 3000
#define ROOM	   (2 * NAME_BYTES + NAME_BYTES / 2)

static struct object_cache *cache;
static struct object *objects[OBJECTS];

/* One that is itself: a copy of this program. */
static void open_object(size_t i)
{
	char path[] = "/tmp/memleakbpf-test.XXXXXX";
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = mkstemp(path);
	struct stat st;

	assert_true(from >= 0 && to >= 0);
	assert_int_equal(fstat(from, &st), 0);
	assert_int_equal(sendfile(to, from, NULL, (size_t)st.st_size), st.st_size);
	assert_int_equal(object_cache_open(cache, path, &objects[i]), 0);
	unlink(path);
	close(from);
	close(to);
}

static int setup(void **state)
{
	(void)state;
	cache = object_cache_new();
	assert_non_null(cache);
	for (size_t i = 0; i < OBJECTS; i++)
		open_object(i);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < OBJECTS; i++)
		object_unref(objects[i]);
	object_cache_free(cache);
	return 0;
}

/* One type, of that size, with a name that takes most of the room, and a variable that points to it. */
static struct type_table *table_of(uint64_t size)
{
	struct type_table *table = type_table_new();
	struct type_shape shape = {.size = size};
	struct type_pointer variable = {.offset = 8 * size, .count = 1, .stride = 8};
	char name[NAME_BYTES + 1];

	assert_non_null(table);
	memset(name, 'n', NAME_BYTES);
	name[NAME_BYTES] = '\0';
	assert_int_equal(type_table_name(table, name, &variable.to), 0);
	assert_int_equal(type_table_define(table, variable.to, &shape), 0);
	assert_int_equal(type_table_add_variable(table, &variable), 0);
	return table;
}

static void put(struct kept_types *kept, size_t object)
{
	struct type_table *table = table_of(object + 100);

	kept_types_put(kept, objects[object], table);
	type_table_free(table);
}

/* Is it kept, as it was put? */
static bool has(struct kept_types *kept, size_t object)
{
	struct type_table *table;

	assert_int_equal(kept_types_get(kept, objects[object], &table), 0);
	if (!table)
		return false;
	assert_int_equal(table->count, 2);
	assert_int_equal(strlen(table->types[1].name), NAME_BYTES);
	assert_int_equal(table->types[1].size, object + 100);
	assert_int_equal(table->variable_count, 1);
	assert_int_equal(table->variables[0].offset, 8 * (object + 100));
	assert_int_equal(table->variables[0].to, 1);
	type_table_free(table);
	return true;
}

static void as_they_were(void **state)
{
	struct kept_types *kept = kept_types_new(KEPT_TYPES_MAX);

	(void)state;
	assert_non_null(kept);
	kept_types_begin_look(kept);
	for (size_t i = 0; i < OBJECTS; i++)
		assert_false(has(kept, i));
	for (size_t i = 0; i < OBJECTS; i++)
		put(kept, i);
	kept_types_begin_look(kept);
	for (size_t i = 0; i < OBJECTS; i++)
		assert_true(has(kept, i));
	kept_types_free(kept);
}

/* Files that come and go: the room is the newest ones'. */
static void the_longest_unwanted_goes(void **state)
{
	struct kept_types *kept = kept_types_new(ROOM);

	(void)state;
	assert_non_null(kept);
	kept_types_begin_look(kept);
	put(kept, 0);
	put(kept, 1);
	kept_types_begin_look(kept);
	assert_true(has(kept, 0));
	kept_types_begin_look(kept);
	put(kept, 2);
	assert_true(has(kept, 0));
	assert_false(has(kept, 1));
	assert_true(has(kept, 2));
	kept_types_begin_look(kept);
	put(kept, 1);
	put(kept, 3);
	assert_false(has(kept, 0));
	assert_true(has(kept, 1));
	assert_false(has(kept, 2));
	assert_true(has(kept, 3));
	kept_types_free(kept);
}

/*
 * A process whose files have more than there is room for: what was kept first is kept at each look. If the oldest
 * made room always, nothing would be there when it is wanted.
 */
static void more_than_there_is_room_for(void **state)
{
	struct kept_types *kept = kept_types_new(ROOM);

	(void)state;
	assert_non_null(kept);
	for (int look = 0; look < 5; look++) {
		kept_types_begin_look(kept);
		for (size_t i = 0; i < 3; i++) {
			assert_int_equal(has(kept, i), look && i < 2);
			put(kept, i);
		}
	}
	kept_types_free(kept);
}

/* It is read again from the file, and has its place then. */
static void a_damaged_one(void **state)
{
	struct kept_types *kept = kept_types_new(ROOM);
	struct type_table *damaged = table_of(100), *table;

	(void)state;
	assert_non_null(kept);
	kept_types_begin_look(kept);
	damaged->variables[0].to = 77;
	kept_types_put(kept, objects[0], damaged);
	type_table_free(damaged);
	put(kept, 1);
	assert_int_equal(kept_types_get(kept, objects[0], &table), 0);
	assert_null(table);
	assert_false(has(kept, 0));
	put(kept, 0);
	assert_true(has(kept, 0));
	assert_true(has(kept, 1));
	kept_types_free(kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_they_were),
		cmocka_unit_test(the_longest_unwanted_goes),
		cmocka_unit_test(more_than_there_is_room_for),
		cmocka_unit_test(a_damaged_one),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

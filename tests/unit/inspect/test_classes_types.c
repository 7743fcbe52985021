// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What debug information tells of each block of programs of C and C++, against what they say themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/inspect/inspected.h"
#include "user/heap/dead_memory.h"

static struct sides sides;

/* NULL: nothing is kept. */
static struct object_cache *lent;
static struct kept_types *kept;

static int setup(void **state)
{
	(void)state;
	sides_open(&sides, __FILE__);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sides_close(&sides);
	return 0;
}

/* Blocks have the sizes that the C library gave them, which is known from its books. */
static void begin(struct inspected *p, struct inventory *inventory)
{
	inspected_start(p, &sides, "exec ./types");
	p->lent = lent;
	p->kept = kept;
	inspected_freeze(p);
	for (size_t i = 0; i < p->count; i++)
		p->image->entered[i].stack = HEAP_OLD;
	*inventory = (struct inventory){.count = 0};
	p->image->inventory = inventory;
	assert_int_equal(dead_memory_find(p->image), 0);
	inspected_classify(p);
	inspected_sums_agree(p);
}

/* `known`: what debug information tells is told. All that is wrong is shown. */
static void check(bool known)
{
	struct inventory inventory;
	struct inspected p;
	size_t wrong = 0, types = 0;

	begin(&p, &inventory);
	for (size_t i = 0; i < p.count; i++) {
		const struct inspected_group *group = inspected_group_of(&p, i);
		const struct booked *b = &p.books[i];
		bool type = known && !strcmp(b->kind, "type");
		enum group_kind kind = !strcmp(b->kind, "class") ? GROUP_CLASS
				       : type			 ? GROUP_TYPE
								 : GROUP_SIZE;

		types += type;
		if (group->kind == kind &&
		    (!type || (!strcmp(group->name, b->name) && group->module &&
			       !strcmp(group->module, "types"))))
			continue;
		print_error("%s %s of %zu bytes is %s %s\n", b->kind, b->name, (size_t)b->size,
			    group_kind_name(group->kind), group->name ?: "");
		wrong++;
	}
	inspected_end(&p);
	assert_int_equal(wrong, 0);
	assert_true(types > 0 || !known);
}

static void with_debug_information(void **state)
{
	(void)state;
	sides_run(&sides, "gcc -g -o types $S/types.c");
	check(true);
}

static void of_a_fixed_address(void **state)
{
	(void)state;
	sides_run(&sides, "gcc -g -no-pie -o types $S/types.c");
	check(true);
}

static void of_dwarf_4_with_types_apart(void **state)
{
	(void)state;
	sides_run(&sides, "gcc -g -gdwarf-4 -fdebug-types-section -o types $S/types.c");
	check(true);
}

static void of_clang(void **state)
{
	(void)state;
	need_tool("clang");
	sides_run(&sides, "clang -g -o types $S/types.c");
	check(true);
}

static void in_a_separate_file(void **state)
{
	(void)state;
	sides_run(&sides,
		  "gcc -g -o types $S/types.c && objcopy --only-keep-debug types types.debug && "
		  "strip types && objcopy --add-gnu-debuglink=types.debug types");
	check(true);
}

static void of_a_static_program(void **state)
{
	(void)state;
	sides_run(&sides, "gcc -g -static -o types $S/types.c");
	check(true);
}

static void compressed_by_dwz(void **state)
{
	(void)state;
	need_tool("dwz");
	sides_run(&sides, "gcc -g -o types $S/types.c && dwz types");
	check(true);
}

static void without_debug_information(void **state)
{
	(void)state;
	sides_run(&sides, "gcc -o types $S/types.c");
	check(false);
}

static void stripped(void **state)
{
	(void)state;
	sides_run(&sides, "gcc -g -o types $S/types.c && strip types");
	check(false);
}

static void of_cxx(void **state)
{
	(void)state;
	sides_run(&sides, "g++ -std=c++17 -g -o types $S/types.cc");
	check(true);
}

static void of_cxx_by_clang(void **state)
{
	(void)state;
	need_tool("clang++");
	sides_run(&sides, "clang++ -std=c++17 -g -fstandalone-debug -o types $S/types.cc");
	check(true);
}

/* They are taken from the first look at the file: for the second there is no debug information any more. */
static void kept_for_the_next_look(void **state)
{
	(void)state;
	for (int room = 0; room < 2; room++) {
		sides_run(&sides, "gcc -g -o types $S/types.c && objcopy --only-keep-debug types "
				  "types.debug && "
				  "strip types && objcopy --add-gnu-debuglink=types.debug types");
		lent = object_cache_new();
		kept = kept_types_new(room ? KEPT_TYPES_MAX : 64);
		assert_true(lent && kept);
		check(true);
		sides_run(&sides, "rm types.debug");
		check(room);
		/* Another program by that name. */
		sides_run(&sides, "gcc -o types $S/types.c");
		check(false);
		kept_types_free(TAKE_PTR(kept));
		object_cache_free(TAKE_PTR(lent));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_debug_information),
		cmocka_unit_test(of_a_fixed_address),
		cmocka_unit_test(of_dwarf_4_with_types_apart),
		cmocka_unit_test(of_clang),
		cmocka_unit_test(in_a_separate_file),
		cmocka_unit_test(of_a_static_program),
		cmocka_unit_test(compressed_by_dwz),
		cmocka_unit_test(without_debug_information),
		cmocka_unit_test(stripped),
		cmocka_unit_test(of_cxx),
		cmocka_unit_test(of_cxx_by_clang),
		cmocka_unit_test(kept_for_the_next_look),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

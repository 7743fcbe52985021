// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <libiberty/demangle.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/target/allocator.h"

static const struct alloc_fn *row(const char *name)
{
	size_t count;
	const struct alloc_fn *table = alloc_table(&count);

	for (size_t i = 0; i < count; i++) {
		if (!strcmp(table[i].name, name))
			return &table[i];
	}
	fail_msg("no row %s", name);
	return NULL;
}

static void test_arguments(void **state)
{
	static const struct {
		const char *name;
		enum alloc_op op;
		int size, count, ptr;
	} expected[] = {
		{"malloc", OP_ALLOC, 1, 0, 0},
		{"calloc", OP_ALLOC, 2, 1, 0},
		{"realloc", OP_REALLOC, 2, 0, 1},
		{"reallocarray", OP_REALLOC, 3, 2, 1},
		{"posix_memalign", OP_ALLOC_OUT, 3, 0, 1},
		{"aligned_alloc", OP_ALLOC, 2, 0, 0},
		{"memalign", OP_ALLOC, 2, 0, 0},
		{"valloc", OP_ALLOC, 1, 0, 0},
		{"pvalloc", OP_ALLOC, 1, 0, 0},
		{"free", OP_FREE, 0, 0, 1},
		{"cfree", OP_FREE, 0, 0, 1},
		{"free_sized", OP_FREE, 0, 0, 1},
		{"free_aligned_sized", OP_FREE, 0, 0, 1},
		{"mmap", OP_MMAP, 2, 0, 0},
		{"munmap", OP_MUNMAP, 2, 0, 1},
		{"mremap", OP_MREMAP, 3, 0, 1},
		{"_Znwm", OP_ALLOC, 1, 0, 0},
		{"_ZdaPvm", OP_FREE, 0, 0, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		const struct alloc_fn *fn = row(expected[i].name);

		assert_int_equal(fn->op, expected[i].op);
		assert_int_equal(fn->size_arg, expected[i].size);
		assert_int_equal(fn->count_arg, expected[i].count);
		assert_int_equal(fn->ptr_arg, expected[i].ptr);
	}
}

/*
 * Every row makes sense by itself, no name occurs twice, and C++ names are what the demangler says.
 */
static void test_table(void **state)
{
	size_t count, cxx = 0;
	const struct alloc_fn *table = alloc_table(&count);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		const struct alloc_fn *fn = &table[i];

		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(table[j].name, fn->name);
		assert_true(fn->op > OP_NONE && fn->op <= OP_MUNMAP);
		assert_true(fn->op == OP_FREE || fn->size_arg);
		assert_true(fn->op == OP_ALLOC || fn->op == OP_MMAP || fn->ptr_arg);
		assert_int_equal(fn->mmap, fn->op >= OP_MMAP);
		assert_int_equal(fn->cxx, !strncmp(fn->name, "_Z", 2));
		if (fn->cxx) {
			char *people = cplus_demangle_v3(fn->name, DMGL_PARAMS | DMGL_ANSI);

			assert_non_null(people);
			assert_string_equal(fn->shown, people);
			free(people);
			cxx++;
		} else {
			assert_string_equal(fn->shown, fn->name);
		}
	}
	/*
	 * 2 kinds x plain, nothrow, aligned, aligned nothrow; delete has sized and sized aligned
	 * too.
	 */
	assert_int_equal(cxx, 8 + 12);
}

static void test_parse(void **state)
{
	static const char *const bad_alloc[] = {"",	      "pool",	 "pool:",   ":1",
						"pool:0",     "pool:7",	 "pool:1:", "pool:1:0",
						"pool:1:2:3", "pool:12", "pool:x",  "pool:1x"};
	static const char *const bad_free[] = {"",	 "pool",     ":1",     "pool:0",
					       "pool:7", "pool:1:2", "pool:-1"};
	struct alloc_fn fn;

	(void)state;
	assert_int_equal(alloc_fn_parse_alloc("pool_get:2", &fn), 0);
	assert_string_equal(fn.name, "pool_get");
	assert_string_equal(fn.shown, "pool_get");
	assert_int_equal(fn.op, OP_ALLOC);
	assert_int_equal(fn.size_arg, 2);
	assert_int_equal(fn.count_arg, 0);
	alloc_fn_release(&fn);
	assert_null(fn.name);
	assert_int_equal(alloc_fn_parse_alloc("pool_get:6:1", &fn), 0);
	assert_int_equal(fn.size_arg, 6);
	assert_int_equal(fn.count_arg, 1);
	alloc_fn_release(&fn);
	assert_int_equal(alloc_fn_parse_alloc("get:2:out=1", &fn), 0);
	assert_int_equal(fn.op, OP_ALLOC_OUT);
	assert_int_equal(fn.size_arg, 2);
	assert_int_equal(fn.ptr_arg, 1);
	assert_int_equal(fn.ok, 0);
	alloc_fn_release(&fn);
	assert_int_equal(alloc_fn_parse_alloc("get:2:3:out=4:ok=-0x10", &fn), 0);
	assert_int_equal(fn.count_arg, 3);
	assert_int_equal(fn.ptr_arg, 4);
	assert_int_equal(fn.ok, -16);
	alloc_fn_release(&fn);
	assert_int_equal(alloc_fn_parse_realloc("grow:1:3:2", &fn), 0);
	assert_int_equal(fn.op, OP_REALLOC);
	assert_int_equal(fn.ptr_arg, 1);
	assert_int_equal(fn.size_arg, 3);
	assert_int_equal(fn.count_arg, 2);
	alloc_fn_release(&fn);
	assert_int_equal(alloc_fn_parse_free("pool_put:3", &fn), 0);
	assert_int_equal(fn.op, OP_FREE);
	assert_int_equal(fn.ptr_arg, 3);
	alloc_fn_release(&fn);
	for (size_t i = 0; i < sizeof(bad_alloc) / sizeof(bad_alloc[0]); i++)
		assert_int_equal(alloc_fn_parse_alloc(bad_alloc[i], &fn), -EINVAL);
	for (size_t i = 0; i < sizeof(bad_free) / sizeof(bad_free[0]); i++)
		assert_int_equal(alloc_fn_parse_free(bad_free[i], &fn), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_parse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

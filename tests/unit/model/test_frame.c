// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a frame is, by its kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "user/model/frame_table.h"

static const struct frame native = {.function = "main", .module = "shop", .module_offset = 0x10};
static const struct frame nowhere = {.module_offset = 0x7f0000000000};
static const struct frame go = {.kind = FRAME_KIND_GO, .module = "shop", .module_offset = 0x20};
static const struct frame jit = {.kind = FRAME_KIND_JIT, .module_offset = 0x7f0000000000};

static void assert_where(const struct frame *frame, const char *where, const char *runtime)
{
	char text[FRAME_WHERE_MAX], name[FRAME_RUNTIME_MAX];
	const char *is = frame_runtime(frame, name);

	assert_string_equal(frame_where(frame, text), where);
	assert_int_equal(!is, !runtime);
	if (is)
		assert_string_equal(is, runtime);
}

static void where(void **state)
{
	const struct frame python = frame_managed(FRAME_KIND_PYTHON, "f", "/srv/shop.py", 3);

	(void)state;
	assert_where(&native, "shop", NULL);
	assert_where(&nowhere, "", NULL);
	assert_where(&go, "shop, go", NULL);
	assert_where(&jit, "jit", "[jit]");
	assert_where(&python, "python", "[python]");
	assert_true(frame_is_code(&native) && frame_is_code(&nowhere) && frame_is_code(&go));
	assert_true(frame_is_code(&jit));
	assert_false(frame_is_code(&python));
	assert_true(frame_in_object(&native) && frame_in_object(&go));
	assert_false(frame_in_object(&jit) || frame_in_object(&python));
}

static void scripts(void **state)
{
	static const char *const files[][2] = {
		{"/srv/shop.py", "shop.py"},
		{"shop.py", "shop.py"},
		{"<frozen runpy>", "<frozen runpy>"},
		{"node:internal/fs/utils", "node:internal/fs/utils"},
		{"file:///srv/m.mjs", "m.mjs"},
		{"/srv/", "/srv/"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const struct frame f = frame_managed(FRAME_KIND_JAVASCRIPT, "f", files[i][0], 7);

		assert_string_equal(f.module, files[i][1]);
		assert_string_equal(f.module_path, files[i][0]);
		assert_int_equal(f.line, 7);
	}
	/* A line of no file says nothing. */
	assert_int_equal(frame_managed(FRAME_KIND_RUBY, "f", NULL, 7).line, 0);
	assert_null(frame_managed(FRAME_KIND_RUBY, "f", NULL, 7).module);
}

/* Frames that differ by their kind alone are two, also in a copy that outlives them. */
static void kept_by_kind(void **state)
{
	struct frame_table *table = frame_table_new();
	uint32_t ids[FRAME_KINDS];

	(void)state;
	assert_non_null(table);
	for (unsigned i = 0; i < FRAME_KINDS; i++) {
		const struct frame f = frame_managed((enum frame_kind)i, "f", "/a", 1);
		const struct frame *list[] = {&f}, *const *copy = list;
		size_t count = 1;

		assert_int_equal(frame_table_frame(table, &f, &ids[i]), 0);
		assert_int_equal(ids[i], i + 1);
		assert_int_equal(frame_table_keep(table, &copy, &count), 0);
		assert_ptr_not_equal(copy[0], &f);
		assert_int_equal(copy[0]->kind, i);
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(frame_kind_name((enum frame_kind)k),
						frame_kind_name((enum frame_kind)i));
	}
	frame_table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where),
		cmocka_unit_test(scripts),
		cmocka_unit_test(kept_by_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

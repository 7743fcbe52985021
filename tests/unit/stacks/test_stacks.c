// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Stacks of which a runtime has named some frames: those are not looked up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/stacks/stacks.h"

#define TARGET 3

static const struct frame *keep(struct stack_table *table, const char *function, const char *file,
				uint32_t line)
{
	const struct frame frame = frame_managed(FRAME_KIND_PYTHON, function, file, line);

	return stack_table_keep_frame(table, TARGET, &frame);
}

static void named_between_addresses(void **state)
{
	const struct symbolizer_options options = {.inlines = true};
	struct symbolizer *symbolizer = symbolizer_new(&options);
	struct stack_table *table = stack_table_new();
	struct stack_entry *entry;
	bool fresh;

	(void)state;
	assert_non_null(table);
	assert_non_null(symbolizer);
	entry = stack_table_add(table, TARGET, 77, 4, &fresh);
	assert_non_null(entry);
	assert_true(fresh);
	/* No process has this code: what is looked up has no name. */
	entry->places[0].location.offset = 0x10;
	entry->places[1].frame = keep(table, "Shop.sell", "/srv/shop.py", 12);
	entry->places[1].location.offset = 0x20;
	entry->places[2].frame = keep(table, "<module>", "/srv/shop.py", 40);
	entry->places[3].location.offset = 0x30;
	assert_int_equal(stack_entry_name(entry, symbolizer), 0);
	assert_int_equal(entry->frame_count, 4);
	assert_int_equal(entry->frames[0]->module_offset, 0x10);
	assert_int_equal(entry->frames[1]->kind, FRAME_KIND_PYTHON);
	assert_string_equal(entry->frames[1]->function, "Shop.sell");
	assert_string_equal(entry->frames[1]->file, "/srv/shop.py");
	assert_string_equal(entry->frames[1]->module, "shop.py");
	assert_string_equal(entry->frames[1]->module_path, "/srv/shop.py");
	assert_int_equal(entry->frames[1]->line, 12);
	assert_false(frame_is_code(entry->frames[1]));
	assert_string_equal(entry->frames[2]->function, "<module>");
	assert_int_equal(entry->frames[3]->module_offset, 0x30);
	assert_int_equal(entry->frames[3]->kind, FRAME_KIND_NATIVE);
	stack_table_free(table);
	symbolizer_free(symbolizer);
}

static void equal_frames_are_one(void **state)
{
	struct stack_table *table = stack_table_new();
	const struct frame *first = keep(table, "f", "/a.py", 1);
	struct frame other = *first;

	(void)state;
	assert_ptr_equal(keep(table, "f", "/a.py", 1), first);
	assert_ptr_not_equal(keep(table, "f", "/a.py", 2), first);
	other.kind = FRAME_KIND_RUBY;
	assert_ptr_not_equal(stack_table_keep_frame(table, TARGET, &other), first);
	/* Each target's are its own, and go with it. */
	assert_ptr_not_equal(stack_table_keep_frame(table, TARGET + 1, first), first);
	stack_table_remove_target(table, TARGET + 1);
	assert_string_equal(first->function, "f");
	stack_table_remove_target(table, TARGET);
	assert_string_equal(keep(table, "f", "/a.py", 1)->file, "/a.py");
	stack_table_free(table);
}

static void names_are_cleaned(void **state)
{
	struct stack_table *table = stack_table_new();
	char long_name[10000];
	const struct frame *frame;

	(void)state;
	frame = keep(table, "a\x1b]0;b\x07\xff", "", 7);
	assert_string_equal(frame->function, "a?]0;b??");
	assert_null(frame->file);
	assert_null(frame->module);
	assert_int_equal(frame->line, 0);
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	assert_int_equal(strlen(keep(table, long_name, NULL, 0)->function), 4095);
	assert_null(keep(table, NULL, "/a.py", 3)->function);
	stack_table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(named_between_addresses),
		cmocka_unit_test(equal_frames_are_one),
		cmocka_unit_test(names_are_cleaned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

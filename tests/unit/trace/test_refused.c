// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The table of what a kernel may refuse: each program is in it, and what is done instead ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "user/base/util.h"
#include "user/trace/refused.h"
#include "user/trace/skeleton.h"

static const struct refused_row *row_of(const char *program)
{
	size_t count;
	const struct refused_row *rows = refused_rows(&count);

	for (size_t i = 0; i < count; i++) {
		if (refused_row_has(&rows[i], program, NULL))
			return &rows[i];
	}
	return NULL;
}

static void every_program_has_a_row(void **state)
{
	struct memleakbpf *skel = skeleton_open(true);
	struct bpf_program *program;
	size_t without = 0;

	(void)state;
	assert_non_null(skel);
	bpf_object__for_each_program(program, skel->obj)
	{
		if (row_of(bpf_program__name(program)))
			continue;
		print_error("%s has no row in user/trace/refused.c\n", bpf_program__name(program));
		without++;
	}
	assert_int_equal(without, 0);
	memleakbpf__destroy(skel);
}

static void names_are_whole_words(void **state)
{
	const struct refused_row row = {.programs = "old_on_fork on_exec", .maps = "live stacks"};

	(void)state;
	assert_true(refused_row_has(&row, "old_on_fork", NULL));
	assert_true(refused_row_has(&row, "on_exec", ""));
	assert_true(refused_row_has(&row, "", "stacks"));
	assert_false(refused_row_has(&row, "on_fork", NULL));
	assert_false(refused_row_has(&row, "on_exe", "sta"));
	assert_false(refused_row_has(&row, "", NULL));
}

/* A load is tried again for each, so none may do the same twice. */
static void once_for_each_row(void **state)
{
	size_t count;
	const struct refused_row *rows = refused_rows(&count);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		struct trace_options options = {
			.attach = ATTACH_SESSION,
			.children = CHILDREN_EXACT,
			.usdt = TRACE_USDT_FOUND,
			.gate_later = true,
			.hold_at_end = true,
			.wait_loaded = true,
			.task_storage = true,
			.ages = true,
			.managed_now = true,
		};

		assert_true(*rows[i].what && *rows[i].purpose);
		if (!rows[i].instead)
			continue;
		assert_true(rows[i].instead(&options));
		assert_false(rows[i].instead(&options));
	}
}

static void the_same_is_missed_once(void **state)
{
	struct missing_parts list = {.count = 0};
	static char names[MISSING_MAX + 1][4];

	(void)state;
	assert_non_null(missing_add(&list, "ages", "no ages", "%s: %d", "it", 1));
	assert_null(missing_add(&list, "ages", "no ages", "again"));
	assert_int_equal(list.count, 1);
	assert_string_equal(list.parts[0].why, "it: 1");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(names[i], sizeof(names[i]), "%zu", i);
		missing_add(&list, names[i], "", "x");
	}
	assert_int_equal(list.count, MISSING_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_program_has_a_row),
		cmocka_unit_test(names_are_whole_words),
		cmocka_unit_test(once_for_each_row),
		cmocka_unit_test(the_same_is_missed_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

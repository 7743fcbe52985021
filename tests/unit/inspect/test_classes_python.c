// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The type of each object of a CPython, against what Python itself says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/inspect/inspected.h"

static void check(const char *environment, const char *arguments)
{
	char script[PATH_MAX], command[2 * PATH_MAX];
	struct inspected p;

	if (system("command -v python3 >/dev/null")) {
		printf("skipped: no python3 here\n");
		skip();
	}
	assert_non_null(realpath(__FILE__, script));
	strcpy(strrchr(script, '/') + 1, "classes.py");
	snprintf(command, sizeof(command), "%s exec python3 '%s' %s", environment, script,
		 arguments);
	inspected_start(&p, command);
	inspected_freeze(&p);
	inspected_classify(&p);
	inspected_sums_agree(&p);
	assert_true(p.count > 5000);
	for (size_t i = 0; i < p.count; i++) {
		const struct inspected_group *group = inspected_group_of(&p, i);

		if (group->kind != GROUP_PYTHON)
			fail_msg("0x%" PRIx64 ", %s, is %s %s", p.books[i].address, p.books[i].name,
				 group_kind_name(group->kind), group->name ?: "?");
		assert_string_equal(group->name, p.books[i].name);
	}
	inspected_end(&p);
}

static void as_it_is(void **state)
{
	(void)state;
	check("", "0");
}

/* Blocks as malloc() has them: where they begin and end is malloc's word, and not the test's. */
static void with_malloc(void **state)
{
	(void)state;
	check("PYTHONMALLOC=malloc", "0 malloc");
}

static void with_marks_around_blocks(void **state)
{
	(void)state;
	check("PYTHONMALLOC=debug", "16");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_it_is),
		cmocka_unit_test(with_malloc),
		cmocka_unit_test(with_marks_around_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

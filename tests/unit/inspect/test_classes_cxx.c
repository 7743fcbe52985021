// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is found to be the class of each block of a C++ program, against what the program itself says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/inspect/inspected.h"

static struct sides sides;

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

/* Compiles it, once with the same flags, and has it classified. Skips where there is no such compiler. */
static void begin(struct inspected *p, const char *compiler, const char *flags, const char *link,
		  const char *then)
{
	need_tool(compiler);
	sides_run(&sides,
		  "O='%s %s.o' && { test -e \"$O\" || %s -std=c++17 %s -c -o \"$O\" $S/classes.cc; "
		  "} && "
		  "%s %s -o classes \"$O\" && %s",
		  compiler, flags, compiler, flags, compiler, link, then);
	inspected_start(p, &sides, "exec ./classes");
	inspected_freeze(p);
	inspected_classify(p);
	inspected_sums_agree(p);
}

/* Compilers write the same name in two ways. */
static void without_spaces(char *to, const char *name)
{
	while ((*to = *name++))
		to += *to != ' ';
}

static void same_name(const char *name, const char *booked)
{
	char x[512], y[512];

	assert_non_null(name);
	assert_true(strlen(name) < sizeof(x));
	without_spaces(x, name);
	without_spaces(y, booked);
	assert_string_equal(x, y);
}

static void check_block(const struct inspected *p, size_t i)
{
	const struct inspected_group *group = inspected_group_of(p, i);
	const struct booked *b = &p->books[i];

	if (strcmp(group_kind_name(group->kind), b->kind) != 0)
		fail_msg("%s is %s %s", b->name, group_kind_name(group->kind), group->name ?: "?");
	switch (group->kind) {
	case GROUP_CLASS:
		same_name(group->name, b->name);
		assert_string_equal(group->module, "classes");
		break;
	case GROUP_TEXT:
		assert_string_equal(group->name, "text");
		break;
	default:
		assert_null(group->name);
		assert_int_equal(group->size, b->size);
		/* 33 that begin alike, and others of which there are too few. */
		assert_int_equal(group->beginning != 0, !strcmp(b->name, "files"));
	}
}

static void check(const char *compiler, const char *flags, const char *link, const char *then)
{
	struct inspected p;

	begin(&p, compiler, flags, link, then);
	for (size_t i = 0; i < p.count; i++)
		check_block(&p, i);
	inspected_end(&p);
}

static void with_debug_information(void **state)
{
	(void)state;
	check("g++", "-g -O0", "", "true");
}

static void stripped(void **state)
{
	(void)state;
	check("g++", "-O2", "", "strip classes");
}

/* Tables need no relocation there, so they are in the file alone. */
static void stripped_at_a_fixed_address(void **state)
{
	(void)state;
	check("g++", "-O2", "-no-pie", "strip classes");
}

static void static_and_stripped(void **state)
{
	(void)state;
	check("g++", "-O2", "-static", "strip classes");
}

static void one_segment_for_code_and_constants(void **state)
{
	(void)state;
	check("g++", "-O2", "-no-pie -static -Wl,-z,noseparate-code", "strip classes");
}

static void of_clang(void **state)
{
	(void)state;
	check("clang++", "-O2", "", "strip classes");
}

static void without_rtti(void **state)
{
	(void)state;
	check("g++", "-O2 -fno-rtti", "", "true");
}

static void without_rtti_of_clang(void **state)
{
	(void)state;
	check("clang++", "-O2 -fno-rtti", "", "true");
}

/* No name is known; they are told apart all the same, and it is said what they begin with. */
static void without_rtti_and_symbols(void **state)
{
	struct inspected p;

	(void)state;
	begin(&p, "g++", "-O2 -fno-rtti", "", "strip classes");
	for (size_t i = 0; i < p.count; i++) {
		const struct inspected_group *group = inspected_group_of(&p, i);

		if (strcmp(p.books[i].kind, "class") != 0) {
			check_block(&p, i);
			continue;
		}
		assert_int_equal(group->kind, GROUP_CLASS);
		assert_int_equal(strncmp(group->name, "[table of functions at 0x", 25), 0);
		for (size_t k = 0; k < i; k++)
			assert_int_equal(inspected_group_of(&p, k) == group,
					 !strcmp(p.books[k].name, p.books[i].name));
	}
	inspected_end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_debug_information),
		cmocka_unit_test(stripped),
		cmocka_unit_test(stripped_at_a_fixed_address),
		cmocka_unit_test(static_and_stripped),
		cmocka_unit_test(one_segment_for_code_and_constants),
		cmocka_unit_test(of_clang),
		cmocka_unit_test(without_rtti),
		cmocka_unit_test(without_rtti_of_clang),
		cmocka_unit_test(without_rtti_and_symbols),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

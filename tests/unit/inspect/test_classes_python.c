// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The type of each object of a CPython, against what Python itself says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/heap/pythons.h"
#include "tests/unit/inspect/inspected.h"
#include "tests/unit/rounds.h"
#include "user/heap/reach.h"

static struct sides sides;

/* The name and how many bytes stand in front of it in its block. */
static void check_object(const struct inspected *p, size_t i)
{
	const struct inspected_group *group = inspected_group_of(p, i);
	char name[512];

	if (group->kind != GROUP_PYTHON)
		fail_msg("0x%" PRIx64 ", %s, is %s %s", p->books[i].address, p->books[i].name,
			 group_kind_name(group->kind), group->name ?: "?");
	snprintf(name, sizeof(name), "%s +%u", group->name, 8u * p->classes->heads[i]);
	assert_string_equal(name, p->books[i].name);
}

/* How many of the objects are in a class; of those that only the collector can find, or of the others. */
static size_t judged(const struct inspected *p, const uint8_t *heads, bool garbage,
		     enum verdict_class class)
{
	const struct reach_options options = {.heads = heads};
	struct reach *reach;
	size_t count = 0;

	assert_int_equal(reach_new(p->image, &options, &reach), 0);
	for (size_t i = 0; i < p->count; i++)
		count += !strncmp(p->books[i].name, "__main__.Garbage ", 17) == garbage &&
			 reach_class(reach, i) == class;
	reach_free(reach);
	return count;
}

#define GARBAGE 100

static void check_one(const char *python, const char *environment, const char *arguments)
{
	_cleanup_free_ char *command = NULL;
	struct inspected p;
	bool behind = false;

	assert_true(asprintf(&command, "%s exec '%s' $S/classes.py %s", environment, python,
			     arguments) > 0);
	inspected_start(&p, &sides, command);
	inspected_freeze(&p);
	inspected_classify(&p);
	inspected_sums_agree(&p);
	assert_true(p.count > 5000);
	for (size_t i = 0; i < p.count; i++) {
		check_object(&p, i);
		behind |= p.classes->heads[i] > 2;
	}
	/* Up to 3.10 the collector's list leads to the beginning of each. */
	assert_int_equal(judged(&p, NULL, false, VERDICT_REACHABLE) < p.count - GARBAGE, behind);
	assert_int_equal(judged(&p, p.classes->heads, false, VERDICT_REACHABLE), p.count - GARBAGE);
	/* Memory that is no block here is taken for roots: some may have been left there. */
	assert_in_range(judged(&p, p.classes->heads, true, VERDICT_POSSIBLE), GARBAGE / 10,
			GARBAGE);
	inspected_end(&p);
}

static void check(const char *environment, const char *arguments)
{
	char pythons[PYTHONS_MAX][PATH_MAX];
	size_t count = find_pythons(pythons);

	if (!count) {
		printf("skipped: no python3 of 3.8 to 3.13 here\n");
		skip();
	}
	/* By `make quick` not each of many versions. */
	for (size_t i = 0; i < (size_t)rounds((int)count); i++)
		check_one(pythons[i], environment, arguments);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_it_is),
		cmocka_unit_test(with_malloc),
		cmocka_unit_test(with_marks_around_blocks),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

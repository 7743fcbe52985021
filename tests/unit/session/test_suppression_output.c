// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is generated to suppress a stack, and that it does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/borrowed_report.h"
#include "tests/unit/suppressed_frames.h"
#include "user/analysis/suppress.h"
#include "user/export/render.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int parse(struct suppressions *s, const char *text)
{
	return suppressions_parse(s, "test.supp", text, strlen(text));
}

static struct suppressed *apply(struct suppressions *s, struct report *r)
{
	assert_int_equal(suppressions_apply(s, r), 0);
	return r->suppressed;
}

static char *generate(enum suppression_style style, const struct report *r)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	suppression_put(out, style, r, &r->snapshot->stacks[0]);
	fclose(out);
	return text;
}

/* What is generated hides the stack that it was made from, and no other. */
static void generated(void **state)
{
	static const enum suppression_style styles[] = {SUPPRESSION_VALGRIND,
							SUPPRESSION_LEAKSANITIZER};

	(void)state;
	for (size_t i = 0; i < COUNT(styles); i++) {
		struct stack stacks[] = {
			{.live = {1, 1}, .frames = cxx, .frame_count = COUNT(cxx)},
			{.live = {2, 1}, .frames = plain, .frame_count = COUNT(plain)},
		};
		struct snapshot snapshot = {.stacks = stacks, .stack_count = 2};
		struct report *r = report_borrow(&snapshot);
		struct suppressions *s = suppressions_new();
		char *text = generate(styles[i], r);

		assert_int_equal(parse(s, text), 0);
		assert_int_equal(apply(s, r)->total.bytes, 1);
		assert_true(r->notes[0].hidden);
		report_drop(r);
		suppressions_free(s);
		free(text);
	}
}

/* Names of a recording may hold anything; what comes out is text, and still fits them. */
static void generated_of_hostile_names(void **state)
{
	static const struct frame hostile = {.function = "a\033]0;b", .module_path = "/lib\n/x.so"};
	static const struct frame nameless = {.module_path = "/lib\033/x.so"};
	static const struct frame *const frames[] = {&hostile, &nameless};
	struct stack stack = {.live = {1, 1}, .frames = frames, .frame_count = 2};
	struct snapshot snapshot = {.stacks = &stack, .stack_count = 1};
	struct report *r = report_borrow(&snapshot);
	char *text = generate(SUPPRESSION_VALGRIND, r);

	(void)state;
	assert_non_null(strstr(text, "   fun:a?]0;b\n   obj:/lib?/x.so\n"));
	assert_null(strchr(text, '\033'));
	free(text);
	text = generate(SUPPRESSION_LEAKSANITIZER, r);
	assert_null(strchr(text, '\033'));
	free(text);
	report_drop(r);
}

static void generated_text(void **state)
{
	struct stack stack = {.live = {1, 1},
			      .verdict = {[VERDICT_DEFINITE] = {1, 1}},
			      .frames = cxx,
			      .frame_count = COUNT(cxx)};
	struct snapshot snapshot = {
		.verdict.state = VERDICT_TAKEN, .stacks = &stack, .stack_count = 1};
	struct report *r = report_borrow(&snapshot);
	char *text = generate(SUPPRESSION_VALGRIND, r);

	(void)state;
	assert_string_equal(text, "{\n"
				  "   blocks of shop::Archive::keep(char const*)\n"
				  "   Memcheck:Leak\n"
				  "   match-leak-kinds: definite\n"
				  "   fun:_Zn?m\n"
				  "   fun:_ZN4shop7Archive4keepEPKc\n"
				  "   obj:/opt/libz.so.1\n"
				  "   fun:main\n"
				  "   fun:__libc_start_main\n"
				  "}\n");
	free(text);
	text = generate(SUPPRESSION_LEAKSANITIZER, r);
	assert_string_equal(text, "leak:shop::Archive::keep(char const*)\n");
	free(text);
	report_drop(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(generated),
		cmocka_unit_test(generated_of_hostile_names),
		cmocka_unit_test(generated_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "user/base/util.h"
#include "user/target/scope_spec.h"

static void parsed(const char *text, const char *function, const char *object, uint32_t line,
		   const struct scope_tag_spec *tag)
{
	static const struct scope_tag_spec none;
	struct scope_spec spec;

	assert_int_equal(scope_spec_parse(text, &spec), 0);
	assert_string_equal(spec.text, text);
	assert_string_equal(spec.function, function);
	if (object)
		assert_string_equal(spec.object, object);
	else
		assert_null(spec.object);
	assert_int_equal(spec.line, line);
	assert_memory_equal(&spec.tag, tag ?: &none, sizeof(spec.tag));
	scope_spec_release(&spec);
}

static void test_functions(void **state)
{
	(void)state;
	parsed("handle", "handle", NULL, 0, NULL);
	parsed("Server::run", "Server::run", NULL, 0, NULL);
	parsed("Server::run(std::string const&)", "Server::run(std::string const&)", NULL, 0, NULL);
	parsed("libfoo.so.1:handle", "handle", "libfoo.so.1", 0, NULL);
	parsed("/usr/lib/libfoo.so:A::b", "A::b", "/usr/lib/libfoo.so", 0, NULL);
	parsed("server.cc:120", "server.cc", NULL, 120, NULL);
}

static void test_tags(void **state)
{
	static const struct scope_tag_spec number = {
		.kind = SCOPE_TAG_NUMBER, .arg = 2, .size = 8, .is_signed = 1};
	static const struct scope_tag_spec hex = {
		.kind = SCOPE_TAG_NUMBER, .arg = 1, .size = 8, .is_hex = 1};
	static const struct scope_tag_spec s32 = {
		.kind = SCOPE_TAG_NUMBER, .arg = 3, .size = 4, .is_signed = 1};
	static const struct scope_tag_spec text = {.kind = SCOPE_TAG_STRING, .arg = 6, .size = 8};
	static const struct scope_tag_spec far = {
		.kind = SCOPE_TAG_STRING, .arg = 1, .size = 8, .steps = 2, .step = {16, 0}};
	static const struct scope_tag_spec back = {
		.kind = SCOPE_TAG_NUMBER, .arg = 4, .size = 2, .steps = 1, .step = {-8}};
	static const struct scope_tag_spec thread = {.kind = SCOPE_TAG_THREAD};

	(void)state;
	parsed("f#arg2", "f", NULL, 0, &number);
	parsed("f#arg2:int", "f", NULL, 0, &number);
	parsed("f#arg1:hex", "f", NULL, 0, &hex);
	parsed("f#arg3:s32", "f", NULL, 0, &s32);
	parsed("f#arg6:str", "f", NULL, 0, &text);
	parsed("f#+0(+16(arg1)):str", "f", NULL, 0, &far);
	parsed("f#+0x0(+0x10(arg1)):string", "f", NULL, 0, &far);
	parsed("f#-8(arg4):u16", "f", NULL, 0, &back);
	parsed("f#tid", "f", NULL, 0, &thread);
	parsed("x.cc:5#tid", "x.cc", NULL, 5, &thread);
}

static void test_refused(void **state)
{
	static const char *const wrong[] = {
		"",
		"#arg1",
		":f",
		"lib.so:",
		"f#",
		"f#arg0",
		"f#arg7",
		"f#arg10",
		"f#arg1:",
		"f#arg1:float",
		"f#arg1:s12",
		"f#arg1:u7",
		"f#+8(arg1",
		"f#+8 (arg1)",
		"f#8(arg1)",
		"f#+8()",
		"f#+8(arg1))",
		"f#+1(+1(+1(+1(+1(arg1)))))",
		"f#tid:int",
		"f#arg1x",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct scope_spec spec;

		if (scope_spec_parse(wrong[i], &spec) != -EINVAL)
			fail_msg("%s is taken", wrong[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_tags),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

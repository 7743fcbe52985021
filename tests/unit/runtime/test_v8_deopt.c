// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Translations as Node 20.20 has made them (the beginning of an array, and what --print-opt-code says of it), and what no V8 would write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/base/util.h"
#include "user/runtime/v8/v8_versions.h"

static const uint8_t node_20[] = {
	0x02, 0x00, 0x02, 0x02, 0x18, 0x0a, 0x1e, 0x06, 0x1f, 0x06, 0x1f, 0x03, 0x1f, 0x05, 0x1f,
	0x0a, 0x1c, 0x1d, 0x20, 0x1c, 0x1c, 0x02, 0x15, 0x04, 0x04, 0x18, 0x44, 0x1e, 0x06, 0x26,
	0x1e, 0x09, 0x26, 0x1c, 0x26, 0x18, 0x10, 0x00, 0x06, 0x1d, 0x22, 0x1d, 0x24, 0x1e, 0x09,
	0x1d, 0x26, 0x1c, 0x1d, 0x28, 0x1c, 0x1d, 0x2a, 0x02, 0x00, 0x04, 0x04, 0x18, 0x44, 0x1e,
	0x06, 0x1f, 0x06, 0x1f, 0x03, 0x1e, 0x09, 0x1f, 0x0a, 0x1c, 0x1c, 0x1c, 0x1c, 0x18, 0x10,
	0x00, 0x06, 0x1d, 0x22, 0x1d, 0x24, 0x1e, 0x09, 0x1d, 0x26, 0x1c, 0x1d, 0x28, 0x1c, 0x1d,
	0x2a, 0x02, 0x26, 0x06, 0x06, 0x17, 0x44, 0x1e, 0x06, 0x00, 0x02, 0x26, 0x1f, 0x05, 0x29,
	0x17, 0x18, 0x00, 0x06, 0x00, 0x02, 0x26, 0x1f, 0x05, 0x26, 0x1c, 0x25, 0x1c, 0x17, 0x00,
	0x02, 0x04, 0x00, 0x02, 0x1d, 0x28, 0x1d, 0x24, 0x10, 0x10, 0x1d, 0x26, 0x1c, 0x1e,
};

#define TOP  15 /* literals */
#define MID  0
#define LEAF 1

static struct v8_translations of(const uint8_t *bytes, size_t size)
{
	return (struct v8_translations){&v8_version_find(11, 3)->form, bytes, size};
}

static void is(const struct v8_nested *nested, uint32_t literal, int32_t offset)
{
	assert_int_equal(nested->literal, literal);
	assert_int_equal(nested->offset, offset);
}

static void as_it_was(void **state)
{
	struct v8_translations all = of(node_20, sizeof(node_20));
	struct v8_nested nested[V8_NESTED_MAX];

	(void)state;
	assert_int_equal(v8_translation_read(&all, 0, nested), 1);
	is(&nested[0], TOP, 5);
	/* It repeats the first part of the one before. */
	assert_int_equal(v8_translation_read(&all, 53, nested), 2);
	is(&nested[0], TOP, 34);
	is(&nested[1], MID, 8);
}

/* Of the second translation the second instruction is that of the first one, and only that. */
static void repeated(void **state)
{
	static const uint8_t bytes[] = {2, 0, 2, 2,  24, 10, 30, 6, 28, 2,
					8, 4, 4, 35, 1,	 24, 3,	 2, 6};
	struct v8_translations all = of(bytes, sizeof(bytes));
	struct v8_nested nested[V8_NESTED_MAX];

	(void)state;
	assert_int_equal(v8_translation_read(&all, 0, nested), 1);
	assert_int_equal(v8_translation_read(&all, 9, nested), 0);
	all.bytes =
		(const uint8_t[]){2, 0, 2, 2, 24, 10, 30, 6, 28, 2, 18, 4, 4, 35, 1, 24, 3, 2, 6};
	assert_int_equal(v8_translation_read(&all, 9, nested), 0);
	all.bytes =
		(const uint8_t[]){2, 0, 2, 2, 24, 10, 30, 6, 28, 2, 9, 4, 4, 35, 1, 24, 3, 2, 6};
	assert_int_equal(v8_translation_read(&all, 9, nested), 2);
	is(&nested[0], TOP, 5);
	is(&nested[1], 1, -1);
	/* The same, said in one byte. */
	all.bytes = (const uint8_t[]){2, 0, 2, 2, 24, 10, 30, 6, 28, 2, 9, 4, 4, 37, 24, 3, 2, 6};
	assert_int_equal(v8_translation_read(&all, 9, nested), 2);
	is(&nested[0], TOP, 5);
	is(&nested[1], 1, -1);
}

/* Cut anywhere, begun anywhere, and with any byte changed: it ends, within its bytes. */
static void anything(void **state)
{
	uint8_t bytes[sizeof(node_20)];
	struct v8_nested nested[V8_NESTED_MAX];

	(void)state;
	for (size_t size = 0; size <= sizeof(node_20); size++) {
		struct v8_translations cut = of(node_20, size);

		for (uint32_t at = 0; at <= size; at++)
			assert_true(v8_translation_read(&cut, at, nested) <= V8_NESTED_MAX);
	}
	for (size_t i = 0; i < sizeof(bytes); i++) {
		for (unsigned value = 0; value < 256; value++) {
			struct v8_translations changed = of(bytes, sizeof(bytes));

			memcpy(bytes, node_20, sizeof(bytes));
			bytes[i] = (uint8_t)value;
			for (uint32_t at = 0; at < sizeof(bytes); at += 53)
				assert_true(v8_translation_read(&changed, at, nested) <=
					    V8_NESTED_MAX);
		}
	}
	assert_int_equal(
		v8_translation_read(&(struct v8_translations){&v8_version_find(11, 3)->form,
							      node_20, sizeof(node_20)},
				    UINT32_MAX, nested),
		0);
}

/* Each one's lists agree with each other. */
static void versions(void **state)
{
	static const int32_t known[][2] = {{10, 2}, {11, 3}, {12, 4}, {13, 6}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		const struct v8_version *version = v8_version_find(known[i][0], known[i][1]);
		const struct v8_translations_form *form = &version->form;

		assert_true(form->repeats < strlen(form->operands));
		for (size_t k = 0; k < 2; k++) {
			assert_int_equal(form->operands[form->begins[k]], '3');
			assert_true(form->operands[form->frames[k]] >= '3');
			assert_int_equal(form->operands[form->builtins[k]], '3');
		}
		for (size_t k = 1; k < 3 && version->opcodes[0]; k++)
			assert_int_equal(strlen(version->opcodes[k]), strlen(version->opcodes[0]));
	}
	assert_null(v8_version_find(11, 4));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_it_was),
		cmocka_unit_test(repeated),
		cmocka_unit_test(anything),
		cmocka_unit_test(versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

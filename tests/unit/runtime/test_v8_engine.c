// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What Node 18, 20, 22 and 24 export, as read from their files, and what no V8 may say. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/base/util.h"
#include "user/runtime/v8/v8_engine.h"

/* 18.20.4, V8 10.2, Debian 12. */
static const struct v8_constant node_18[] = {
	{"ConsStringTag", 1},
	{"ExternalStringTag", 2},
	{"FirstNonstringType", 128},
	{"HeapObjectTag", 1},
	{"HeapObjectTagMask", 3},
	{"OneByteStringTag", 8},
	{"SlicedStringTag", 3},
	{"SmiShiftSize", 31},
	{"SmiTagMask", 1},
	{"StringEncodingMask", 8},
	{"StringRepresentationMask", 7},
	{"ThinStringTag", 5},
	{"class_ConsString__first__String", 16},
	{"class_ConsString__second__String", 24},
	{"class_ExternalString__resource__Object", 16},
	{"class_JSFunction__shared__SharedFunctionInfo", 24},
	{"class_Map__instance_type__uint16_t", 12},
	{"class_Script__name__Object", 16},
	{"class_Script__source__Object", 8},
	{"class_SeqOneByteString__chars__char", 16},
	{"class_SeqTwoByteString__chars__char", 16},
	{"class_SharedFunctionInfo__name_or_scope_info__Object", 16},
	{"class_SharedFunctionInfo__script_or_debug_info__HeapObject", 32},
	{"class_SlicedString__offset__SMI", 24},
	{"class_SlicedString__parent__String", 16},
	{"class_String__length__int32_t", 12},
	{"class_ThinString__actual__String", 16},
	{"off_fp_context", -8},
	{"off_fp_function", -16},
	{"scopeinfo_idx_first_vars", 3},
	{"scopeinfo_idx_ncontextlocals", 2},
	{"type_JSFunction__JS_FUNCTION_TYPE", 2065},
	{"type_ScopeInfo__SCOPE_INFO_TYPE", 256},
	{"type_Script__SCRIPT_TYPE", 170},
	{"type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", 257},
};

/* 20.20.2, V8 11.3. */
static const struct v8_constant node_20[] = {
	{"ConsStringTag", 1},
	{"ExternalStringTag", 2},
	{"FirstNonstringType", 128},
	{"HeapObjectTag", 1},
	{"HeapObjectTagMask", 3},
	{"OneByteStringTag", 8},
	{"SlicedStringTag", 3},
	{"SmiShiftSize", 31},
	{"SmiTagMask", 1},
	{"StringEncodingMask", 8},
	{"StringRepresentationMask", 7},
	{"ThinStringTag", 5},
	{"class_ConsString__first__String", 16},
	{"class_ConsString__second__String", 24},
	{"class_ExternalString__resource__Object", 16},
	{"class_JSFunction__shared__SharedFunctionInfo", 24},
	{"class_Map__instance_type__uint16_t", 12},
	{"class_Script__name__Object", 16},
	{"class_Script__source__Object", 8},
	{"class_SeqOneByteString__chars__char", 16},
	{"class_SeqTwoByteString__chars__char", 16},
	{"class_SharedFunctionInfo__name_or_scope_info__Object", 16},
	{"class_SharedFunctionInfo__script_or_debug_info__HeapObject", 32},
	{"class_SlicedString__offset__SMI", 24},
	{"class_SlicedString__parent__String", 16},
	{"class_String__length__int32_t", 12},
	{"class_ThinString__actual__String", 16},
	{"off_fp_context", -8},
	{"off_fp_function", -16},
	{"scopeinfo_idx_first_vars", 3},
	{"scopeinfo_idx_ncontextlocals", 2},
	{"type_JSFunction__JS_FUNCTION_TYPE", 2066},
	{"type_ScopeInfo__SCOPE_INFO_TYPE", 261},
	{"type_Script__SCRIPT_TYPE", 167},
	{"type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", 262},
};

/* 22.23.3, V8 12.4. */
static const struct v8_constant node_22[] = {
	{"ConsStringTag", 1},
	{"ExternalStringTag", 2},
	{"FirstNonstringType", 128},
	{"HeapObjectTag", 1},
	{"HeapObjectTagMask", 3},
	{"OneByteStringTag", 8},
	{"SlicedStringTag", 3},
	{"SmiShiftSize", 31},
	{"SmiTagMask", 1},
	{"StringEncodingMask", 8},
	{"StringRepresentationMask", 7},
	{"ThinStringTag", 5},
	{"class_ConsString__first__String", 16},
	{"class_ConsString__second__String", 24},
	{"class_ExternalString__resource__Object", 16},
	{"class_JSFunction__shared__SharedFunctionInfo", 32},
	{"class_Map__instance_type__uint16_t", 12},
	{"class_Script__name__Object", 16},
	{"class_Script__source__Object", 8},
	{"class_SeqOneByteString__chars__char", 16},
	{"class_SeqTwoByteString__chars__char", 16},
	{"class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_", 16},
	{"class_SharedFunctionInfo__script__Tagged_HeapObject_", 32},
	{"class_SlicedString__offset__SMI", 24},
	{"class_SlicedString__parent__String", 16},
	{"class_String__length__int32_t", 12},
	{"class_ThinString__actual__String", 16},
	{"off_fp_context", -8},
	{"off_fp_function", -16},
	{"scopeinfo_idx_first_vars", 3},
	{"scopeinfo_idx_ncontextlocals", 2},
	{"type_JSFunction__JS_FUNCTION_TYPE", 2066},
	{"type_ScopeInfo__SCOPE_INFO_TYPE", 272},
	{"type_Script__SCRIPT_TYPE", 167},
	{"type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", 274},
};

/* 24.21.0, V8 13.6. */
static const struct v8_constant node_24[] = {
	{"ConsStringTag", 1},
	{"ExternalStringTag", 2},
	{"FirstNonstringType", 128},
	{"HeapObjectTag", 1},
	{"HeapObjectTagMask", 3},
	{"OneByteStringTag", 8},
	{"SlicedStringTag", 3},
	{"SmiShiftSize", 31},
	{"SmiTagMask", 1},
	{"StringEncodingMask", 8},
	{"StringRepresentationMask", 7},
	{"ThinStringTag", 5},
	{"class_ConsString__first__String", 16},
	{"class_ConsString__second__String", 24},
	{"class_ExternalString__resource__Object", 16},
	{"class_JSFunction__shared__SharedFunctionInfo", 32},
	{"class_Map__instance_type__uint16_t", 12},
	{"class_Script__name__Object", 16},
	{"class_Script__source__Object", 8},
	{"class_SeqOneByteString__chars__char", 16},
	{"class_SeqTwoByteString__chars__char", 16},
	{"class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_", 24},
	{"class_SharedFunctionInfo__script__Tagged_HeapObject_", 40},
	{"class_SlicedString__offset__SMI", 24},
	{"class_SlicedString__parent__String", 16},
	{"class_String__length__int32_t", 12},
	{"class_ThinString__actual__String", 16},
	{"off_fp_context", -8},
	{"off_fp_function", -16},
	{"scopeinfo_idx_first_vars", 5},
	{"scopeinfo_idx_ncontextlocals", 2},
	{"type_JSFunction__JS_FUNCTION_TYPE", 2065},
	{"type_ScopeInfo__SCOPE_INFO_TYPE", 280},
	{"type_Script__SCRIPT_TYPE", 167},
	{"type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", 282},
};

static struct v8_row row_of(const struct v8_constant *constants, size_t count)
{
	char reason[REASON_MAX] = "";
	struct v8_row row;

	assert_int_equal(v8_row_from(constants, count, &row, reason), 0);
	assert_string_equal(reason, "");
	return row;
}

static void refused(const struct v8_constant *constants, size_t count, const char *why)
{
	char reason[REASON_MAX] = "";
	struct v8_row row;

	assert_int_equal(v8_row_from(constants, count, &row, reason), -ENOTSUP);
	if (!strstr(reason, why))
		fail_msg("%s, not %s", reason, why);
}

static void versions(void **state)
{
	struct v8_row row = row_of(node_18, ARRAY_SIZE(node_18));

	(void)state;
	assert_int_equal(row.types[V8_SHARED].first, 257);
	assert_int_equal(row.function_shared, 24);
	assert_int_equal(row.shared_script, 32);
	row = row_of(node_20, ARRAY_SIZE(node_20));
	assert_int_equal(row.types[V8_FUNCTION].first, 2066);
	/* A class's constructor has 2081. */
	assert_true(row.types[V8_FUNCTION].last >= 2081);
	assert_int_equal(row.types[V8_SCRIPT].first, 167);
	assert_int_equal(row.types[V8_SCRIPT].last, 167);
	assert_int_equal(row.types[V8_SCOPE].first, 261);
	assert_int_equal(row.strings, 128);
	assert_int_equal(row.map_type, 12);
	assert_int_equal(row.shared_name, 16);
	assert_int_equal(row.script_source, 8);
	assert_int_equal(row.script_name, 16);
	assert_int_equal(row.script_line, 24);
	assert_int_equal(row.scope_first, 3);
	assert_int_equal(row.scope_count, 2);
	assert_int_equal(row.scope_place, 0);
	row = row_of(node_22, ARRAY_SIZE(node_22));
	assert_int_equal(row.function_shared, 32);
	assert_int_equal(row.shared_script, 32);
	assert_true(row.types[V8_FUNCTION].last >= 2082);
	row = row_of(node_24, ARRAY_SIZE(node_24));
	assert_int_equal(row.shared_name, 24);
	assert_int_equal(row.shared_script, 40);
	assert_int_equal(row.scope_first, 5);
	assert_int_equal(row.scope_place, 3);
}

/* Each of them is needed. */
static void one_is_missing(void **state)
{
	struct v8_constant some[ARRAY_SIZE(node_20)];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(node_20); i++) {
		memcpy(some, node_20, sizeof(some));
		some[i].name = "something_else";
		refused(some, ARRAY_SIZE(some), "it does not export v8dbg_");
	}
	refused(NULL, 0, "it does not export v8dbg_");
}

/* What leads further than an object goes, to what is no word of it, or cannot be. */
static void one_is_wrong(void **state)
{
	static const int32_t values[] = {INT32_MIN, -1, INT32_MAX};
	struct v8_constant some[ARRAY_SIZE(node_20)];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(node_20); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(values); k++) {
			memcpy(some, node_20, sizeof(some));
			some[i].value = values[k];
			refused(some, ARRAY_SIZE(some), "v8dbg_");
		}
		if (strncmp(node_20[i].name, "class_S", 7))
			continue;
		memcpy(some, node_20, sizeof(some));
		some[i].value++;
		refused(some, ARRAY_SIZE(some), "v8dbg_");
	}
}

/* Functions and scripts are told by their numbers where all says that these are there. */
static void numbers(void **state)
{
	static const struct v8_constant more[] = {
		{"class_Script__line_ends__Object", 56},
		{"class_Script__eval_from_shared_or_wrapped_arguments__Object", 72},
		{"class_SharedFunctionInfo__length__uint16_t", 40},
		{"class_SharedFunctionInfo__flags__int", 48},
	};
	enum { MORE = ARRAY_SIZE(more), ALL = ARRAY_SIZE(node_20) + MORE };
	struct v8_constant all[ALL];

	(void)state;
	assert_int_equal(row_of(node_20, ARRAY_SIZE(node_20)).shared_words, 0);
	memcpy(all, more, sizeof(more));
	memcpy(all + MORE, node_20, sizeof(node_20));
	assert_int_equal(row_of(all, ALL).shared_words, 7);
	/* As of Node 18. */
	all[1].name = "class_Script__eval_from_shared_or_wrapped_arguments_or_sfi_table__Object";
	assert_int_equal(row_of(all, ALL).shared_words, 7);
	for (size_t i = 0; i < MORE; i++) {
		all[i].value += 8;
		assert_int_equal(row_of(all, ALL).shared_words, 0);
		all[i].value -= 8;
	}
}

static void forms_that_are_not_known(void **state)
{
	struct v8_constant some[ARRAY_SIZE(node_20)];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(node_20); i++) {
		memcpy(some, node_20, sizeof(some));
		if (!strcmp(some[i].name, "scopeinfo_idx_first_vars")) {
			some[i].value = 4;
			refused(some, ARRAY_SIZE(some), "its ScopeInfo has a form");
		} else if (!strncmp(some[i].name, "class_Script__name__", 20)) {
			some[i].value = 32;
			refused(some, ARRAY_SIZE(some), "its Script has a form");
		}
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions),
		cmocka_unit_test(numbers),
		cmocka_unit_test(one_is_missing),
		cmocka_unit_test(one_is_wrong),
		cmocka_unit_test(forms_that_are_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

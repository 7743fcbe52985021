// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <json-c/json.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/sample_snapshot.h"
#include "bpf/lost_cause.h"
#include "user/base/util.h"

static const struct export_options plain;

/* Strictly: UTF-8 is checked, nothing may follow but the newline, which is the only one. */
static struct json_object *parse_line(const char *text)
{
	struct json_tokener *tokener = json_tokener_new();
	size_t len = strlen(text);
	struct json_object *object;

	assert_non_null(tokener);
	assert_true(len && text[len - 1] == '\n');
	assert_ptr_equal(strchr(text, '\n'), text + len - 1);
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	object = json_tokener_parse_ex(tokener, text, (int)len);
	if (!object)
		fail_msg("%s in %s", json_tokener_error_desc(json_tokener_get_error(tokener)),
			 text);
	json_tokener_free(tokener);
	return object;
}

static struct json_object *at(struct json_object *object, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, key, &value))
		fail_msg("no key '%s' in %s", key, json_object_to_json_string(object));
	return value;
}

static bool has(struct json_object *object, const char *key)
{
	return json_object_object_get_ex(object, key, NULL);
}

static uint64_t number_at(struct json_object *object, const char *key)
{
	assert_int_equal(json_object_get_type(at(object, key)), json_type_int);
	return json_object_get_uint64(at(object, key));
}

static const char *string_at(struct json_object *object, const char *key)
{
	assert_int_equal(json_object_get_type(at(object, key)), json_type_string);
	return json_object_get_string(at(object, key));
}

static void usual(void **state)
{
	struct snapshot s = sample_snapshot();
	_cleanup_free_ char *text = sample_export("json", &plain, &s, 2);

	(void)state;
	assert_true(sample_matches("json-usual.json", text));
}

static void everything(void **state)
{
	struct export_options options = {
		.show_older = true, .older_ns = 60000000000ULL, .verbose = true};
	struct snapshot s = sample_snapshot();
	_cleanup_free_ char *text = NULL;

	(void)state;
	s.sample_bytes = 524288;
	s.final = s.exited = s.children_late = true;
	for (int i = 0; i < LOST_CAUSES; i++)
		s.lost[i] = 1000 + (unsigned)i;
	text = sample_export("json", &options, &s, 3);
	assert_true(sample_matches("json-everything.json", text));
}

static void became_another_program(void **state)
{
	struct snapshot s = sample_snapshot();
	_cleanup_free_ char *text = NULL, *without = sample_export("json", &plain, &s, 0);

	(void)state;
	s.final = s.execed = true;
	text = sample_export("json", &plain, &s, 0);
	assert_non_null(strstr(text, "\"exited\":false,\"execed\":true,"));
	assert_null(strstr(without, "execed"));
}

/* The contract of the design, read back by key and type. */
static void contract(void **state)
{
	struct snapshot s = sample_snapshot();
	_cleanup_free_ char *text = sample_export("json", &plain, &s, 3);
	struct json_object *root = parse_line(text), *stack, *frame;

	(void)state;
	assert_int_equal(number_at(root, "version"), 1);
	assert_string_equal(string_at(root, "time"), "2026-01-02T03:04:05.678Z");
	assert_int_equal(number_at(root, "elapsed_ms"), 20123);
	assert_int_equal(number_at(root, "pid"), 1234);
	assert_string_equal(string_at(root, "comm"), "shop");
	assert_int_equal(json_object_array_length(at(root, "cmdline")), 3);
	assert_int_equal(json_object_get_type(at(root, "final")), json_type_boolean);
	assert_int_equal(number_at(root, "sample_bytes"), 0);
	assert_int_equal(number_at(at(root, "live"), "bytes"), 1367244);
	assert_int_equal(number_at(at(root, "alloc"), "count"), 2062);
	assert_int_equal(number_at(at(root, "free"), "count"), 1034);
	assert_int_equal(number_at(root, "unknown_frees"), 17);
	assert_int_equal(json_object_object_length(at(root, "lost")), LOST_CAUSES);
	assert_int_equal(number_at(at(root, "lost"), "live_map_full"), 0);
	assert_int_equal(json_object_array_length(at(root, "stacks")), 3);
	stack = json_object_array_get_idx(at(root, "stacks"), 0);
	assert_string_equal(string_at(stack, "id"), "00000000deadbeef");
	assert_int_equal(number_at(at(stack, "live"), "count"), 1024);
	assert_false(json_object_get_boolean(at(stack, "truncated")));
	assert_int_equal(json_object_array_length(at(stack, "frames")), 3);
	frame = json_object_array_get_idx(at(stack, "frames"), 1);
	assert_string_equal(string_at(frame, "module"), "shop");
	assert_string_equal(string_at(frame, "file"), "/usr/include/c++/12/bits/stl_vector.h");
	assert_int_equal(number_at(frame, "line"), 1287);
	assert_int_equal(number_at(frame, "offset"), 0x1c);
	assert_true(json_object_get_boolean(at(frame, "inlined")));
	stack = json_object_array_get_idx(at(root, "stacks"), 1);
	assert_string_equal(string_at(stack, "id"), "fedcba9876543210");
	assert_true(json_object_get_boolean(at(stack, "truncated")));
	stack = json_object_array_get_idx(at(root, "stacks"), 2);
	assert_int_equal(json_object_array_length(at(stack, "frames")), 0);
	json_object_put(root);
}

static void unknown_left_out(void **state)
{
	static const struct frame frame = {.offset = 0x1234};
	static const struct frame *const frames[] = {&frame};
	struct stack stack = {.live = {1, 1}, .frames = frames, .frame_count = 1};
	struct snapshot s = {.stacks = &stack, .stack_count = 1};
	_cleanup_free_ char *text = sample_export("json", &plain, &s, 1);
	struct json_object *root = parse_line(text);
	struct json_object *out = json_object_array_get_idx(at(root, "stacks"), 0);

	(void)state;
	assert_null(strstr(text, "null"));
	assert_false(has(root, "comm") || has(root, "cmdline") || has(root, "growth_bytes_per_s") ||
		     has(root, "delta") || has(root, "older_ms") || has(root, "trend"));
	assert_false(has(out, "oldest_ms") || has(out, "older") || has(out, "delta") ||
		     has(out, "growth_bytes_per_s") || has(out, "trend") || has(out, "verdict"));
	out = json_object_array_get_idx(at(out, "frames"), 0);
	assert_int_equal(json_object_object_length(out), 2);
	assert_int_equal(number_at(out, "offset"), 0x1234);
	assert_false(json_object_get_boolean(at(out, "inlined")));
	json_object_put(root);
}

static void no_stacks(void **state)
{
	struct snapshot s = {.pid = 7};
	_cleanup_free_ char *text = sample_export("json", &plain, &s, 0);
	struct json_object *root = parse_line(text);

	(void)state;
	assert_int_equal(json_object_array_length(at(root, "stacks")), 0);
	assert_string_equal(string_at(root, "time"), "1970-01-01T00:00:00.000Z");
	json_object_put(root);
}

static void hostile_names(void **state)
{
	static const struct frame frame = {
		.function = "f\"\\/\n\r\t\b\f\x01\x1b\x7f</script>",
		/* Stray bytes, overlong '/', a surrogate, above U+10FFFF, a sequence cut off. */
		.module = "\xff|\xc0\xaf|\xed\xa0\x80|\xf4\x90\x80\x80|\xe2\x82",
		.file = "gr\xc3\xb6\xc3\x9f\x65_\xe2\x82\xac_\xf0\x9f\xa6\x80_\xf4\x8f\xbf\xbf",
		.line = UINT32_MAX,
		.offset = UINT64_MAX,
	};
	static const struct frame *const frames[] = {&frame};
	static char *cmdline[] = {"a\nb", "", "\xfe\xe2", NULL};
	struct stack stack = {
		.live = {UINT64_MAX, UINT64_MAX},
		.frames = frames,
		.frame_count = 1,
	};
	struct snapshot s = {
		.interval_ns = 1,
		.cmdline = cmdline,
		.stacks = &stack,
		.stack_count = 1,
		.pid = 1,
	};
	struct report *r = report_borrow(&s);
	_cleanup_free_ char *text = NULL;
	struct json_object *root, *out;

	(void)state;
	r->notes[0].delta_bytes = INT64_MIN;
	memset(s.comm, '"', sizeof(s.comm)); /* 16 bytes without a NUL */
	text = sample_export_report("json", &plain, r, 1);
	report_drop(r);
	root = parse_line(text);
	assert_string_equal(string_at(root, "comm"), "\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"");
	assert_string_equal(
		json_object_get_string(json_object_array_get_idx(at(root, "cmdline"), 0)), "a\nb");
	assert_string_equal(
		json_object_get_string(json_object_array_get_idx(at(root, "cmdline"), 2)),
		"\xef\xbf\xbd\xef\xbf\xbd");
	out = json_object_array_get_idx(at(root, "stacks"), 0);
	assert_true(number_at(at(out, "live"), "bytes") == UINT64_MAX);
	assert_true(json_object_get_int64(at(at(out, "delta"), "bytes")) == INT64_MIN);
	out = json_object_array_get_idx(at(out, "frames"), 0);
	assert_string_equal(string_at(out, "function"), frame.function);
	assert_string_equal(string_at(out, "file"), frame.file);
	assert_string_equal(
		string_at(out, "module"),
		"\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|"
		"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd");
	assert_true(number_at(out, "offset") == UINT64_MAX);
	json_object_put(root);
}

static void formats(void **state)
{
	(void)state;
	assert_null(export_find_format("xml"));
	assert_null(export_find_format(""));
	for (size_t i = 0; export_format_at(i); i++)
		assert_ptr_equal(export_find_format(export_format_at(i)->name),
				 export_format_at(i));
	assert_non_null(export_format_at(1));
}

/* Native frames have no kind; what is no code has no offsets. */
static void kinds(void **state)
{
	const struct export_options verbose = {.verbose = true};
	const struct frame python =
		frame_managed(FRAME_KIND_PYTHON, "Shop.sell", "/srv/shop.py", 12);
	const struct frame jit = {
		.kind = FRAME_KIND_JIT, .function = "f", .offset = 3, .module_offset = 0x7000};
	const struct frame *const frames[] = {&sample_malloc, &python, &jit};
	struct stack stack = {.id = 1, .live = {1, 1}, .frames = frames, .frame_count = 3};
	struct snapshot s = sample_snapshot();
	_cleanup_free_ char *text = NULL;
	struct json_object *object, *list, *frame;

	(void)state;
	s.stacks = &stack;
	s.stack_count = 1;
	text = sample_export("json", &verbose, &s, 1);
	object = parse_line(text);
	list = at(json_object_array_get_idx(at(object, "stacks"), 0), "frames");
	assert_false(has(json_object_array_get_idx(list, 0), "kind"));
	frame = json_object_array_get_idx(list, 1);
	assert_string_equal(string_at(frame, "kind"), "python");
	assert_string_equal(string_at(frame, "module"), "shop.py");
	assert_string_equal(string_at(frame, "module_path"), "/srv/shop.py");
	assert_string_equal(string_at(frame, "file"), "/srv/shop.py");
	assert_int_equal(number_at(frame, "line"), 12);
	assert_false(has(frame, "offset"));
	assert_false(has(frame, "module_offset"));
	frame = json_object_array_get_idx(list, 2);
	assert_string_equal(string_at(frame, "kind"), "jit");
	assert_int_equal(number_at(frame, "offset"), 3);
	assert_int_equal(number_at(frame, "module_offset"), 0x7000);
	json_object_put(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usual),      cmocka_unit_test(kinds),
		cmocka_unit_test(everything), cmocka_unit_test(became_another_program),
		cmocka_unit_test(contract),   cmocka_unit_test(unknown_left_out),
		cmocka_unit_test(no_stacks),  cmocka_unit_test(hostile_names),
		cmocka_unit_test(formats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

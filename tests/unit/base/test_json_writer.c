// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/base/json_writer.h"
#include "user/base/util.h"

/* A document in the making, and what it came to. */
struct made {
	struct json json;
	char *text;
	size_t len;
};

static struct json *begin(struct made *made, enum json_place place)
{
	FILE *out = open_memstream(&made->text, &made->len);

	assert_non_null(out);
	json_begin(&made->json, out, place);
	return &made->json;
}

static void is(struct made *made, const char *expected)
{
	assert_int_equal(close_memstream(made->json.out), 0);
	assert_string_equal(made->text, expected);
	free(made->text);
}

static void structure(void **state)
{
	struct made made = {0};
	struct json *to = begin(&made, JSON_ALONE);

	(void)state;
	json_object(to, NULL);
	json_array(to, "empty");
	json_end(to);
	json_object(to, "none");
	json_end(to);
	json_array(to, "list");
	json_number(to, NULL, 1);
	json_array(to, NULL);
	json_bool(to, NULL, true);
	json_end(to);
	json_null(to, NULL);
	json_end(to);
	json_text(to, "missing", NULL);
	json_bool(to, "last", false);
	json_end(to);
	is(&made, "{\"empty\":[],\"none\":{},\"list\":[1,[true],null],\"last\":false}");
}

static void lines(void **state)
{
	struct made made = {0};
	struct json *to = begin(&made, JSON_ALONE);

	(void)state;
	json_array(to, NULL);
	json_line(to);
	json_number(to, NULL, 1);
	json_number(to, NULL, 2);
	json_line(to);
	json_number(to, NULL, 3);
	json_end(to);
	is(&made, "[\n1,2,\n3]");
}

static void numbers(void **state)
{
	struct made made = {0};
	struct json *to = begin(&made, JSON_ALONE);

	(void)state;
	json_array(to, NULL);
	json_number(to, NULL, 0);
	json_number(to, NULL, UINT64_MAX);
	json_signed(to, NULL, INT64_MIN);
	json_signed(to, NULL, INT64_MAX);
	json_signed(to, NULL, -1);
	json_double(to, NULL, 0);
	json_double(to, NULL, -3);
	json_double(to, NULL, 0.1);
	json_double(to, NULL, 1e300);
	json_double(to, NULL, NAN);
	json_double(to, NULL, -INFINITY);
	json_fixed(to, NULL, 2.25, 1);
	json_fixed(to, NULL, -0.5, 3);
	json_fixed(to, NULL, INFINITY, 1);
	json_end(to);
	is(&made, "[0,18446744073709551615,-9223372036854775808,9223372036854775807,-1,0.0,-3.0,"
		  "0.10000000000000001,1.0000000000000001e+300,NaN,-Infinity,2.2,-0.500,Infinity]");
}

static void strings(void **state)
{
	static const char text[] = "a\"\\/\b\f\n\r\t\x01\x7f</script>\xc3\xbc\xff\xed\xa0\x80";
	struct made made = {0};
	struct json *to = begin(&made, JSON_ALONE);

	(void)state;
	json_text(to, NULL, text);
	is(&made, "\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u007f</script>\xc3\xbc"
		  "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	to = begin(&made, JSON_IN_PAGE);
	json_text(to, NULL, text);
	is(&made, "\"a\\u0022\\u005c/\\u0008\\u000c\\u000a\\u000d\\u0009\\u0001\\u007f"
		  "\\u003c/script>\xc3\xbc\\ufffd\\ufffd\\ufffd\\ufffd\"");
	to = begin(&made, JSON_ALONE);
	json_object(to, NULL);
	json_text_part(to, "part", "one\ntwo", 3);
	json_hex(to, "hex", "\x00\xab", 2);
	json_end(to);
	is(&made, "{\"part\":\"one\",\"hex\":\"00ab\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(structure),
		cmocka_unit_test(lines),
		cmocka_unit_test(numbers),
		cmocka_unit_test(strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

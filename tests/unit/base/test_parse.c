// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/base/parse.h"
#include "user/base/util.h"

#define UNTOUCHED 0xabcdefULL

struct number_case {
	const char *text;
	uint64_t value;
};

static void check_good(int (*parse)(const char *, uint64_t *), const struct number_case *cases,
		       size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value = UNTOUCHED;

		if (parse(cases[i].text, &value) || value != cases[i].value)
			fail_msg("'%s' gave %llu instead of %llu", cases[i].text,
				 (unsigned long long)value, (unsigned long long)cases[i].value);
	}
}

static void check_bad(int (*parse)(const char *, uint64_t *), const char *const *texts,
		      size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value = UNTOUCHED;

		if (parse(texts[i], &value) != -EINVAL || value != UNTOUCHED)
			fail_msg("'%s' was taken as %llu", texts[i], (unsigned long long)value);
	}
}

static void durations(void **state)
{
	static const struct number_case good[] = {
		{"10", 10000000000ULL},
		{"500ms", 500000000ULL},
		{"2s", 2000000000ULL},
		{"5m", 300000000000ULL},
		{"1h", 3600000000000ULL},
		{"0.5", 500000000ULL},
		{"1.25s", 1250000000ULL},
		{"0.000000001", 1},
		{"0.999999999h", 3599999996400ULL},
		{"007", 7000000000ULL},
		{"18446744073", 18446744073000000000ULL},
		{"18446744073.709551615", UINT64_MAX},
		{"18446744073709ms", 18446744073709000000ULL},
		{"5124095h", 18446742000000000000ULL},
	};
	static const char *const bad[] = {
		"",
		"0",
		"0s",
		"0ms",
		"0.0",
		"-1",
		"+1",
		" 1",
		"1 ",
		"1 s",
		"abc",
		"s",
		"ms",
		"1x",
		"1S",
		"1sec",
		"1ms2",
		"1.",
		".5",
		"1..2",
		"1.2.3",
		"1e3",
		"0x10",
		"1,5",
		"inf",
		"nan",
		"1m30s",
		"\n1",
		"１",
		"0.0000000001",
		"0.0000001ms",
		"18446744074",
		"18446744073.709551616",
		"18446744073710ms",
		"5124096h",
		"99999999999999999999",
		"1.0000000000",
	};

	(void)state;
	check_good(parse_duration, good, ARRAY_SIZE(good));
	check_bad(parse_duration, bad, ARRAY_SIZE(bad));
}

static void sizes(void **state)
{
	static const struct number_case good[] = {
		{"0", 0},
		{"4096", 4096},
		{"64k", 65536},
		{"64K", 65536},
		{"64KiB", 65536},
		{"64kB", 65536},
		{"1M", 1048576},
		{"1G", 1073741824},
		{"2t", 2199023255552ULL},
		{"0k", 0},
		{"18446744073709551615", UINT64_MAX},
		{"18014398509481983k", 18446744073709550592ULL},
		{"17179869183G", 18446744072635809792ULL},
	};
	static const char *const bad[] = {
		"",
		"-1",
		"+1",
		"k",
		"1 k",
		"1x",
		"1kk",
		"1KiBs",
		"1Ki",
		"1b",
		"1B",
		"1.5k",
		"0x1000",
		"4096 ",
		" 4096",
		"1\v",
		"1;",
		"18446744073709551616",
		"18014398509481984k",
		"17179869184G",
		"999999999999999999999999999",
		"\xc3\xab",
		"1\xcb",
	};

	(void)state;
	check_good(parse_size, good, ARRAY_SIZE(good));
	check_bad(parse_size, bad, ARRAY_SIZE(bad));
}

static void counts(void **state)
{
	uint64_t value = UNTOUCHED;

	(void)state;
	assert_int_equal(parse_count("2", 2, 128, &value), 0);
	assert_int_equal(value, 2);
	assert_int_equal(parse_count("128", 2, 128, &value), 0);
	assert_int_equal(value, 128);
	assert_int_equal(parse_count("18446744073709551615", 0, UINT64_MAX, &value), 0);
	assert_true(value == UINT64_MAX);
	value = UNTOUCHED;
	assert_int_equal(parse_count("1", 2, 128, &value), -EINVAL);
	assert_int_equal(parse_count("129", 2, 128, &value), -EINVAL);
	assert_int_equal(parse_count("18446744073709551616", 0, UINT64_MAX, &value), -EINVAL);
	assert_int_equal(parse_count("", 0, 9, &value), -EINVAL);
	assert_int_equal(parse_count("5k", 0, 9, &value), -EINVAL);
	assert_int_equal(parse_count("-5", 0, 9, &value), -EINVAL);
	assert_int_equal(value, UNTOUCHED);
}

static void pid_lists(void **state)
{
	static const char *const bad[] = {
		"",    ",",    "1,",  ",1",  "1,,2", "0",	   "-1",
		"1 2", "1, 2", "abc", "12x", "1;2",  "2147483648", "99999999999999999999999",
		"1,0",
	};
	_cleanup_free_ pid_t *pids = NULL;
	size_t count = 0;

	(void)state;
	assert_int_equal(parse_pids("12", &pids, &count), 0);
	assert_int_equal(parse_pids("34,12,2147483647", &pids, &count), 0);
	assert_int_equal(count, 3);
	assert_int_equal(pids[0], 12);
	assert_int_equal(pids[1], 34);
	assert_int_equal(pids[2], INT_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_free_ pid_t *more = NULL;
		size_t more_count = 0;

		if (parse_pids(bad[i], &more, &more_count) != -EINVAL)
			fail_msg("'%s' was taken as a list of PIDs", bad[i]);
	}
}

static void bytes_for_people(void **state)
{
	static const struct number_case cases[] = {
		{"0 B", 0},
		{"1 B", 1},
		{"1023 B", 1023},
		{"1.0 KiB", 1024},
		{"1.5 KiB", 1536},
		{"1.3 MiB", 1363149},
		{"1.0 MiB", 1048575}, /* not "1024.0 KiB" */
		{"1.0 GiB", 1073741823},
		{"16.0 EiB", UINT64_MAX},
	};
	char buf[FORMAT_BYTES_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(format_bytes(buf, cases[i].value), cases[i].text);
	assert_string_equal(format_bytes_signed(buf, 0), "0 B");
	assert_string_equal(format_bytes_signed(buf, 2048), "+2.0 KiB");
	assert_string_equal(format_bytes_signed(buf, -12), "-12 B");
	assert_string_equal(format_bytes_signed(buf, INT64_MIN), "-8.0 EiB");
	assert_string_equal(format_bytes_signed(buf, INT64_MAX), "+8.0 EiB");
	assert_string_equal(format_bytes_short(buf, 512), "512");
	assert_string_equal(format_bytes_short(buf, 2560), "2.5K");
	assert_string_equal(format_bytes_short(buf, 100.0 * (1 << 20)), "100M");
	assert_string_equal(format_bytes_short_signed(buf, 0.4), "0");
	assert_string_equal(format_bytes_short_signed(buf, -2560), "-2.5K");
	assert_string_equal(format_bytes_short_signed(buf, 1.25 * (1 << 30)), "+1.2G");
}

static void durations_for_people(void **state)
{
	static const struct number_case cases[] = {
		{"0 ms", 999999},
		{"12 ms", 12000000},
		{"999 ms", 999999999},
		{"1.0 s", 1000000000},
		{"9.9 s", 9999999999ULL},
		{"10 s", 10000000000ULL},
		{"59 s", 59999999999ULL},
		{"1m00s", 60000000000ULL},
		{"59m59s", 3599000000000ULL},
		{"1h00m", 3600000000000ULL},
		{"23h59m", 86399000000000ULL},
		{"4d02h", 352800000000000ULL},
		{"213503d23h", UINT64_MAX},
	};
	char buf[FORMAT_DURATION_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(format_duration(buf, cases[i].value), cases[i].text);
}

static void grouped_numbers(void **state)
{
	static const struct number_case cases[] = {
		{"0", 0},
		{"999", 999},
		{"1,000", 1000},
		{"12,345", 12345},
		{"123,456", 123456},
		{"1,234,567", 1234567},
		{"18,446,744,073,709,551,615", UINT64_MAX},
	};
	char buf[FORMAT_GROUPED_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(format_grouped(buf, cases[i].value), cases[i].text);
}

static void hexadecimal_digits(void **state)
{
	static const uint8_t bytes[] = {0x00, 0xff, 0x1a};
	char buf[8], small[6];

	(void)state;
	assert_string_equal(format_hex(buf, sizeof(buf), bytes, 3), "00ff1a");
	assert_string_equal(format_hex(small, sizeof(small), bytes, 3), "00ff");
	assert_string_equal(format_hex(buf, sizeof(buf), NULL, 0), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations),	    cmocka_unit_test(sizes),
		cmocka_unit_test(counts),	    cmocka_unit_test(pid_lists),
		cmocka_unit_test(bytes_for_people), cmocka_unit_test(durations_for_people),
		cmocka_unit_test(grouped_numbers),  cmocka_unit_test(hexadecimal_digits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

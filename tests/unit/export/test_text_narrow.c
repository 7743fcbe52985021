// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* -f text on terminals: what is folded and shortened, --short, and the table of several processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/sample_snapshot.h"
#include "user/base/text.h"
#include "user/base/util.h"

#define SHOP .module = "shop-frontend-server", .module_path = "/srv/shop"

static const struct frame narrow_frames[] = {
	{.function = "malloc",
	 .module = "libc.so.6",
	 .file = "./malloc/./malloc/malloc.c",
	 .line = 3287},
	{.function = "operator new(unsigned long)",
	 .module = "libstdc++.so.6.0.30",
	 .offset = 0x1c},
	{.function = "std::__new_allocator<std::pair<int const, shop::Order> >::allocate(unsigned "
		     "long, "
		     "void const*)",
	 .file = "/usr/include/c++/12/bits/new_allocator.h",
	 .line = 137,
	 .inlined = true,
	 SHOP},
	{.function = "void std::vector<shop::Order, std::allocator<shop::Order> "
		     ">::_M_realloc_insert<shop::"
		     "Order const&>(__gnu_cxx::__normal_iterator<shop::Order*, "
		     "std::vector<shop::Order, "
		     "std::allocator<shop::Order> > >, shop::Order const&)",
	 .file = "/usr/include/c++/12/bits/vector.tcc",
	 .line = 453,
	 .offset = 0x6f,
	 SHOP},
	{.function = "shop::Basket<shop::Order, 16ul>::put(std::__cxx11::basic_string<char, "
		     "std::char_traits<char>, std::allocator<char> > const&, shop::Order const&)",
	 .file = "../src/frontend/handlers/basket/implementation/basket.hpp",
	 .line = 88,
	 .offset = 0x14,
	 SHOP},
	{.function = "shop::serve(int)",
	 .file = "/home/ci/build/shop/src/frontend/serve.cpp",
	 .line = 31,
	 SHOP},
	/* Of no known file: its parameters go before it is broken. */
	{.function = "shop::wire::Channel::dispatch_to_handler(shop::wire::Message const&, "
		     "shop::wire::Peer*)",
	 .offset = 0x82,
	 SHOP},
	/* Beside a long file name the gap goes first. */
	{.function = "shop::turn",
	 .file = "/home/ci/build/shop/src/a_long_name_of_a_file.cpp",
	 .line = 1280,
	 .inlined = true,
	 SHOP},
	{.offset = 0x123456789a, .module_offset = 0x123456789a},
	{.function = "main", .file = "src/main.cpp", .line = 9, .offset = 0x6a, SHOP},
	{.function = "__libc_start_call_main", .module = "libc.so.6", .offset = 0x7a},
	{.function = "_start", .offset = 0x21, SHOP},
};

static const struct frame *narrow_list[ARRAY_SIZE(narrow_frames)];
static struct stack narrow_stacks[1];

static struct snapshot narrow_snapshot(void)
{
	struct snapshot s = sample_snapshot();

	for (size_t i = 0; i < ARRAY_SIZE(narrow_frames); i++)
		narrow_list[i] = &narrow_frames[i];
	narrow_stacks[0] = sample_stacks[0];
	narrow_stacks[0].frames = narrow_list;
	narrow_stacks[0].frame_count = ARRAY_SIZE(narrow_frames);
	s.stacks = narrow_stacks;
	s.stack_count = 1;
	return s;
}

/* Every line has at most so many characters. */
static void assert_fits(const char *text, size_t width)
{
	_cleanup_free_ char *copy = strdup(text);
	char *rest = copy, *line;

	while ((line = strsep(&rest, "\n")) != NULL) {
		if (text_put_name(NULL, line) > width)
			fail_msg("wider than %zu: %s", width, line);
	}
}

static void stacks(void **state)
{
	static const size_t widths[] = {60, 72, 80, 100, 132, 200};
	struct snapshot s = narrow_snapshot();
	struct export_options options = {.width = 80};
	_cleanup_free_ char *at_80 = sample_export("text", &options, &s, 1);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(widths); i++) {
		_cleanup_free_ char *text = NULL;

		options.width = widths[i];
		text = sample_export("text", &options, &s, 1);
		assert_fits(text, widths[i]);
	}
	assert_true(sample_matches("text-narrow.txt", at_80));
}

static void verbose(void **state)
{
	struct snapshot s = narrow_snapshot();
	const struct export_options options = {.verbose = true};
	_cleanup_free_ char *text = sample_export("text", &options, &s, 1);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(narrow_frames); i++) {
		if (narrow_frames[i].function)
			assert_non_null(strstr(text, narrow_frames[i].function));
	}
}

static void brief(void **state)
{
	struct snapshot s = narrow_snapshot(), usual = sample_snapshot();
	struct export_options options = {.brief = true, .width = 80};
	_cleanup_free_ char *text = sample_export("text", &options, &s, 1), *wide = NULL,
			    *unnamed = sample_export("text", &options, &usual, 2);

	(void)state;
	assert_fits(text, 80);
	assert_non_null(strstr(
		text,
		"#1     1.3 MiB    1,024           -  shop::Basket<..>::put(..)  basket.hpp:88\n"));
	assert_null(strstr(text, "main"));
	assert_fits(unnamed, 80);
	assert_non_null(
		strstr(unnamed, "#2     4.0 KiB        1           -  libssl.so.3+0x3a210\n"));
	options.width = 0;
	wide = sample_export("text", &options, &s, 1);
	/* With room for them its callers follow, but not what stands between. */
	assert_non_null(
		strstr(wide, "shop::Basket<..>::put(..)  basket.hpp:88 < shop::serve(..) < "
			     "shop::wire::Channel::dispatch_to_handler(..) < shop::turn < main\n"));
}

/* Names as long as a target's symbols and debug information may have them. */
static void brief_long_names(void **state)
{
	char function[4096], file[4096];
	const struct frame frame = {.function = function, .file = file, .line = 1, SHOP};
	const struct frame *frames[] = {&narrow_frames[0], &frame};
	struct snapshot s = narrow_snapshot();
	const struct export_options options = {.brief = true};
	_cleanup_free_ char *text = NULL;

	(void)state;
	memset(function, 'f', sizeof(function) - 1);
	memset(file, 'g', sizeof(file) - 1);
	function[sizeof(function) - 1] = file[sizeof(file) - 1] = '\0';
	narrow_stacks[0].frames = frames;
	narrow_stacks[0].frame_count = ARRAY_SIZE(frames);
	text = sample_export("text", &options, &s, 1);
	assert_non_null(strstr(text, function));
	assert_non_null(strstr(text, "f  ggg"));
}

/* Three processes of which one has not changed, and one alone. */
static char *round_of(const struct export_options *options, size_t count)
{
	const struct exporter_format *format = export_find_format("text");
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	struct exporter *e = format->open(out, options);

	assert_int_equal(format->round(e, true), 0);
	for (size_t i = 0; i < count; i++) {
		struct snapshot s = narrow_snapshot();
		struct report *r;
		const struct stack *shown[] = {&s.stacks[0]};

		s.pid = 1000 + (pid_t)i;
		s.live.bytes = (i + 1) * 4096;
		r = sample_report(&s);
		r->delta_bytes = i == 1 ? 0 : 4096;
		r->delta_count = i == 1 ? 0 : 1;
		assert_int_equal(format->snapshot(e, r, shown, 1), 0);
		report_drop(r);
	}
	assert_int_equal(ftell(out), 0);
	assert_int_equal(format->round(e, false), 0);
	assert_int_equal(format->close(e), 0);
	fclose(out);
	return text;
}

static void rounds(void **state)
{
	struct export_options options = {.width = 80};
	_cleanup_free_ char *several = round_of(&options, 3), *one = round_of(&options, 1),
			    *none = round_of(&options, 0), *all = NULL;

	(void)state;
	assert_fits(several, 80);
	assert_true(sample_matches("text-several.txt", several));
	assert_null(strstr(several, "PID 1001 (shop)"));
	assert_null(strstr(one, "MOST IN"));
	assert_non_null(strstr(one, "PID 1000 (shop)"));
	assert_string_equal(none, "");
	options.verbose = true;
	all = round_of(&options, 3);
	assert_non_null(strstr(all, "PID 1001 (shop)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks), cmocka_unit_test(verbose),
		cmocka_unit_test(brief),  cmocka_unit_test(brief_long_names),
		cmocka_unit_test(rounds),
	};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

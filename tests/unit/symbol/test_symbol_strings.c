// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Demangling, cleaning of strings, and the index of overlapping ranges against a plain search. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/symbol/intern.h"
#include "user/symbol/ranges.h"
#include "user/symbol/symbol.h"

static void demangled_names(void **state)
{
	static const struct {
		const char *mangled, *plain;
	} names[] = {
		{"_ZN3foo3barEi", "foo::bar(int)"},
		{"_Znwm", "operator new(unsigned long)"},
		{"_ZN3foo3barEi.part.0", "foo::bar(int) [clone .part.0]"},
		{"_ZNSt6vectorIiSaIiEE9push_backERKi",
		 "std::vector<int, std::allocator<int> >::push_back(int const&)"},
		/* Rust's legacy mangling: the hash is dropped. */
		{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"},
		{"_ZN60_$LT$alloc..string..String$u20$as$u20$core..fmt..Display$GT$"
		 "3fmt17h0a1b2c3d4e5f6789E",
		 "<alloc::string::String as core::fmt::Display>::fmt"},
		/* Rust's v0 mangling; the examples of RFC 2603. */
		{"_RNvC6_123foo3bar", "123foo::bar"},
		{"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"},
		/* hashes that look like a binder, of the crate and of another; a binder; where it is made */
		{"_RNvCs6UXsk7lGUVK_4tiny7keep_it", "tiny::keep_it"},
		{"_RNvNtCsjrHSEGnQ3l9_3std2rt19lang_start_internal",
		 "std::rt::lang_start_internal"},
		{"_RNvNtCsjrHSFGnQ3l9_3std2rt19lang_start_internal",
		 "std::rt::lang_start_internal"},
		{"_RINvCsDG123_1a1fNtB2_1SE", "a::f::<a::S>"},
		{"_RINvC1a1fFG0_RL1_hRL0_tEuE", "a::f::<for<'a, 'b> fn(&'a u8, &'b u16)>"},
		{"_RINvC1a11FGray_xxxxxhECsFGabcd_1b", "a::FGray_xxxxx::<u8>"},
		/* one that is hidden in an identifier, and what leads there */
		{"_RINvC1a10FGZZZZZ_uEB7_E", NULL},
		{"_RINvC1a2CsFGZZZZZ_EuE", NULL},
		{"malloc", NULL},
		{"", NULL},
		{"_", NULL},
		{"_Z", NULL},
		{"_R", NULL},
		/* a binder of more lifetimes than can be counted: it used to take forever */
		{"_RNvMsr_NRNvMsr_NtC3dpt4sFFFFFFFFFGFFFFFFtC3dpt4sFFFFFFFFFFGFFFFFFNt_7", NULL},
		{"_RNvC1aGFFFF_", NULL},
		{"_ZN3foo", NULL},
		{"_Zomfg_not_mangled", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *plain = symbol_demangle(names[i].mangled);

		if (names[i].plain) {
			assert_non_null(plain);
			assert_string_equal(plain, names[i].plain);
		} else {
			assert_null(plain);
		}
	}
}

/* f(A, B, C, ...) where B is pair<A, A>, C is pair<B, B> and so on: 2^30 words from 200 bytes. */
static void demangling_bomb_is_cut(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[1024] = "_Z1fSt4pairIiiE";
	_cleanup_free_ char *plain = NULL;

	(void)state;
	for (int depth = 0; depth < 30; depth++) {
		size_t used = strlen(name);

		snprintf(name + used, sizeof(name) - used, "S_IS%c_S%c_E", digits[depth],
			 digits[depth]);
	}
	plain = symbol_demangle(name);
	assert_non_null(plain);
	assert_int_equal(strlen(plain), 4003);
	assert_memory_equal(plain, "f(std::pair<int, int>, std::pair<std::pair<int, int>,", 52);
}

static void long_and_deep_names(void **state)
{
	enum { LENGTH = 1 << 20 };
	char *name = malloc(LENGTH + 1);
	char *plain;

	(void)state;
	assert_non_null(name);
	memset(name, 'P', LENGTH); /* pointer to pointer to … */
	memcpy(name, "_Z1f", 4);
	name[LENGTH] = '\0';
	assert_null(symbol_demangle(name));
	strcpy(name + 1000, "i");
	plain = symbol_demangle(name);
	if (plain)
		assert_true(strlen(plain) <= 4003);
	free(plain);
	free(name);
}

static void long_result_is_cut(void **state)
{
	char name[2048];
	char *plain;
	size_t used = (size_t)snprintf(name, sizeof(name), "_Z1fSt6vectorINSt3mapISsSsEEE");

	(void)state;
	while (used < 900)
		used += (size_t)snprintf(name + used, sizeof(name) - used, "S2_");
	plain = symbol_demangle(name);
	assert_non_null(plain);
	assert_int_equal(strlen(plain), 4003);
	assert_string_equal(plain + 4000, "...");
	free(plain);
}

static void interned_once(void **state)
{
	struct intern_pool *pool = intern_pool_new();
	const char *one;

	(void)state;
	assert_non_null(pool);
	one = intern(pool, "name");
	assert_string_equal(one, "name");
	assert_ptr_equal(one, intern_bytes(pool, "names", 4));
	assert_ptr_not_equal(one, intern(pool, "names"));
	for (int i = 0; i < 10000; i++) {
		char text[32];

		snprintf(text, sizeof(text), "f%d", i);
		assert_string_equal(intern(pool, text), text);
	}
	assert_ptr_equal(one, intern(pool, "name"));
	intern_pool_free(pool);
}

static void cleaned_strings(void **state)
{
	static const struct {
		const char *raw, *clean;
	} texts[] = {
		{"a\nb\tc\x1b[31m", "a?b?c?[31m"},
		{"\x7f", "?"},
		{"\xc2\x9b"
		 "31m",
		 "?31m"}, /* C1: CSI in one character */
		{"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
		{"\xe2\x82\xac \xf0\x9f\x98\x80", "\xe2\x82\xac \xf0\x9f\x98\x80"},
		{"\xff\xfe", "??"},
		{"\xc0\x80", "??"},	      /* overlong */
		{"\xe0\x80\x80", "???"},      /* overlong */
		{"\xed\xa0\x80", "???"},      /* a surrogate */
		{"\xf4\x90\x80\x80", "????"}, /* above U+10FFFF */
		{"x\xe2\x82", "x??"},	      /* cut */
		{"", ""},
	};
	struct intern_pool *pool = intern_pool_new();
	char long_text[3 * INTERN_MAX + 1];
	const char *cut;

	(void)state;
	assert_non_null(pool);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_string_equal(intern(pool, texts[i].raw), texts[i].clean);
	/* Cut at a character, not in it: 4095 is no multiple of 2. */
	for (size_t i = 0; i < sizeof(long_text) - 1; i += 2)
		memcpy(long_text + i, "\xc3\xbc", 2);
	long_text[sizeof(long_text) - 1] = '\0';
	cut = intern(pool, long_text);
	assert_int_equal(strlen(cut), INTERN_MAX - 2);
	assert_memory_equal(cut + INTERN_MAX - 4, "\xc3\xbc", 3);
	intern_pool_free(pool);
}

static uint32_t plain_search(const struct range *ranges, size_t count, uint64_t address)
{
	for (size_t i = 0; i < count; i++)
		if (ranges[i].start <= address && address < ranges[i].end)
			return (uint32_t)i;
	return RANGE_NONE;
}

static void ranges_as_a_plain_search(void **state)
{
	struct range ranges[40];
	struct range_index index;
	unsigned int seed = 1;

	(void)state;
	for (int round = 0; round < 500; round++) {
		size_t count = (size_t)rand_r(&seed) % (ARRAY_SIZE(ranges) + 1);

		for (size_t i = 0; i < count; i++) {
			ranges[i].start = (uint64_t)rand_r(&seed) % 100;
			ranges[i].end = ranges[i].start + (uint64_t)rand_r(&seed) % 20;
			if (rand_r(&seed) % 16 == 0)
				ranges[i].end = UINT64_MAX;
			if (rand_r(&seed) % 16 == 0)
				ranges[i].end = 0;
		}
		assert_int_equal(range_index_build(&index, ranges, count), 0);
		for (uint64_t address = 0; address < 130; address++)
			assert_int_equal(range_index_find(&index, address),
					 plain_search(ranges, count, address));
		assert_int_equal(range_index_find(&index, UINT64_MAX), RANGE_NONE);
		assert_int_equal(range_index_find(&index, UINT64_MAX - 1),
				 plain_search(ranges, count, UINT64_MAX - 1));
		range_index_release(&index);
		assert_int_equal(range_index_find(&index, 1), RANGE_NONE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(demangled_names),
		cmocka_unit_test(demangling_bomb_is_cut),
		cmocka_unit_test(long_and_deep_names),
		cmocka_unit_test(long_result_is_cut),
		cmocka_unit_test(interned_once),
		cmocka_unit_test(cleaned_strings),
		cmocka_unit_test(ranges_as_a_plain_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

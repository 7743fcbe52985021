// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Names of C++ and Rust for people, and which frame of a stack stands for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "user/base/util.h"
#include "user/model/frame.h"
#include "user/model/function_name.h"

static void assert_folded(const char *name, const char *folded, const char *cut)
{
	char buf[FUNCTION_NAME_MAX];

	assert_string_equal(function_name_fold(buf, name), folded);
	assert_string_equal(function_name_cut(buf, name), cut);
}

static void folds(void **state)
{
	(void)state;
	assert_folded("main", "main", "main");
	assert_folded("f()", "f()", "f()");
	assert_folded("shop::Archive::keep(char const*)", "shop::Archive::keep(char const*)",
		      "shop::Archive::keep(..)");
	assert_folded("void std::vector<int, std::allocator<int> >::push_back<int>(int&&)",
		      "std::vector<..>::push_back<..>(int&&)",
		      "std::vector<..>::push_back<..>(..)");
	assert_folded("shop::keep(std::__cxx11::basic_string<char, std::char_traits<char>, "
		      "std::allocator<char> > const&)",
		      "shop::keep(std::string const&)", "shop::keep(..)");
	assert_folded("std::map<int, std::pair<a::b, c> >::operator[](int const&)",
		      "std::map<..>::operator[](int const&)", "std::map<..>::operator[](..)");
	assert_folded("operator new(unsigned long)", "operator new(unsigned long)",
		      "operator new(..)");
	assert_folded("bool operator< <int>(A<int> const&, int)",
		      "operator< <..>(A<..> const&, int)", "operator< <..>(..)");
	assert_folded("std::ostream& std::operator<< <char>(std::ostream&, char)",
		      "std::operator<< <..>(std::ostream&, char)", "std::operator<< <..>(..)");
	assert_folded("T::operator->()", "T::operator->()", "T::operator->()");
	assert_folded("std::__cxx11::basic_string<char, std::char_traits<char>, "
		      "std::allocator<char> > std::operator+<char, std::char_traits<char>, "
		      "std::allocator<char> >(char const*, char)",
		      "std::operator+<..>(char const*, char)", "std::operator+<..>(..)");
	assert_folded("bool operator==<int>(A<int> const&, int)",
		      "operator==<..>(A<..> const&, int)", "operator==<..>(..)");
	assert_folded("int operator-<int>(A<int>)", "operator-<..>(A<..>)", "operator-<..>(..)");
	assert_folded("int operator-><int>()", "operator-><..>()", "operator-><..>()");
	assert_folded("A<int>& A<int>::operator=<long>(A<long>&&)", "A<..>::operator=<..>(A<..>&&)",
		      "A<..>::operator=<..>(..)");
	assert_folded("void f()::{lambda(auto:1)#1}::operator()<int>(int) const",
		      "f()::{lambda(auto:1)#1}::operator()<..>(int) const",
		      "f()::{lambda(auto:1)#1}::operator()<..>(int) const");
	assert_folded("(anonymous namespace)::f(int)", "(anonymous namespace)::f(int)",
		      "(anonymous namespace)::f(..)");
	assert_folded("main::{lambda(int)#1}::operator()(int) const",
		      "main::{lambda(int)#1}::operator()(int) const",
		      "main::{lambda(int)#1}::operator()(..)");
	assert_folded("shop::fill[abi:cxx11](int)", "shop::fill(int)", "shop::fill(..)");
	/* Rust */
	assert_folded("alloc::vec::Vec<T,A>::push", "alloc::vec::Vec<..>::push",
		      "alloc::vec::Vec<..>::push");
	assert_folded("<alloc::vec::Vec<shop::Item> as core::fmt::Debug>::fmt",
		      "<alloc::vec::Vec<..> as core::fmt::Debug>::fmt",
		      "<alloc::vec::Vec<..> as core::fmt::Debug>::fmt");
	assert_folded("f [clone .cold]", "f [clone .cold]", "f [clone .cold]");
	/* What is no such name stays. */
	assert_folded("a<b", "a<b", "a<b");
	assert_folded("a>b<", "a>b<", "a>b<");
	assert_folded("", "", "");
	assert_folded("(", "(", "(");
	assert_folded("<", "<", "<");
	assert_folded("operator", "operator", "operator");
	assert_folded("a(b", "a(b", "a(b");
}

static void assert_within(const char *line, const char *folded)
{
	char buf[FUNCTION_NAME_MAX];

	assert_string_equal(function_name_fold_within(buf, line), folded);
}

/* Names among words, and what is no name's: brackets behind a blank begin one. */
static void folds_within_lines(void **state)
{
	(void)state;
	assert_within(
		"a block of 16 B from svc::Keeper<std::pair<long, int> >::add(A<int>&), 5 times",
		"a block of 16 B from svc::Keeper<..>::add(A<..>&), 5 times");
	assert_within(
		"svc::Cache<std::__cxx11::basic_string<char>, int>::it()::c[abi:cxx11]+0x10 (cx)",
		"svc::Cache<..>::it()::c+0x10 (cx)");
	/* Of what can be recorded: nothing behind. */
	assert_within("std::__ndk1::", "std::");
	assert_within("a block of 16 B from <module>", "a block of 16 B from <module>");
	assert_within("a block of 16 B from f.<locals>.<lambda>",
		      "a block of 16 B from f.<locals>.<lambda>");
	assert_within("main at a<b.c:3", "main at a<b.c:3");
}

static void keeps_its_bounds(void **state)
{
	char name[2 * FUNCTION_NAME_MAX], buf[FUNCTION_NAME_MAX];

	(void)state;
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(strlen(function_name_fold(buf, name)), FUNCTION_NAME_MAX - 1);
	name[FUNCTION_NAME_MAX - 4] = '(';
	assert_true(strlen(function_name_cut(buf, name)) < FUNCTION_NAME_MAX);
	memset(name, '<', sizeof(name) - 1);
	assert_true(strlen(function_name_cut(buf, name)) < FUNCTION_NAME_MAX);
}

static void scopes(void **state)
{
	(void)state;
	assert_int_equal(function_name_scope("void std::sort<int*>(int*, int*)"), 5);
	assert_int_equal(function_name_scope("std::pair<a, b> f<a, b>(a, b)"), 16);
	assert_int_equal(function_name_scope("operator new(unsigned long)"), 0);
	assert_int_equal(function_name_scope("main"), 0);
	assert_int_equal(function_name_scope("A::operator bool() const"), 0);
	assert_int_equal(function_name_length("std::sort<f(int)>(int*, int*)"), 17);
}

/* Names are a stranger's: the time is by the length, not by its square, which takes a minute here. */
static void opened_only(void **state)
{
	const size_t len = 64 << 10;
	char *name = malloc(len + 1);
	clock_t before = clock();

	(void)state;
	assert_non_null(name);
	memset(name, '<', len);
	name[0] = 'a';
	name[len] = '\0';
	assert_int_equal(function_name_length(name), len);
	assert_true(clock() - before < 5 * CLOCKS_PER_SEC);
	free(name);
	/* As of a name that was cut. */
	assert_int_equal(function_name_length("map<pair<f(int)>, vector<g(int)>"), 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folds),
		cmocka_unit_test(folds_within_lines),
		cmocka_unit_test(keeps_its_bounds),
		cmocka_unit_test(scopes),
		cmocka_unit_test(opened_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

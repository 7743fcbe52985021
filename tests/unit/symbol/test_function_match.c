// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/symbol/function_match.h"

/* What the symbol is shown as if the pattern means it, else NULL. */
static char *shown_of(const char *pattern, const char *symbol)
{
	struct function_pattern *p = function_pattern_new(pattern);
	char *shown = NULL;

	assert_non_null(p);
	if (!function_matches(p, symbol, strlen(symbol), &shown))
		assert_null(shown);
	function_pattern_free(p);
	return shown;
}

static void check(const char *pattern, const char *symbol, const char *shown)
{
	_cleanup_free_ char *seen = shown_of(pattern, symbol);

	if (!seen != !shown || (shown && strcmp(seen, shown) != 0))
		fail_msg("%s, %s: %s", pattern, symbol, seen ?: "(no)");
}

static const char dispatch[] =
	"_ZN6Server8dispatchERK7Requesti"; /* Server::dispatch(Request const&, int) */
#define DISPATCH "Server::dispatch(Request const&, int)"

static void test_c_names(void **state)
{
	(void)state;
	check("handle_request", "handle_request", "handle_request");
	check("handle_request", "handle_requests", NULL);
	check("request", "handle_request", NULL);
	check("foo", "foo.isra.0", "foo");
	check("foo", "foo.constprop.0.isra.3", "foo");
	check("foo", "foo.cold", NULL);
	check("foo", "foo.part.0", NULL);
}

static void test_cxx_names(void **state)
{
	(void)state;
	check("Server::dispatch", dispatch, DISPATCH);
	check("dispatch", dispatch, DISPATCH);
	check("Server::dispatch(Request const&, int)", dispatch, DISPATCH);
	check("Server::dispatch(Request const &,int)", dispatch, DISPATCH);
	check("dispatch(Request const&, int)", dispatch, DISPATCH);
	check("dispatch(Request const&)", dispatch, NULL);
	check("patch", dispatch, NULL);
	check("er::dispatch", dispatch, NULL);
	check(dispatch, dispatch, DISPATCH);
	check("Server::dispatch", "_ZN6Server8dispatchERK7Requesti.cold", NULL);
	/* int twice<int>(int), and an operator. */
	check("twice", "_Z5twiceIiET_S0_", "int twice<int>(int)");
	check("twice<int>", "_Z5twiceIiET_S0_", "int twice<int>(int)");
	check("twice<long>", "_Z5twiceIiET_S0_", NULL);
	check("A::operator()", "_ZN1AclEi", "A::operator()(int)");
	check("A::operator<", "_ZN1AltEi", "A::operator<(int)");
	check("A::~A", "_ZN1AD1Ev", "A::~A()");
	/* (anonymous namespace)::hidden(int) */
	check("hidden", "_ZN12_GLOBAL__N_16hiddenEi", "(anonymous namespace)::hidden(int)");
}

static void test_globs(void **state)
{
	(void)state;
	check("cmd_*", "cmd_log", "cmd_log");
	check("cmd_*", "run_cmd_log", NULL);
	check("Server::*", dispatch, DISPATCH);
	check("*dispatch*", dispatch, DISPATCH);
	check("h[ae]ndle", "hendle", "hendle");
	/* That is a pointer. */
	check("f(char*)", "_Z1fPc", "f(char*)");
	check("f(char*)", "_Z1fPcc", NULL);
}

/* What others have written: no symbol makes it read beyond its end. */
static void test_strange(void **state)
{
	static const char *const strange[] = {"",	  "_Z", "_ZN",	 "()",	 "<",
					      "operator", "::", "_ZZZZ", "((((("};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(strange); i++) {
		for (size_t n = 0; n < ARRAY_SIZE(strange); n++)
			free(shown_of(strange[i], strange[n]));
		free(shown_of(strange[i], dispatch));
		free(shown_of("dispatch", strange[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_c_names),
		cmocka_unit_test(test_cxx_names),
		cmocka_unit_test(test_globs),
		cmocka_unit_test(test_strange),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Names of the kernel's functions, of its own and of modules, and of a kernel that hides them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "user/base/util.h"
#include "user/symbol/kallsyms.h"

static struct kallsyms *read_text(const char *text)
{
	_cleanup_fclose_ FILE *file = fmemopen((void *)text, strlen(text), "r");
	struct kallsyms *symbols;

	assert_non_null(file);
	symbols = kallsyms_read(file);
	assert_non_null(symbols);
	return symbols;
}

static void functions_by_address(void **state)
{
	/* Modules come behind, and their addresses may be lower. */
	struct kallsyms *symbols = read_text("ffffffff81000000 T _stext\n"
					     "ffffffff81000000 T _text\n"
					     "ffffffff81000100 t first\n"
					     "ffffffff81000180 D data\n"
					     "ffffffff81000200 W second\n"
					     "ffffffff80000000 t nvme_probe\t[nvme]\n"
					     "ffffffff80000100 t nvme_remove\t[nvme]\n"
					     "ffffffff80000200 t other\t[nvme_core]\n");
	struct kallsyms_symbol s;

	(void)state;
	assert_true(kallsyms_known(symbols));
	assert_true(kallsyms_find(symbols, 0xffffffff81000000, &s));
	assert_true(!strcmp(s.name, "_stext") || !strcmp(s.name, "_text"));
	assert_null(s.module);
	assert_true(kallsyms_find(symbols, 0xffffffff810001f0, &s));
	assert_string_equal(s.name, "first");
	assert_int_equal(s.offset, 0xf0);
	assert_true(kallsyms_find(symbols, 0xffffffff81000200, &s));
	assert_string_equal(s.name, "second");
	assert_true(kallsyms_find(symbols, 0xffffffff8000010f, &s));
	assert_string_equal(s.name, "nvme_remove");
	assert_string_equal(s.module, "nvme");
	assert_true(kallsyms_find(symbols, 0xffffffff80000200, &s));
	assert_string_equal(s.module, "nvme_core");
	assert_false(kallsyms_find(symbols, 0xffffffff7fffffff, &s));
	kallsyms_free(symbols);
}

static void hidden_addresses(void **state)
{
	struct kallsyms *symbols = read_text("0000000000000000 T _stext\n"
					     "0000000000000000 t first\n"
					     "no line of it\n");
	struct kallsyms_symbol s;

	(void)state;
	assert_false(kallsyms_known(symbols));
	assert_false(kallsyms_find(symbols, 0xffffffff81000000, &s));
	kallsyms_free(symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_by_address),
		cmocka_unit_test(hidden_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the kernel side sends of Perl's subroutines: names that are whole, and such as were cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tests/unit/runtime/host.h"
#include "user/runtime/perl/perl_names.h"
#include "user/runtime/perl/perl_rows.h"

struct fixture {
	struct test_host host;
	struct runtime_target target;
	struct interpreter_state *perl;
	struct perl_code_event event;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_true(test_host_open(&f->host));
	f->target.id = 3;
	f->perl = calloc(1, sizeof(*f->perl));
	assert_non_null(f->perl);
	f->target.states[RUNTIME_PERL] = f->perl;
	memset(f->event.function, 'f', sizeof(f->event.function));
	memset(f->event.package, 'p', sizeof(f->event.package));
	memset(f->event.file, 'y', sizeof(f->event.file));
	f->event.call.code = 0x1000;
	f->event.file_length = 10;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	runtime_target_clear(&f->host.runtimes, &f->target);
	test_host_close(&f->host);
	free(f);
	return 0;
}

/* Of another subroutine each time. */
static const struct frame *add(struct fixture *f)
{
	const struct runtime_code *code;

	f->event.call.code += 0x1000;
	perl_ops.event(&f->host.runtimes, &f->target, RUNTIME_CODE, &f->event.header);
	code = runtime_codes_find(&f->perl->codes, &f->event.call);
	assert_non_null(code);
	return code->frame;
}

static void assert_text(const char *text, char of, size_t count, const char *end)
{
	size_t there = strspn(text, (char[2]){of});

	assert_int_equal(there, count);
	assert_string_equal(text + there, end);
}

/* As many bytes as there is room for are whole, in a name, which comes with its length; one more is not. */
static void names(void **state)
{
	struct fixture *f = *state;

	f->event.function_length = 255;
	assert_text(add(f)->function, 'f', 255, "");
	f->event.function_length = 256;
	assert_text(add(f)->function, 'f', 256, "");
	f->event.function_length = 257;
	assert_text(add(f)->function, 'f', 256, "…");
	f->event.function_length = 1 << 30;
	assert_text(add(f)->function, 'f', 256, "…");
	f->event.function_length = 3;
	f->event.package_length = 256;
	assert_text(add(f)->function, 'p', 256, "::fff");
	f->event.package_length = 257;
	assert_text(add(f)->function, 'p', 256, "…::fff");
}

/* A file's name comes with an end, which stands in the last byte of what was cut. */
static void files(void **state)
{
	struct fixture *f = *state;

	f->event.file_length = 254;
	assert_text(add(f)->module, 'y', 254, "");
	f->event.file_length = 255;
	assert_text(add(f)->module, 'y', 255, "…");
	f->event.file_length = UINT32_MAX;
	assert_text(add(f)->module, 'y', 255, "…");
	f->event.file_length = 0;
	assert_null(add(f)->module);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(files, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

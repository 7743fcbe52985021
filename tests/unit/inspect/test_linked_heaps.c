// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Allocators that are linked to a program are said by name, by the symbols of its file; and only where they are in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/sides.h"
#include "user/base/clock.h"
#include "user/heap/dead_memory.h"
#include "user/inspect/linked_heaps.h"

static struct sides sides;

static int setup(void **state)
{
	(void)state;
	sides_open(&sides, __FILE__);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sides_close(&sides);
	return 0;
}

/* Which of the program's allocators are said to be linked, with a blank behind each. */
static void linked(char *out, size_t room)
{
	const struct inspect_copying how = {.max_pause_ns = 60 * NS_PER_S};
	struct freeze_forks forks = {0};
	struct inspect_source source;
	struct inventory inventory = {0};
	struct heap_image *image;
	char reason[REASON_MAX] = "", line[64];
	struct side side;

	side_start(&side, &sides, "exec ./program");
	/* Up to "ready". */
	assert_false(side_says(&side, line, sizeof(line)));
	if (inspect_copy_process(side.pid, &how, &forks, &source, reason))
		fail_msg("%s", reason);
	image = heap_image_new(source.memory);
	assert_non_null(image);
	source.memory = NULL;
	image->inventory = &inventory;
	assert_int_equal(dead_memory_find(image), 0);
	linked_heaps_find(&source, image);
	*out = '\0';
	for (size_t i = 0; i < inventory.count; i++) {
		const struct inspected_allocator *a = &inventory.allocators[i].shown;
		size_t used = strlen(out);

		if (strstr(a->why, "linked to the program"))
			snprintf(out + used, room - used, "%s ", a->name);
	}
	heap_image_free(image);
	inspect_source_release(&source);
	side_end(&side);
}

/* Programs of C, in which a library's function has a name like that. */
static void write_program(const char *functions)
{
	sides_run(&sides,
		  "printf '%%s\\n' '#include <stdio.h>' '%s' 'int main(void) { puts(\"ready\"); "
		  "fflush(stdout); return getchar() == 0; }' >program.c",
		  functions);
}

static void says(const char *expected)
{
	char names[256];

	linked(names, sizeof(names));
	assert_string_equal(names, expected);
}

static void by_symbols(void **state)
{
	(void)state;
	write_program("int mi_version(void) { return 1; }");
	sides_run(&sides, "gcc -o program program.c");
	says("mimalloc ");
	sides_run(&sides, "gcc -static -o program program.c");
	says("mimalloc ");
	/* Symbols for the dynamic linker are there still. */
	sides_run(&sides, "gcc -rdynamic -o program program.c && strip program");
	says("mimalloc ");
	sides_run(&sides, "gcc -o program program.c && strip program");
	says("");
}

static void not_by_names_that_are_like_it(void **state)
{
	(void)state;
	write_program("int mi_version_2(void) { return 1; } int my_h_malloc_object_size(void) { "
		      "return 1; } "
		      "int mi_versions; const char *text = \"mimalloc scudo AddressSanitizer\";");
	sides_run(&sides, "gcc -o program program.c");
	says("");
}

/* It is the library's, whose name tells it. */
static void not_by_what_a_library_has(void **state)
{
	(void)state;
	write_program("int mi_version(void); int used(void) { return mi_version(); }");
	sides_run(&sides, "echo 'int mi_version(void) { return 1; }' >other.c && gcc -shared -fPIC "
			  "-o libother.so other.c && gcc -o program program.c ./libother.so");
	says("");
}

static void of_cxx(void **state)
{
	(void)state;
	sides_run(
		&sides,
		"printf '%%s\\n' '#include <cstdio>' 'namespace scudo { struct Box { int a(int n) "
		"{ "
		"return n + 1; } } box; }' 'int main(int n, char **) { std::puts(\"ready\"); "
		"std::fflush(stdout); return std::getchar() == scudo::box.a(n); }' >program.cc && "
		"g++ -O0 -o program program.cc");
	says("Scudo ");
}

/* As compilers do it. */
static void sanitizers(void **state)
{
	(void)state;
	need_tool("clang");
	write_program("");
	sides_run(&sides, "clang -fsanitize=address -o program program.c");
	says("AddressSanitizer ");
	sides_run(&sides, "clang -fsanitize=scudo -o program program.c");
	says("Scudo ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_symbols),
		cmocka_unit_test(not_by_names_that_are_like_it),
		cmocka_unit_test(not_by_what_a_library_has),
		cmocka_unit_test(of_cxx),
		cmocka_unit_test(sanitizers),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

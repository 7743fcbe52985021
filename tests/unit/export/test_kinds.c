// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Frames that are no native code, in every format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/sample_snapshot.h"
#include "user/base/util.h"

static const struct export_options plain;

static const struct frame go = {
	.kind = FRAME_KIND_GO,
	.function = "main.keep",
	.module = "shop",
	.module_path = "/srv/shop",
	.file = "/src/main.go",
	.line = 34,
	.offset = 0x25,
	.module_offset = 0x91625,
};
/* Of a perf map. */
static const struct frame javascript = {
	.kind = FRAME_KIND_JAVASCRIPT,
	.function = "tick",
	.symbol = "JS:*tick /srv/leak.js:8:26",
	.module = "leak.js",
	.module_path = "/srv/leak.js",
	.file = "/srv/leak.js",
	.line = 8,
	.offset = 0x7a,
	.module_offset = 0x7f0000001238,
};
static const struct frame java = {
	.kind = FRAME_KIND_JAVA,
	.function = "Shop$Cart.add",
	.symbol = "void Shop$Cart.add(int)",
	.offset = 0x10,
	.module_offset = 0x7f0000002010,
};
static const struct frame jit = {
	.kind = FRAME_KIND_JIT,
	.function = "TRACE_1",
	.offset = 0x1,
	.module_offset = 0x7f0000003001,
};

/* What an interpreter has is no code, and may have no name. */
struct sample {
	struct frame python, nameless;
	const struct frame *frames[8];
	struct stack stacks[2];
	struct snapshot snapshot;
};

static void sample_fill(struct sample *s)
{
	s->python = frame_managed(FRAME_KIND_PYTHON, "Cart.add;x", "/srv/shop.py", 12);
	s->nameless = frame_managed(FRAME_KIND_PYTHON, NULL, "/srv/shop.py", 0);
	s->frames[0] = &sample_malloc;
	s->frames[1] = &s->python;
	s->frames[2] = &s->nameless;
	s->frames[3] = &sample_inlined;
	s->frames[4] = &go;
	s->frames[5] = &javascript;
	s->frames[6] = &java;
	s->frames[7] = &jit;
	s->stacks[0] = (struct stack){.id = 1,
				      .live = {100, 10},
				      .alloc = {100, 10},
				      .frames = s->frames,
				      .frame_count = 8};
	/* Nothing of it has an address. */
	s->stacks[1] = (struct stack){.id = 2,
				      .live = {7, 1},
				      .alloc = {7, 1},
				      .frames = s->frames + 1,
				      .frame_count = 2};
	s->snapshot = sample_snapshot();
	s->snapshot.stacks = s->stacks;
	s->snapshot.stack_count = 2;
}

static bool golden(const char *format, const struct export_options *options, const char *name)
{
	_cleanup_free_ char *text = NULL;
	struct sample s;

	sample_fill(&s);
	text = sample_export(format, options, &s.snapshot, 2);
	return text && sample_matches(name, text);
}

static void for_people(void **state)
{
	const struct export_options valgrind = {.suppressions = SUPPRESSION_VALGRIND};
	const struct export_options verbose = {.verbose = true};

	(void)state;
	assert_true(golden("text", &verbose, "text-kinds.txt"));
	assert_true(golden("text", &valgrind, "text-kinds-suppressions.txt"));
}

static void for_programs(void **state)
{
	(void)state;
	assert_true(golden("json", &plain, "json-kinds.json"));
	assert_true(golden("folded", &plain, "folded-kinds.txt"));
	assert_true(golden("android", &plain, "android-kinds.txt"));
}

/* `$` ends a pattern: an inner class is not to stand for its outer one. */
static void leaksanitizer(void **state)
{
	const struct export_options options = {.suppressions = SUPPRESSION_LEAKSANITIZER};
	_cleanup_free_ char *text = NULL;
	struct sample s;

	(void)state;
	sample_fill(&s);
	s.frames[1] = &java;
	text = sample_export("text", &options, &s.snapshot, 1);
	assert_non_null(strstr(text, "\nleak:Shop*Cart.add\n"));
}

/* The data of the page; the page itself is opened by html.bats. */
static void html(void **state)
{
	const struct exporter_format *format = export_find_format("html");
	_cleanup_free_ char *text = NULL;
	struct sample s;
	char *frames;

	(void)state;
	if (!format || (format->unavailable && format->unavailable())) {
		print_message("without -f html\n");
		skip();
	}
	sample_fill(&s);
	text = sample_export("html", &plain, &s.snapshot, 2);
	assert_non_null(text);
	frames = strstr(text, "\n\"frames\":");
	assert_non_null(frames);
	assert_non_null(strstr(frames, ",0,0,\"0\",\"python\"]"));
	assert_non_null(strstr(frames, ",34,0,\"25\",\"go\"]"));
	assert_non_null(strstr(frames, ",8,0,\"7a\",\"javascript\"]"));
	assert_non_null(strstr(frames, ",\"1\",\"jit\"]"));
	/* malloc, which is native. */
	assert_non_null(strstr(frames, ",3287,0,\"0\"]"));
}

/* trace_processor is asked by managed.bats. */
static void perfetto(void **state)
{
	static const char *const mappings[] = {"[python]", "[javascript]", "[java]", "[jit]",
					       "/srv/shop"};
	char *data = NULL;
	size_t len;
	FILE *out = open_memstream(&data, &len);
	const struct exporter_format *format = export_find_format("perfetto");
	struct exporter *e = format->open(out, &plain);
	struct sample s;

	(void)state;
	sample_fill(&s);
	assert_int_equal(sample_take(format, e, &s.snapshot), 0);
	assert_int_equal(format->close(e), 0);
	fclose(out);
	for (size_t i = 0; i < ARRAY_SIZE(mappings); i++)
		assert_non_null(memmem(data, len, mappings[i], strlen(mappings[i])));
	assert_null(memmem(data, len, "[go]", 4));
	assert_null(memmem(data, len, "[anon]", 6));
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(for_people),	 cmocka_unit_test(for_programs),
		cmocka_unit_test(leaksanitizer), cmocka_unit_test(html),
		cmocka_unit_test(perfetto),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

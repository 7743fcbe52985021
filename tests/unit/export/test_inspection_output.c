// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What an inspection looks like as text and as JSON, and after it has been in a recording. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/sample_inspection.h"
#include "tests/unit/sample_snapshot.h"
#include "user/base/util.h"

static void check(const char *format, const struct inspection *inspection, size_t top,
		  const char *golden)
{
	const struct export_options options = {0};
	char *text = sample_inspection_export(format, &options, inspection, top);

	assert_non_null(text);
	assert_true(sample_matches(golden, text));
	free(text);
}

static void everything(void **state)
{
	struct sample_inspection s;

	(void)state;
	sample_inspection_fill(&s);
	check("text", &s.inspection, 10, "text-inspection.txt");
	check("json", &s.inspection, 10, "json-inspection.json");
	sample_inspection_fill_traced(&s);
	check("text", &s.inspection, 10, "text-inspection-traced.txt");
	check("json", &s.inspection, 10, "json-inspection-traced.json");
}

/* What is left out is said. */
static void few_of_many(void **state)
{
	const struct export_options options = {0};
	struct sample_inspection s;
	char *text;

	(void)state;
	sample_inspection_fill(&s);
	text = sample_inspection_export("text", &options, &s.inspection, 1);
	assert_non_null(text);
	assert_non_null(strstr(text, "and 1 more kinds (-T)"));
	assert_non_null(strstr(text, "4 more kinds (-T)"));
	assert_null(strstr(text, "Python"));
	free(text);
}

/* A process without anything: no division by zero, and nothing that is not so. */
static void nothing(void **state)
{
	const struct inspection empty = {.pid = 1, .verdict = {.state = VERDICT_TAKEN}};

	(void)state;
	check("text", &empty, 10, "text-inspection-nothing.txt");
}

/* Through a recording it prints the same, all of it. */
static void recorded(void **state)
{
	const struct recording_info info = {.tool_version = "1"};
	const struct export_options options = {.verbose = true};
	struct recording_writer *writer;
	struct recording_reader *reader;
	struct recording_item item;
	struct sample_inspection s;
	char *file = NULL;
	size_t len = 0;
	FILE *stream = open_memstream(&file, &len);

	(void)state;
	assert_non_null(stream);
	sample_inspection_fill(&s);
	assert_int_equal(recording_writer_new(stream, &info, &writer), 0);
	assert_int_equal(recording_writer_add_inspection(writer, &s.inspection), 0);
	s.inspection.core = (char *)"core.1234";
	s.inspection.cmdline = NULL;
	assert_int_equal(recording_writer_add_inspection(writer, &s.inspection), 0);
	sample_inspection_fill_traced(&s);
	assert_int_equal(recording_writer_add_inspection(writer, &s.inspection), 0);
	recording_writer_free(writer);
	assert_int_equal(fclose(stream), 0);
	stream = fmemopen(file, len, "r");
	assert_non_null(stream);
	assert_int_equal(recording_reader_new(stream, "test", &reader), 0);
	sample_inspection_fill(&s);
	for (int i = 0; i < 3; i++) {
		static const char *const formats[] = {"text", "json"};

		assert_int_equal(recording_reader_next(reader, &item), 1);
		assert_non_null(item.inspection);
		assert_int_equal(item.time_ns, s.inspection.time_ns);
		for (size_t f = 0; f < ARRAY_SIZE(formats); f++) {
			char *before =
				sample_inspection_export(formats[f], &options, &s.inspection, 10);
			char *after =
				sample_inspection_export(formats[f], &options, item.inspection, 10);

			assert_string_equal(before, after);
			free(before);
			free(after);
		}
		inspection_free(item.inspection);
		if (i)
			sample_inspection_fill_traced(&s);
		s.inspection.core = i ? NULL : (char *)"core.1234";
		if (!i)
			s.inspection.cmdline = NULL;
	}
	assert_int_equal(recording_reader_next(reader, &item), 0);
	recording_reader_free(reader);
	fclose(stream);
	free(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything),
		cmocka_unit_test(few_of_many),
		cmocka_unit_test(nothing),
		cmocka_unit_test(recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

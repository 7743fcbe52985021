// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is said of a report stands first, is said once, and is cleaned of what targets have chosen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/sample_inspection.h"
#include "tests/unit/sample_snapshot.h"

static struct findings *made(void)
{
	struct findings *f = calloc(1, sizeof(*f));
	struct finding *lost;

	assert_non_null(f);
	lost = findings_add(f, FINDING_LOST, 1000, "%s has lost %d blocks", "ev\033[31mil", 3);
	assert_non_null(lost);
	lost->share = 0.25;
	lost->where.function = strdup("ev\033[31mil");
	lost->where.line = 7;
	assert_non_null(findings_add(f, FINDING_HEAP, 0, "V8's own heap was mentioned here"));
	assert_non_null(findings_add(f, FINDING_UNTRACED, 2, "memory grew"));
	return f;
}

static char *print(const char *format, bool with)
{
	const struct export_options options = {0};
	struct snapshot s = sample_snapshot();
	struct report *r;
	char *text;

	s.heaps.kinds = 1u << UNTRACED_V8;
	s.growth = (struct growth){.anon = 3, .untraced = 2, .where = (char *)"a mapping"};
	r = sample_report(&s);
	r->findings = with ? made() : NULL;
	text = sample_export_report(format, &options, r, 1);
	report_drop(r);
	assert_non_null(text);
	return text;
}

static void as_text(void **state)
{
	static const char first[] = "\n* ev?[31mil has lost 3 blocks\n"
				    "* V8's own heap was mentioned here\n"
				    "* memory grew\n"
				    "\n"
				    "live   ";
	char *text = print("text", true);

	(void)state;
	assert_int_equal(strncmp(strchr(text, '\n'), first, strlen(first)), 0);
	/* Figures that a sentence has are not told again; which mappings grew most is. */
	assert_null(strstr(text, "is not traced"));
	assert_null(strstr(text, "none of the traced functions"));
	assert_non_null(strstr(text, "grew   most in:\n       a mapping\n"));
	free(text);
	text = print("text", false);
	assert_non_null(strstr(text, "\nheap   V8's own heap is not traced"));
	assert_non_null(strstr(text, "\ngrew   3 B since attach, 2 B of it"));
	free(text);
}

static void as_json(void **state)
{
	char *text = print("json", true);

	(void)state;
	assert_non_null(strstr(text,
			       "\"findings\":[{\"kind\":\"lost\",\"bytes\":1000,\"share\":0.2500,"
			       "\"text\":\"ev\\u001b[31mil has lost 3 blocks\","
			       "\"where\":{\"function\":\"ev\\u001b[31mil\",\"line\":7}},"
			       "{\"kind\":\"heap\",\"text\":\"V8's own heap was mentioned here\"},"
			       "{\"kind\":\"untraced\",\"bytes\":2,\"text\":\"memory grew\"}]"));
	free(text);
	text = print("json", false);
	assert_null(strstr(text, "findings"));
	free(text);
}

static void as_html(void **state)
{
	char *text = print("html", true);

	(void)state;
	assert_non_null(strstr(text,
			       "\"findings\":[[\"lost\",\"ev\\u001b[31mil has lost 3 blocks\"],"
			       "[\"heap\",\"V8's own heap was mentioned here\"],"
			       "[\"untraced\",\"memory grew\"]]"));
	free(text);
}

static void of_an_inspection(void **state)
{
	const struct export_options options = {0};
	struct sample_inspection s;
	char *text;

	(void)state;
	sample_inspection_fill(&s);
	s.inspection.findings = made();
	text = sample_inspection_export("text", &options, &s.inspection, 10);
	assert_non_null(strstr(text, "\n* ev?[31mil has lost 3 blocks\n"));
	free(text);
	text = sample_inspection_export("json", &options, &s.inspection, 10);
	assert_non_null(strstr(text, "\"findings\":[{\"kind\":\"lost\","));
	free(text);
	findings_free(s.inspection.findings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_text),
		cmocka_unit_test(as_json),
		cmocka_unit_test(as_html),
		cmocka_unit_test(of_an_inspection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The command lines of the survey; what they say when they refuse is in
 * tests/integration/survey.bats and metrics.bats.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/cli/options_line.h"
#include "user/base/util.h"
#include "user/base/listen.h"
#include "user/cli/help.h"

static void defaults(void **state)
{
	const struct options *o = parse_good("survey");

	(void)state;
	assert_int_equal(o->config.survey.pace.interval_ns, 2000000000ULL);
	assert_int_equal(o->config.survey.sample_bytes, 65536);
	assert_int_equal(o->config.survey.probes.suspects, 3);
	assert_int_equal(o->config.survey.probes.min_growth, 1 << 20);
	assert_int_equal(o->config.survey.probes.window_ns, 10000000000ULL);
	assert_int_equal(o->config.survey.probes.budget, 20);
	assert_true(o->config.survey.probes.wanted);
	assert_false(o->config.survey.metrics.wanted);
	assert_int_equal(o->config.survey.metrics.processes, 50);
	assert_true(o->config.survey.scope.user == (uid_t)-1);
	assert_null(o->config.survey.scope.cgroup);
	assert_null(o->config.survey.scope.container);
	assert_null(o->config.survey.scope.comm);
	assert_null(o->config.survey.scope.exclude);
	assert_null(o->config.survey.record);
	options_free(o);
}

static void all_of_them(void **state)
{
	const struct options *o = parse_good(
		"survey -i 1 -n 9 -T 5 -f json -o f -s 512k --suspects 64 --min-growth "
		"0 --window 1s "
		"--budget 0.5% --no-drill --cgroup /a.slice --container shop --user "
		"54321 --comm ^a "
		"--exclude b$ --record r --metrics [::1]:9435 --metrics-processes 0 --no-inlines");
	char text[LISTEN_TEXT_MAX];

	(void)state;
	assert_int_equal(o->config.survey.pace.interval_ns, 1000000000ULL);
	assert_int_equal(o->config.survey.pace.count, 9);
	assert_int_equal(o->config.survey.show.top, 5);
	assert_string_equal(o->config.survey.show.format->name, "json");
	assert_string_equal(o->config.survey.show.output, "f");
	assert_string_equal(o->config.survey.record, "r");
	assert_int_equal(o->config.survey.sample_bytes, 512 * 1024);
	assert_int_equal(o->config.survey.probes.suspects, 64);
	assert_int_equal(o->config.survey.probes.min_growth, 0);
	assert_int_equal(o->config.survey.probes.window_ns, 1000000000ULL);
	assert_int_equal(o->config.survey.probes.budget, 5);
	assert_false(o->config.survey.probes.wanted);
	assert_string_equal(o->config.survey.scope.cgroup, "/a.slice");
	assert_string_equal(o->config.survey.scope.container, "shop");
	assert_int_equal(o->config.survey.scope.user, 54321);
	assert_string_equal(o->config.survey.scope.comm, "^a");
	assert_string_equal(o->config.survey.scope.exclude, "b$");
	assert_true(o->config.survey.metrics.wanted);
	assert_string_equal(listen_format(text, &o->config.survey.metrics.address,
					  listen_port(&o->config.survey.metrics.address)),
			    "[::1]:9435");
	assert_int_equal(o->config.survey.metrics.processes, 0);
	assert_false(o->config.survey.symbols.inlines);
	options_free(o);
	o = parse_good("survey --gate --keep unit=web --keep comm=^a");
	assert_int_equal(o->config.survey.keep.filters.count, 2);
	assert_string_equal(o->config.survey.keep.filters.items[1], "comm=^a");
	assert_int_equal(o->config.survey.keep.sample_bytes, 512 * 1024);
	assert_int_equal(o->config.survey.sample_bytes, 64 * 1024);
	options_free(o);
	o = parse_good("survey --gate --keep unit=web -s 4k");
	assert_int_equal(o->config.survey.keep.sample_bytes, 4096);
	options_free(o);
	o = parse_good("survey -f perfetto");
	assert_string_equal(o->config.survey.show.format->name, "perfetto");
	options_free(o);
	o = parse_good("survey --user root --metrics :9435");
	assert_int_equal(o->config.survey.scope.user, 0);
	assert_true(listen_is_loopback(&o->config.survey.metrics.address));
	options_free(o);
}

static void refused(void **state)
{
	static const char *const lines[] = {
		"survey -p 1",
		"survey -- sleep 1",
		"survey -f folded",
		"survey --suspects 0",
		"survey --suspects 65",
		"survey --min-growth fast",
		"survey --window 500ms",
		"survey --budget 0",
		"survey --budget 101",
		"survey --budget 2x",
		"survey --user no-such-user-here",
		"survey --user -1",
		"survey --user 4294967295",
		"survey --comm [",
		"survey --exclude (",
		"survey --metrics 9435",
		"survey --metrics example.org:9435",
		"survey --metrics :65536",
		"survey --metrics-processes 10001",
		"survey --mmap",
		"survey --keep unit=web",
		"survey --gate --keep web",
		"survey --gate --keep comm=[",
		"survey --gate --keep-live 100001",
		"survey --gate --keep unit=web --suppressions x",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		const struct options *options = NULL;

		if (parse(lines[i], &options) != -EINVAL || options)
			fail_msg("'%s' was not refused", lines[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(all_of_them),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The command lines of record, report and diff; what they say when they refuse is in
 * tests/integration/export.bats.
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
#include "user/cli/help.h"

static void recordings(void **state)
{
	const struct options *o = parse_good("record -o f -- sleep 1");

	(void)state;
	assert_ptr_equal(o->config.watch.show.format, &export_recording);
	assert_string_equal(o->config.watch.argv[0], "sleep");
	/* Over time, also of a command. */
	assert_int_equal(o->config.watch.pace.interval_ns, 10000000000ULL);
	options_free(o);
	/* Options may stand before the file, and behind it. */
	o = parse_good("report -T 3 f -f json --from 90s --to 2026-01-02T03:04:05Z");
	assert_int_equal(o->config.replay.file_count, 1);
	assert_string_equal(o->config.replay.files[0], "f");
	assert_int_equal(o->config.replay.show.top, 3);
	assert_string_equal(o->config.replay.show.format->name, "json");
	assert_true(o->config.replay.times.from.given && !o->config.replay.times.from.absolute);
	assert_int_equal(o->config.replay.times.from.ns, 90000000000ULL);
	assert_true(o->config.replay.times.to.given && o->config.replay.times.to.absolute);
	assert_int_equal(o->config.replay.times.to.ns, 1767323045000000000ULL);
	assert_false(o->config.replay.times.at.given);
	options_free(o);
	o = parse_good("report - --at 0");
	assert_string_equal(o->config.replay.files[0], "-");
	assert_true(o->config.replay.times.at.given && !o->config.replay.times.at.absolute &&
		    !o->config.replay.times.at.ns);
	options_free(o);
	o = parse_good("report f --merge");
	assert_true(o->config.replay.show.merge);
	options_free(o);
	o = parse_good("diff old new -f folded");
	assert_int_equal(o->config.replay.file_count, 2);
	options_free(o);
	o = parse_good("diff f --from 1m");
	assert_int_equal(o->config.replay.file_count, 1);
	options_free(o);
}

static void recordings_refused(void **state)
{
	static const char *const lines[] = {
		"record -p 1",
		"record -p 1 -o f -f json",
		"record -p 1 -o f --at 1",
		"report",
		"report a b",
		"report f --at 1 --to 2",
		"report f --from 5s --to 4s",
		"report f --at yesterday",
		"report f --at 2026-01-02",
		"report f --at 2026-01-02T03:04:05X",
		"report f --mmap",
		"diff",
		"diff a b c",
		"diff a b --from 1",
		"diff a b -f pprof",
		"diff a b --merge",
		"record -p 1 -o f --merge",
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
		cmocka_unit_test(recordings),
		cmocka_unit_test(recordings_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Growth that begins at any time: said in time, of the right beginning and pace, and seldom in error. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/regime/regime_corpus.h"
#include "tests/unit/regime/regime_runs.h"
#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/regime/regime.h"

#define MB 1e6

/* Of 640 process-days of each corpus, one false alarm would be one in 640. */
static void false_alarms(void **state)
{
	(void)state;
	for (enum corpus corpus = CORPUS_FIRST; corpus <= CORPUS_SECOND; corpus++) {
		struct regime_alarms all = {0};

		for (int kind = 0; kind < CORPUS_KINDS; kind++) {
			struct regime_alarms alarms = regime_run_benign(corpus, kind, 1, 20, 2);

			all.growing += alarms.growing;
			all.leaking += alarms.leaking;
		}
		assert_in_range(all.leaking, 0, 2);
		/* True of warm-ups and ramps while they last; but no series flickers. */
		assert_in_range(all.growing, 0, 900);
	}
}

/* However long it had been flat before. */
static void flat_time_does_not_matter(void **state)
{
	static const double before_h[] = {0.5, 1, 12, 48};
	double first = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(before_h); i++) {
		struct regime_delays d =
			regime_run_leaks(CORPUS_FIRST, LEAK_FLAT, 0.278 * MB, before_h[i], 21);

		first = i ? first : d.growing_s;
		assert_true(fabs(d.growing_s - first) <= 2 * REGIME_RUN_LOOK_S);
		assert_true(d.growing_s <= fmax(2.5 * d.bound_s, 6 * REGIME_RUN_LOOK_S));
		assert_true(d.onset_s <= 30);
		assert_true(d.error <= 0.01);
		assert_true(d.found == 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(false_alarms),
		cmocka_unit_test(flat_time_does_not_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The detector of growth, judged by both corpora and by recorded programs: docs/survey.md has what
 * it prints.
 *     trend alarms CORPUS DAYS FROM TO    episodes per 1,000 process-days of series that do not leak
 *     trend delays CORPUS SEEDS           how soon leaks are told, and how right
 *     trend replay LIMIT                  "seconds bytes" a line: what is said when
 *     trend cost                          of a look
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/regime/regime_runs.h"
#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/regime/regime.h"

#define MB 1e6

static int trend_alarms(enum corpus corpus, unsigned days, uint64_t from, uint64_t to)
{
	double process_days = (double)(to - from + 1) * days, sums[2] = {0};

	printf("%-26s %10s %10s\n", "per 1,000 process-days", "growing", "leaking");
	for (int kind = 0; kind < CORPUS_KINDS; kind++) {
		struct regime_alarms a = regime_run_benign(corpus, kind, from, to, days);

		sums[0] += a.growing;
		sums[1] += a.leaking;
		printf("%-26s %10.1f %10.1f\n", corpus_name(corpus, kind),
		       a.growing * 1000 / process_days, a.leaking * 1000 / process_days);
		fflush(stdout);
	}
	process_days *= CORPUS_KINDS;
	printf("%-26s %10.1f %10.1f   (%.0f process-days, %.0f called leaking)\n", "all",
	       sums[0] * 1000 / process_days, sums[1] * 1000 / process_days, process_days, sums[1]);
	return 0;
}

static int trend_delays(enum corpus corpus, unsigned seeds)
{
	static const double rates[] = {0.01 * MB, 0.1 * MB, MB / 3.6}, before_h[] = {1, 12, 48};

	printf("%-14s %6s %6s %9s %6s %9s %6s %7s %8s %7s %7s\n", "leak", "MB/s", "after",
	       "growing", "bound", "leaking", "room", "onset", "error", "inside", "found");
	for (int leak = 0; leak < CORPUS_LEAKS; leak++) {
		for (size_t i = 0; i < ARRAY_SIZE(before_h) * ARRAY_SIZE(rates); i++) {
			double rate = rates[i % ARRAY_SIZE(rates)];
			double before = before_h[i / ARRAY_SIZE(rates)];
			struct regime_delays d = regime_run_leaks(corpus, (enum corpus_leak)leak,
								  rate, before, seeds);

			printf("%-14s %6.2f %4.0f h %5.1f min %4.1f m %5.0f min %4.0f %% %5.0f s "
			       "%6.1f %% %5.0f %% %5.0f %%\n",
			       corpus_leak_name((enum corpus_leak)leak), rate / MB, before,
			       d.growing_s / 60, d.bound_s / 60, d.leaking_s / 60, 100 * d.room,
			       d.onset_s, 100 * d.error,
			       100 * fmin(d.inside_growing, d.inside_leaking), 100 * d.found);
			fflush(stdout);
		}
	}
	return 0;
}

/* Looks are a second apart; each line whose word is another one than the last. */
static int trend_replay(double limit)
{
	enum regime_word last = REGIME_EARLY;
	struct regime r;
	double s, bytes;

	regime_init(&r, NS_PER_S, REGIME_RUN_FLOOR);
	while (scanf("%lf %lf", &s, &bytes) == 2) {
		struct regime_judgement j;

		regime_add(&r, (uint64_t)((s + 1) * NS_PER_S), bytes);
		regime_judge(&r, limit - bytes, &j);
		if (j.word >= REGIME_GROWING && j.word != last)
			printf("%7.0f s %s since %.0f s, %.0f KB/s (%.0f to %.0f)%s\n", s,
			       j.word == REGIME_LEAKING ? "leaking" : "growing",
			       (double)j.since_ns / NS_PER_S - 1, j.growth / 1e3,
			       j.growth_low / 1e3, j.growth_high / 1e3,
			       j.since_start ? ", since the start" : "");
		last = j.word;
	}
	return 0;
}

static int trend_cost(void)
{
	enum { SERIES = 1000, LOOKS = 2000 };
	struct regime *r = calloc(SERIES, sizeof(*r));
	struct regime_judgement j;
	uint64_t begin;

	if (!r)
		return 1;
	for (size_t i = 0; i < SERIES; i++)
		regime_init(&r[i], 10 * NS_PER_S, REGIME_RUN_FLOOR);
	begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (size_t t = 1; t <= LOOKS; t++) {
		for (size_t i = 0; i < SERIES; i++) {
			double grown = i % 10 ? 0 : 1e4 * (double)t;

			regime_add(&r[i], t * 10 * NS_PER_S,
				   200 * MB + MB * (double)((i * 31 + t * 17) % 13) + grown);
			regime_judge(&r[i], 4000 * MB, &j);
		}
	}
	printf("%.0f ns a look, %zu bytes a process\n",
	       (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin) / SERIES / LOOKS,
	       sizeof(struct regime));
	free(r);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	enum corpus corpus = argc > 2 && !strcmp(argv[2], "second") ? CORPUS_SECOND : CORPUS_FIRST;

	if (!strcmp(what, "alarms") && argc == 6)
		return trend_alarms(corpus, (unsigned)atoi(argv[3]), (uint64_t)atoi(argv[4]),
				    (uint64_t)atoi(argv[5]));
	if (!strcmp(what, "delays") && argc == 4)
		return trend_delays(corpus, (unsigned)atoi(argv[3]));
	if (!strcmp(what, "replay") && argc == 3)
		return trend_replay(atof(argv[2]));
	if (!strcmp(what, "cost"))
		return trend_cost();
	fputs("usage: trend alarms CORPUS DAYS FROM TO | delays CORPUS SEEDS | replay LIMIT | "
	      "cost\n",
	      stderr);
	return 2;
}

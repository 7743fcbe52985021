/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the detector says of the corpus: for the unit test, and for `make bench-trend`. */
#ifndef MEMLEAKBPF_TESTS_REGIME_RUNS_H
#define MEMLEAKBPF_TESTS_REGIME_RUNS_H

#include "tests/unit/regime/regime_corpus.h"

#define REGIME_RUN_LOOK_S 10.0
#define REGIME_RUN_FLOOR  (1024.0 * 1024)

struct regime_alarms {
	unsigned growing, leaking; /* episodes */
};

/* Of the seeds `from` to `to`, each watched for so many days. */
struct regime_alarms regime_run_benign(enum corpus corpus, int kind, uint64_t from, uint64_t to,
				       unsigned days);

struct regime_delays {
	/* Medians over the seeds; INFINITY: not before it was full, for half of them. */
	double growing_s, leaking_s; /* from the leak's beginning on */
	/* the least that there can be, with the onset and the noise known, and one false alarm in 1,000 days */
	double bound_s;
	double room;	/* of it that was used up when it was called leaking, 0 to 1 */
	double onset_s; /* by which the onset that was told is wrong */
	double error;	/* of the growth, 0 to 1 */
	double found;	/* of the leaks that were called growing before it was full, 0 to 1 */
	double inside_growing, inside_leaking; /* how often the interval held the truth, 0 to 1 */
};

/* A leak of so many bytes a second that begins after so many hours. */
struct regime_delays regime_run_leaks(enum corpus corpus, enum corpus_leak leak, double rate,
				      double before_h, unsigned seeds);

#endif

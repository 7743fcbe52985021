/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Kinds of series that do not leak: the tables of the two corpora. */
#ifndef MEMLEAKBPF_TESTS_REGIME_KINDS_H
#define MEMLEAKBPF_TESTS_REGIME_KINDS_H

#include "tests/unit/regime/regime_corpus.h"

#define MINUTE_S 60.0
#define HOUR_S	 3600.0
#define DAY_S	 86400.0

/*
 * A kind fills v[] with n values around a base of 1, `step` seconds apart. restarts[] is set where
 * another process begins.
 */
typedef void corpus_kind(struct corpus_random *r, size_t n, double step, double *v, bool *restarts);

struct corpus_row {
	const char *name;
	corpus_kind *make;
};

extern const struct corpus_row corpus_first[CORPUS_KINDS], corpus_second[CORPUS_KINDS];

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory of processes over days that do not leak, of sixteen kinds, and leaks that begin at any time.
 * All is the same on every machine.
 */
#ifndef MEMLEAKBPF_TESTS_REGIME_CORPUS_H
#define MEMLEAKBPF_TESTS_REGIME_CORPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CORPUS_KINDS 16
#define CORPUS_MB    1e6

struct corpus_random {
	uint64_t state;
};

double corpus_uniform(struct corpus_random *r, double low, double high);
double corpus_log(struct corpus_random *r, double low,
		  double high); /* evenly over the orders of magnitude */
double corpus_normal(struct corpus_random *r);

/* Of which of the two corpora: the second has other shapes, and no constant was chosen by it. */
enum corpus { CORPUS_FIRST, CORPUS_SECOND };

struct corpus_series {
	size_t n;
	double step_s;	/* between two values */
	double *bytes;	/* of n */
	bool *restarts; /* of n: another process takes the place; NULL: not asked */
	double limit;	/* bytes: what is benign fits */
	double noise;	/* standard deviation, of the base */
	double base;	/* bytes */
};

const char *corpus_name(enum corpus corpus, int kind);

/* Fills a series that does not leak; n, step_s, bytes and restarts are the caller's. */
void corpus_make(enum corpus corpus, int kind, uint64_t seed, struct corpus_series *s);

/* What leaks look like. */
enum corpus_leak {
	LEAK_FLAT,    /* on a flat process */
	LEAK_TEETH,   /* of a collector */
	LEAK_DAY,     /* a wave a day */
	LEAK_BURSTS,  /* it leaks in bursts */
	LEAK_NIGHTS,  /* in the first third of each day only */
	LEAK_WANDERS, /* on one that wanders */
	LEAK_WARM,    /* after a warm-up */
	CORPUS_LEAKS,
};

const char *corpus_leak_name(enum corpus_leak leak);

/* The series that the leak is added to. */
void corpus_make_below(enum corpus corpus, enum corpus_leak leak, uint64_t seed,
		       struct corpus_series *s);

/* What leaks in one step, `since` seconds after it began. rate: bytes a second, in the mean (of its nights). */
double corpus_leaks(enum corpus_leak leak, struct corpus_random *r, double rate, double since,
		    double step_s);

#endif

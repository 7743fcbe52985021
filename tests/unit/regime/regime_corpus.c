// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/unit/regime/regime_kinds.h"

#include <math.h>
#include <string.h>

/* splitmix64 (Steele, Lea and Flood, 2014). */
static double corpus_random(struct corpus_random *r)
{
	uint64_t z = (r->state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (double)((z ^ (z >> 31)) >> 11) / (double)(1ull << 53);
}

double corpus_uniform(struct corpus_random *r, double low, double high)
{
	return low + (high - low) * corpus_random(r);
}

double corpus_log(struct corpus_random *r, double low, double high)
{
	return low * pow(high / low, corpus_random(r));
}

double corpus_normal(struct corpus_random *r)
{
	return sqrt(-2 * log(1 - corpus_random(r))) * cos(2 * M_PI * corpus_random(r));
}

static const struct corpus_row *corpus_row(enum corpus corpus, int kind)
{
	return corpus == CORPUS_FIRST ? &corpus_first[kind] : &corpus_second[kind];
}

const char *corpus_name(enum corpus corpus, int kind)
{
	return corpus_row(corpus, kind)->name;
}

static struct corpus_random corpus_begin(enum corpus corpus, int kind, uint64_t seed)
{
	struct corpus_random r = {seed * 7919 + (uint64_t)kind * 104729 + 17 + corpus * 1000003};

	for (int i = 0; i < 3; i++)
		corpus_random(&r);
	return r;
}

static void corpus_fill(struct corpus_random *r, corpus_kind *make, struct corpus_series *s)
{
	double max = 0;

	s->base = corpus_log(r, 32 * CORPUS_MB, 2048 * CORPUS_MB);
	s->noise = corpus_log(r, 0.0002, 0.01);
	if (s->restarts)
		memset(s->restarts, 0, s->n * sizeof(*s->restarts));
	make(r, s->n, s->step_s, s->bytes, s->restarts);
	for (size_t i = 0; i < s->n; i++) {
		max = fmax(max, s->bytes[i]);
		s->bytes[i] = s->base * fmax(s->bytes[i] + s->noise * corpus_normal(r), 0.01);
	}
	s->limit = s->base * max * corpus_log(r, 1.3, 10);
}

void corpus_make(enum corpus corpus, int kind, uint64_t seed, struct corpus_series *s)
{
	struct corpus_random r = corpus_begin(corpus, kind, seed);

	corpus_fill(&r, corpus_row(corpus, kind)->make, s);
}

/* ---- leaks -------------------------------------------------------------------------------- */

static const struct corpus_leak_row {
	const char *name;
	int below[2]; /* kinds of the two corpora */
} leaks[CORPUS_LEAKS] = {
	[LEAK_FLAT] = {"flat", {0, 0}},		 [LEAK_TEETH] = {"sawtooth", {5, 5}},
	[LEAK_DAY] = {"daily wave", {7, 7}},	 [LEAK_BURSTS] = {"in bursts", {0, 0}},
	[LEAK_NIGHTS] = {"nights only", {0, 0}}, [LEAK_WANDERS] = {"wandering", {1, 1}},
	[LEAK_WARM] = {"after warm-up", {2, 2}},
};

const char *corpus_leak_name(enum corpus_leak leak)
{
	return leaks[leak].name;
}

void corpus_make_below(enum corpus corpus, enum corpus_leak leak, uint64_t seed,
		       struct corpus_series *s)
{
	corpus_make(corpus, leaks[leak].below[corpus], seed, s);
}

double corpus_leaks(enum corpus_leak leak, struct corpus_random *r, double rate, double since,
		    double step_s)
{
	double chance = 0.15 * step_s / 10;

	if (leak == LEAK_NIGHTS && fmod(since, DAY_S) > DAY_S / 3)
		return 0;
	if (leak != LEAK_BURSTS)
		return rate * step_s;
	return corpus_random(r) < chance ? rate * step_s / chance * corpus_uniform(r, 0.5, 1.5) : 0;
}

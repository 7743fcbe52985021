/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ten kinds of live bytes over time, leaks and what looks like them, for tests of what tells them apart. */
#ifndef MEMLEAKBPF_TESTS_TREND_KINDS_H
#define MEMLEAKBPF_TESTS_TREND_KINDS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- random numbers: the same on every machine -------------------------------------------- */

/* splitmix64 (Steele, Lea and Flood, 2014). */
static double uniform(uint64_t *seed)
{
	uint64_t z = (*seed += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (double)((z ^ (z >> 31)) >> 11) / (double)(1ull << 53);
}

static double between(uint64_t *seed, double low, double high)
{
	return low + (high - low) * uniform(seed);
}

/* Between, evenly over the orders of magnitude. */
static double log_between(uint64_t *seed, double low, double high)
{
	return low * pow(high / low, uniform(seed));
}

static double normal(uint64_t *seed)
{
	return sqrt(-2 * log(1 - uniform(seed))) * cos(2 * M_PI * uniform(seed));
}

/* ---- ten kinds of series ------------------------------------------------------------------ */

/*
 * A series of n samples with base 1; the caller scales it. Noise of up to 2 % of the base is on all
 * of them.
 */
typedef void generator(uint64_t *seed, size_t n, double *v);

static void leak_linear(uint64_t *seed, size_t n, double *v)
{
	double per_sample = log_between(seed, 0.0015, 0.05);

	for (size_t i = 0; i < n; i++)
		v[i] = 1 + per_sample * (double)i;
}

/* A block is lost per request, and requests come in bursts. */
static void leak_bursts(uint64_t *seed, size_t n, double *v)
{
	double per_burst = log_between(seed, 0.004, 0.05), chance = between(seed, 0.25, 0.8);
	double sum = 1;

	for (size_t i = 0; i < n; i++) {
		v[i] = sum;
		if (uniform(seed) < chance)
			sum += per_burst * between(seed, 0.5, 1.5);
	}
}

static double tooth(double at, double period)
{
	return fmod(at, period) / period;
}

/* A leak below a collected heap. */
static void leak_sawtooth(uint64_t *seed, size_t n, double *v)
{
	double per_sample = log_between(seed, 0.004, 0.05), height = between(seed, 0.05, 0.3);
	double period = between(seed, 3, 6), phase = between(seed, 0, period);

	for (size_t i = 0; i < n; i++)
		v[i] = 1 + per_sample * (double)i + height * tooth((double)i + phase, period);
}

static void steady(uint64_t *seed, size_t n, double *v)
{
	(void)seed;
	for (size_t i = 0; i < n; i++)
		v[i] = 1;
}

/* A working set that wanders about its mean: first-order autoregressive. */
static void wander(uint64_t *seed, size_t n, double *v)
{
	double away = 0, stay = between(seed, 0.5, 0.98), step = between(seed, 0.01, 0.1);

	for (size_t i = 0; i < n; i++) {
		away = stay * away + step * normal(seed);
		v[i] = 1 + away;
	}
}

/*
 * A cache that fills at the start of the watch and is full: ever more slowly, or at one pace.
 * (While it fills at one pace nothing tells it from a leak.)
 */
static void warm_up(uint64_t *seed, size_t n, double *v)
{
	double tau = (double)n * between(seed, 0.03, 0.22), gain = log_between(seed, 0.1, 2);
	double ramp = (double)n * between(seed, 0.1, 0.4);
	bool even = uniform(seed) < 0.5;

	for (size_t i = 0; i < n; i++)
		v[i] = 1 + gain * (even ? fmin((double)i / ramp, 1) : 1 - exp(-(double)i / tau));
}

/* Configuration reloaded, a table doubled: up once to four times, for good. */
static void jumps(uint64_t *seed, size_t n, double *v)
{
	size_t count = 1 + (size_t)(4 * uniform(seed)), at[4];
	double gain[4];

	for (size_t k = 0; k < count; k++) {
		at[k] = (size_t)between(seed, 0, (double)n);
		gain[k] = log_between(seed, 0.05, 1);
	}
	for (size_t i = 0; i < n; i++) {
		v[i] = 1;
		for (size_t k = 0; k < count; k++)
			v[i] += i >= at[k] ? gain[k] : 0;
	}
}

static void collected(uint64_t *seed, size_t n, double *v)
{
	double height = log_between(seed, 0.05, 1), period = between(seed, 3, (double)n / 2);
	double phase = between(seed, 0, period);

	for (size_t i = 0; i < n; i++)
		v[i] = 1 + height * tooth((double)i + phase, period);
}

/* Load that comes and goes; the watch sees between half a wave and four. */
static void wave(uint64_t *seed, size_t n, double *v)
{
	double height = log_between(seed, 0.05, 0.5), waves = log_between(seed, 0.5, 4);
	double phase = between(seed, 0, 2 * M_PI);

	for (size_t i = 0; i < n; i++)
		v[i] = 1 + height * (1 + sin(phase + 2 * M_PI * waves * (double)i / (double)n));
}

/* Jobs that take memory and give it back. */
static void batches(uint64_t *seed, size_t n, double *v)
{
	double height = log_between(seed, 0.1, 2), now = 0;

	for (size_t i = 0; i < n; i++) {
		if (uniform(seed) < 0.15)
			now = now > 0 ? 0 : height * between(seed, 0.5, 1.5);
		v[i] = 1 + now;
	}
}

static const struct kind {
	const char *name;
	generator *make;
	bool leaks;
} kinds[] = {
	{"leak, even", leak_linear, true},
	{"leak, in bursts", leak_bursts, true},
	{"leak under a sawtooth", leak_sawtooth, true},
	{"steady", steady, false},
	{"wandering", wander, false},
	{"warm-up", warm_up, false},
	{"one to four jumps", jumps, false},
	{"sawtooth", collected, false},
	{"wave", wave, false},
	{"batches", batches, false},
};

#define MAX_SAMPLES 600

#endif

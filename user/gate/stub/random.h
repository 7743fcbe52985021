/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Randomness for code that is copied into targets: each slot has a state of its own, 0 to begin with. */
#ifndef MEMLEAKBPF_GATE_STUB_RANDOM_H
#define MEMLEAKBPF_GATE_STUB_RANDOM_H

#include <stdint.h>

/*
 * Of the tool's seed and the place: a processor's clock cannot be read in seccomp's strict mode. The
 * mixing is splitmix64's.
 */
static inline uint64_t stub_first_random(const uint64_t *state, uint64_t seed)
{
	uint64_t x = seed + (uint64_t)state;

	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
	x = (x ^ x >> 27) * 0x94D049BB133111EB;
	return (x ^ x >> 31) | 1;
}

/* xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators"). */
static inline uint64_t stub_random(uint64_t *state, uint64_t seed)
{
	uint64_t x = *state;

	if (!x)
		x = stub_first_random(state, seed);
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545F4914F6CDD1Dull;
}

#endif

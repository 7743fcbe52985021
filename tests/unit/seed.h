/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef MEMLEAKBPF_TESTS_SEED_H
#define MEMLEAKBPF_TESTS_SEED_H

#include <cmocka.h>
#include <stdlib.h>

/*
 * What a test of random numbers begins with: always the same by day. `make test-nightly` gives
 * another one each night (MEMLEAKBPF_SEED), which it prints, and the test as well.
 */
static inline unsigned test_seed(void)
{
	const char *given = getenv("MEMLEAKBPF_SEED");
	unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : 7;

	print_message("MEMLEAKBPF_SEED=%u\n", seed);
	return seed;
}

#endif

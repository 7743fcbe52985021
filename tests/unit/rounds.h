/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef MEMLEAKBPF_TESTS_ROUNDS_H
#define MEMLEAKBPF_TESTS_ROUNDS_H

#include <stdbool.h>
#include <stdlib.h>

/*
 * How often to do what must go well at every instant, where `make test-nightly` does it `all`
 * times: a third by `make test`, a quarter by `make quick` (tests/run), a tenth in a virtual machine
 * that is emulated (tests/vm). Programs that ask for it are those that take long: tests/run starts
 * them first.
 */
static inline int rounds(int all)
{
	int n = all / (getenv("VM_GUEST") ? 10 : getenv("QUICK") ? 4 : getenv("NIGHTLY") ? 1 : 3);

	return n ? n : 1;
}

/*
 * One round more, after so many? Where moments are hit by chance, until one has been `met`, which a
 * few rounds may not do.
 */
static inline bool rounds_left(int done, int all, int met)
{
	return done < rounds(all) || (!met && done < 10 * all);
}

#endif

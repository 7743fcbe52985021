// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Takes memory from two allocators, one after the other from its beginning on: signal_safe.so, which
 * it is linked with, and the C library's, whose malloc() that one has taken the name of.
 */
#include "truth.h"

void *__libc_malloc(size_t size);

SITE static void leak_first(void)
{
	truth_keep(THIS_SITE(), malloc(123), 123);
}

SITE static void leak_second(void)
{
	truth_keep(THIS_SITE(), __libc_malloc(321), 321);
}

int main(void)
{
	for (int i = 0; i < 30; i++) {
		leak_second();
		leak_first();
	}
	truth_print("exit", "");
	_exit(0);
}

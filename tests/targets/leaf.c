// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Leaf sites of differing sizes below a known path, blocks that malloc maps itself, and sites that
 * leak half or nothing.
 */
#include "truth.h"

SITE static void leak_16(void)
{
	truth_keep(THIS_SITE(), malloc(16), 16);
}

SITE static void leak_zero(void)
{
	truth_keep(THIS_SITE(), malloc(0), 0);
}

SITE static void leak_4k(void)
{
	truth_keep(THIS_SITE(), calloc(4, 1024), 4096);
}

/* Large enough that malloc calls mmap inside. */
SITE static void leak_1m(void)
{
	truth_keep(THIS_SITE(), malloc(1 << 20), 1 << 20);
}

SITE static void *half_freed(void)
{
	return truth_keep(THIS_SITE(), malloc(48), 48);
}

SITE static void *all_freed(size_t size)
{
	return truth_keep(THIS_SITE(), malloc(size), size);
}

SITE static void middle(int i)
{
	leak_16();
	if (i % 100 == 0)
		leak_4k();
	if (i % 300 == 0) {
		leak_zero();
		leak_1m();
	}
	NOT_A_TAIL_CALL();
}

SITE static void outer(void)
{
	for (int i = 0; i < 1000; i++)
		middle(i);
	NOT_A_TAIL_CALL();
}

SITE static void churn(void)
{
	for (int i = 0; i < 1000; i++) {
		void *a = all_freed((size_t)i);
		void *b = all_freed(1 << 20);

		truth_free(a);
		truth_free(b);
	}
	NOT_A_TAIL_CALL();
}

static const char *obey(const char *command)
{
	if (!strcmp(command, "go")) {
		outer();
		for (int i = 0; i < 100; i++) {
			void *p = half_freed();

			if (i % 2)
				truth_free(p);
		}
	} else if (!strcmp(command, "free")) {
		truth_free_some(truth_site("leak_4k"), SIZE_MAX);
		truth_free_some(truth_site("leak_1m"), 1);
	} else if (!strcmp(command, "churn")) {
		churn();
	} else {
		return NULL;
	}
	return "";
}

int main(void)
{
	return truth_serve(obey);
}

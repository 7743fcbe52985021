// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Compiled by the symbol tests; not part of them. */
#include <stdlib.h>

void *visible_leaf(size_t size);
void *visible_caller(size_t size);
_Noreturn void never_returns(void);
void alias_of_leaf(void);

__attribute__((noinline)) static void *hidden_leaf(size_t size)
{
	return calloc(1, size);
}

__attribute__((noinline)) void *visible_leaf(size_t size)
{
	return hidden_leaf(size + 1);
}

__attribute__((noinline)) void *visible_caller(size_t size)
{
	void *block = visible_leaf(size);

	return block ? block : visible_leaf(size / 2);
}

/* Its last instruction is a call: the return address lies behind its end. */
__attribute__((noinline)) _Noreturn void never_returns(void)
{
	abort();
}

void *__internal_name_of_leaf(size_t size) __attribute__((alias("visible_leaf")));

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 100)
		never_returns();
	free(visible_caller((size_t)argc));
	free(__internal_name_of_leaf(1));
	return 0;
}

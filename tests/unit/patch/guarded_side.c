// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A program with copies of an allocator's functions, or a library that has some: test_guarded_functions.c. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

#ifdef OWN_FREE
void free(void *block)
{
	(void)block;
}
#endif
#ifdef OWN_MALLOC
void *malloc(size_t size)
{
	static _Alignas(16) char memory[1 << 20];
	static size_t used;
	char *block = memory + used;

	used += (size + 15) & ~(size_t)15;
	return used <= sizeof(memory) ? block : NULL;
}
#endif

int main(int argc, char **argv)
{
	char line[16];

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (argc > 1 && !dlopen(argv[1], RTLD_NOW))
			return 1;
		puts("ready");
		fflush(stdout);
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The same number of bytes in blocks of each of six sizes, allocated and freed at once: what sampling has
 * to estimate alike. A command "go" is one portion of each.
 */
#include "truth.h"

#define PORTION (64ull << 20)
#define TURNS	64

/* Neither the call nor the block is left out. */
#define SIZE_SITE(name, size)                                            \
	SITE static void name(uint64_t count)                            \
	{                                                                \
		for (uint64_t i = 0; i < count; i++) {                   \
			void *block = malloc(size);                      \
                                                                         \
			__asm__ volatile("" : "+r"(block) : : "memory"); \
			free(block);                                     \
		}                                                        \
		NOT_A_TAIL_CALL();                                       \
	}

SIZE_SITE(blocks_of_16, 16)
SIZE_SITE(blocks_of_24, 24)
SIZE_SITE(blocks_of_100, 100)
SIZE_SITE(blocks_of_3000, 3000)
SIZE_SITE(blocks_of_100000, 100000)
SIZE_SITE(blocks_of_1048576, 1048576)

static const struct {
	const char *name;
	void (*allocate)(uint64_t count);
	uint64_t size;
} sizes[] = {
	{"blocks_of_16", blocks_of_16, 16},
	{"blocks_of_24", blocks_of_24, 24},
	{"blocks_of_100", blocks_of_100, 100},
	{"blocks_of_3000", blocks_of_3000, 3000},
	{"blocks_of_100000", blocks_of_100000, 100000},
	{"blocks_of_1048576", blocks_of_1048576, 1048576},
};

static const char *obey(const char *command)
{
	if (strcmp(command, "go") != 0)
		return NULL;
	for (int turn = 0; turn < TURNS; turn++) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			uint64_t count = PORTION / TURNS / sizes[i].size;
			struct truth_site *site = truth_site(sizes[i].name);

			sizes[i].allocate(count);
			site->alloc_count += count;
			site->alloc_bytes += count * sizes[i].size;
			site->free_count = site->alloc_count;
			site->free_bytes = site->alloc_bytes;
		}
	}
	return "";
}

int main(void)
{
	return truth_serve(obey);
}

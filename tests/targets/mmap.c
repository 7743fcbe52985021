// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Memory that the program maps itself, beside memory that malloc maps for it. Commands: go, split, ranges.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "truth.h"

#define PAGE 4096u

__attribute__((always_inline)) static inline void *map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void unmap(void *p, size_t size)
{
	truth_forget(p);
	munmap(p, size);
}

SITE static void *map_leak(size_t size)
{
	return truth_keep(THIS_SITE(), map(size), size);
}

SITE static void *map_freed(size_t size)
{
	return truth_keep(THIS_SITE(), map(size), size);
}

SITE static void map_fails(void)
{
	volatile size_t huge = SIZE_MAX / 4;

	if (map(huge) || map(0))
		truth_die("mmap of a huge size worked");
	NOT_A_TAIL_CALL();
}

/* Shared mappings of a file are the file's memory, not the program's. */
SITE static void map_shared_file(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		truth_die("mmap of a file");
	close(fd);
}

SITE static void *map_grown(void *old, size_t old_size, size_t size)
{
	void *p = mremap(old, old_size, size, MREMAP_MAYMOVE);

	if (p == MAP_FAILED)
		truth_die("mremap");
	truth_forget(old);
	return truth_keep(THIS_SITE(), p, size);
}

SITE static void map_grow_fails(void *old, size_t old_size)
{
	volatile size_t huge = SIZE_MAX / 4;

	if (mremap(old, old_size, huge, MREMAP_MAYMOVE) != MAP_FAILED)
		truth_die("mremap to a huge size worked");
	NOT_A_TAIL_CALL();
}

SITE static void leak_1m(void)
{
	truth_keep(THIS_SITE(), malloc(1 << 20), 1 << 20);
}

/* A hole in the middle: two mappings remain, whose bytes are still the site's. */
SITE static void map_split(void)
{
	char *p = truth_keep(THIS_SITE(), map(8 * PAGE), 8 * PAGE);

	munmap(p + 3 * PAGE, 2 * PAGE);
	THIS_SITE()->free_bytes += 2 * PAGE;
}

/* A system call that nobody sees: what lies between the mappings is known to nobody. */
static char *reserve(size_t size)
{
	long p = syscall(SYS_mmap, 0, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			 -1, 0);

	if (p == -1)
		truth_die("no room for mappings side by side");
	return (char *)p;
}

SITE static char *map_at(char *place, size_t size)
{
	void *p = mmap(place, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		       -1, 0);

	if (p == MAP_FAILED)
		truth_die("mmap of a place");
	return truth_keep(THIS_SITE(), p, size);
}

/* Of a block that was kept at `block` only `size` bytes from `at` on are left. */
static void left_of(char *block, char *at, size_t size)
{
	struct truth_block *b = truth_blocks;

	while (b->address != block)
		b++;
	b->site->free_bytes += b->size - size;
	b->address = at;
	b->size = size;
}

/* Ranges that are not one mapping: each munmap takes what is in it of all that were mapped one by one. */
static void unmap_ranges(void)
{
	const size_t gap = 64ul << 20, far = 64ul << 30;
	char *p = reserve(far + (1ul << 30));
	char *pair[2] = {map_at(p, 4 * PAGE), map_at(p + 4 * PAGE, 8 * PAGE)};
	char *kept, *cut[2], *whole[2];

	/* Two neighbours. */
	truth_forget(pair[0]);
	truth_forget(pair[1]);
	munmap(pair[0], 12 * PAGE);

	/* From within one over two, with memory of nobody's between, into another one; the latest is another. */
	cut[0] = map_at(p + gap, 8 * PAGE);
	whole[0] = map_at(p + gap + 8 * PAGE, PAGE);
	whole[1] = map_at(p + 2 * gap + 5 * PAGE, 3 * PAGE);
	cut[1] = map_at(p + 3 * gap, 8 * PAGE);
	kept = map_at(p + far, 2 * PAGE);
	truth_forget(whole[0]);
	truth_forget(whole[1]);
	left_of(cut[0], cut[0], 2 * PAGE);
	left_of(cut[1], cut[1] + 3 * PAGE, 5 * PAGE);
	munmap(cut[0] + 2 * PAGE, (size_t)(cut[1] + 3 * PAGE - (cut[0] + 2 * PAGE)));

	/* Nothing of what is known is in these. */
	munmap(p + gap + 16 * PAGE, gap / 2);
	munmap(kept + 2 * PAGE, 64 * PAGE);

	/* All that is left, over 65 GiB that are mostly empty. */
	truth_forget(kept);
	truth_forget(cut[0]);
	truth_forget(cut[1] + 3 * PAGE);
	munmap(p, far + (1ul << 30));

	map_at(reserve(gap), 6 * PAGE);
}

static const char *obey(const char *command)
{
	if (!strcmp(command, "go")) {
		for (int i = 0; i < 10; i++) {
			map_leak(3 * PAGE);
			unmap(map_freed(5 * PAGE), 5 * PAGE);
			map_grown(map_freed(2 * PAGE), 2 * PAGE, 6 * PAGE);
			map_grow_fails(map_leak(PAGE), PAGE);
			leak_1m();
		}
		map_fails();
		map_shared_file();
	} else if (!strcmp(command, "split")) {
		map_split();
	} else if (!strcmp(command, "ranges")) {
		unmap_ranges();
	} else {
		return NULL;
	}
	return "";
}

int main(void)
{
	return truth_serve(obey);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Memory that the program maps itself, beside memory that malloc maps for it. Commands: go, split.
 */
#include <fcntl.h>
#include <sys/mman.h>

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
	} else {
		return NULL;
	}
	return "";
}

int main(void)
{
	return truth_serve(obey);
}

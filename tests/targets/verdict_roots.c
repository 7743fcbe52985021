// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Places outside the heap and the stacks that hold blocks. Portable: every C library. */
#include <fcntl.h>
#include <sys/mman.h>

#include "verdict.h"

#define N    64
#define SIZE 72
#define AREA (1 << 20)

/* Writes `count` blocks of the site to `place`. */
SITE static void fill(void *volatile *place, verdict_alloc alloc, int count)
{
	for (int i = 0; i < count; i++)
		place[i] = alloc(SIZE);
}

VERDICT_SITE(in_bss)
VERDICT_SITE(in_data)
VERDICT_SITE(in_static)
VERDICT_SITE(in_tls_bss)
VERDICT_SITE(in_tls_data)
VERDICT_SITE(in_protected)
VERDICT_SITE(dropped)

ROOT void *bss[N], *dropping[N];
ROOT void *data[N + 1] = {[N] = data};
ROOT __thread void *tls_bss[N];
ROOT __thread void *tls_data[N + 1] = {[N] = (void *)1};
/*
 * Written by relocation, then made read-only by the dynamic linker; a page of it is made writable
 * and read-only again here.
 */
ROOT void *protected[8192 / sizeof(void *)] __attribute__((aligned(4096)));

static void globals(void)
{
	ROOT void *in_function[N];

	fill(bss, in_bss, N);
	fill(data, in_data, N);
	fill(in_function, in_static, N);
	EXPECT(in_bss, REACHABLE, N, SIZE);
	EXPECT(in_data, REACHABLE, N, SIZE);
	EXPECT(in_static, REACHABLE, N, SIZE);
}

static void drop(void)
{
	fill(dropping, dropped, N);
	memset(dropping, 0, sizeof(dropping) / 2);
	EXPECT(dropped, DEFINITE, N / 2, SIZE);
	EXPECT(dropped, REACHABLE, N / 2, SIZE);
}

static void tls(void)
{
	fill(tls_bss, in_tls_bss, N);
	fill(tls_data, in_tls_data, N);
	EXPECT(in_tls_bss, REACHABLE, N, SIZE);
	EXPECT(in_tls_data, REACHABLE, N, SIZE);
}

/* A variable that is written once and then protected, as configuration often is. */
static void read_only(void)
{
	fill(protected, in_protected, N);
	if (mprotect(protected, 4096, PROT_READ))
		truth_die("mprotect");
	EXPECT(in_protected, REACHABLE, N, SIZE);
}

VERDICT_SITE(in_anonymous)
VERDICT_SITE(in_anonymous_end)
VERDICT_SITE(in_shared_anonymous)
VERDICT_SITE(in_memfd)
VERDICT_SITE(in_private_memfd)
VERDICT_SITE(in_unmapped)
VERDICT_SITE(in_dontneed)

/*
 * The mapping's address is known to nobody, as in programs that keep offsets: mappings hold by
 * themselves.
 */
SITE static void map_and_fill(int flags, int fd, size_t at, verdict_alloc alloc)
{
	char *area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (area == MAP_FAILED)
		truth_die("mmap");
	fill((void *volatile *)(area + at), alloc, N);
}

static int memory_file(void)
{
	int fd = memfd_create("verdict", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, AREA))
		truth_die("memfd_create");
	return fd;
}

static void mappings(void)
{
	map_and_fill(MAP_PRIVATE | MAP_ANONYMOUS, -1, AREA / 2, in_anonymous);
	map_and_fill(MAP_PRIVATE | MAP_ANONYMOUS, -1, AREA - N * sizeof(void *), in_anonymous_end);
	map_and_fill(MAP_SHARED | MAP_ANONYMOUS, -1, AREA / 2, in_shared_anonymous);
	map_and_fill(MAP_SHARED, memory_file(), AREA / 2, in_memfd);
	map_and_fill(MAP_PRIVATE, memory_file(), AREA / 2, in_private_memfd);
	EXPECT(in_anonymous, REACHABLE, N, SIZE);
	EXPECT(in_anonymous_end, REACHABLE, N, SIZE);
	EXPECT(in_shared_anonymous, REACHABLE, N, SIZE);
	EXPECT(in_memfd, REACHABLE, N, SIZE);
	EXPECT(in_private_memfd, REACHABLE, N, SIZE);
}

/* Mappings that are gone, or whose pages are, hold nothing. */
SITE static void map_and_lose(int unmap, verdict_alloc alloc)
{
	char *area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		truth_die("mmap");
	fill((void *volatile *)area, alloc, N);
	if (unmap ? munmap(area, AREA) : madvise(area, AREA, MADV_DONTNEED))
		truth_die("munmap");
}

static void lost_mappings(void)
{
	map_and_lose(1, in_unmapped);
	map_and_lose(0, in_dontneed);
	EXPECT(in_unmapped, DEFINITE, N, SIZE);
	EXPECT(in_dontneed, DEFINITE, N, SIZE);
}

static const struct verdict_case cases[] = {
	{"globals", globals, 0},   {"drop", drop, 0},	       {"tls", tls, 0},
	{"mappings", mappings, 0}, {"lost", lost_mappings, 0}, {"protected", read_only, 0},
	{NULL, NULL, 0},
};

int main(void)
{
	return verdict_serve(cases);
}

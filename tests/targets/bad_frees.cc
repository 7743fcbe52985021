// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Frees what it should not, each kind in a function of its own, and everything else as it should
 * be. With glibc only "mismatch" and "abort" are possible: it ends the process at the others, so
 * those run with noop_free.so preloaded. "wait" as second argument: a block is allocated first and
 * freed after a line on standard input has come, as is everything else.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <pthread.h>
#include <unistd.h>

#define SITE __attribute__((noipa, used))
/* Keeps a call before it from becoming a tail call. */
#define BARRIER() __asm__ volatile("" ::: "memory")

static char no_block[64];

SITE static void *get(size_t size)
{
	void *p = malloc(size);

	BARRIER();
	return p;
}

SITE static void put(void *p)
{
	free(p);
	BARRIER();
}

SITE static void put_again(void *p)
{
	free(p);
	BARRIER();
}

SITE static void put_inside(char *p)
{
	free(p + 24);
	BARRIER();
}

SITE static void put_static(void)
{
	free(no_block + 16);
	BARRIER();
}

SITE static void put_moved(void *p)
{
	void *q = realloc(p, 100000);

	free(p);
	BARRIER();
	free(q);
}

struct Thing {
	long words[5];
};

SITE static void new_and_free(void)
{
	void *volatile block = new Thing; /* else the compiler leaves both out */

	free(block);
	BARRIER();
}

SITE static void malloc_and_delete(void)
{
	delete static_cast<Thing *>(get(sizeof(Thing)));
	BARRIER();
}

SITE static void array_and_delete(void)
{
	delete new Thing[3];
	BARRIER();
}

SITE static void new_and_array_delete(void)
{
	delete[] new Thing;
	BARRIER();
}

/* All of it right. */
SITE static void controls(void)
{
	for (int i = 0; i < 100; i++) {
		void *p = get(32);

		p = realloc(p, 4000);
		put(p);
		free(nullptr);
		delete new Thing;
		delete[] new Thing[4];
		delete static_cast<Thing *>(nullptr);
		delete[] static_cast<Thing *>(nullptr);
		::operator delete(::operator new(16, std::align_val_t(64)), std::align_val_t(64));
		delete new (std::nothrow) Thing;
		free(calloc(3, 40));
		if (posix_memalign(&p, 64, 100))
			abort();
		free(p);
		free(aligned_alloc(64, 128));
	}
}

/* One call site for all: the compiler would make several of a loop. */
SITE static void repeat(void (*function)(void), int times)
{
	while (times-- > 0) {
		function();
		BARRIER();
	}
}

static void mismatch(void)
{
	repeat(new_and_free, 2);
	repeat(malloc_and_delete, 3);
	repeat(array_and_delete, 4);
	repeat(new_and_array_delete, 5);
}

SITE static void twice(void)
{
	void *p = get(40);

	put(p);
	put_again(p);
}

SITE static void inside(void)
{
	put_inside(static_cast<char *>(get(64)));
}

SITE static void moved(void)
{
	put_moved(get(48));
}

static void all(void)
{
	repeat(twice, 6);
	repeat(inside, 7);
	repeat(put_static, 8);
	repeat(moved, 1);
	mismatch();
}

static void *thread(void *)
{
	controls();
	return nullptr;
}

/* glibc empties the cache of each as it ends: what was freed before it frees once more. */
static void threads(void)
{
	for (int i = 0; i < 3; i++) {
		pthread_t id;

		if (pthread_create(&id, nullptr, thread, nullptr) || pthread_join(id, nullptr))
			abort();
	}
}

int main(int argc, char *argv[])
{
	const char *what = argc > 1 ? argv[1] : "";
	void *before = argc > 2 ? get(500) : nullptr;
	char line[16];

	if (argc > 2) {
		dprintf(1, "ready %d\n", static_cast<int>(getpid()));
		if (read(0, line, sizeof(line)) < 0)
			return 98;
		put(before);
	}
	controls();
	if (!strcmp(what, "all"))
		all();
	if (!strcmp(what, "mismatch"))
		mismatch();
	if (!strcmp(what, "abort"))
		twice();
	if (!strcmp(what, "threads"))
		threads();
	controls();
	return 0;
}

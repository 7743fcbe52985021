// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A program's own operators, which keep books: each block has an entry in a list, allocated by
 * malloc inside operator new, before the block or behind it, and freed inside operator delete. All
 * of that is right. So is what the C++ library does when new(nothrow) fails: its exception is
 * malloc's and is freed by free. And three frees that are wrong: a library's operator would have
 * been called.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#define SITE	  __attribute__((noipa, used))
#define BARRIER() __asm__ volatile("" ::: "memory")

struct entry {
	void *block;
	entry *next;
};

static entry *entries;
static bool books_first;

static void *allocate(std::size_t size)
{
	entry *e = books_first ? static_cast<entry *>(std::malloc(sizeof(*e))) : nullptr;
	void *block = std::malloc(size);

	if (!block) {
		std::free(e);
		throw std::bad_alloc();
	}
	if (!e)
		e = static_cast<entry *>(std::malloc(sizeof(*e)));
	e->block = block;
	e->next = entries;
	entries = e;
	return block;
}

static void release(void *block)
{
	for (entry **at = &entries; block && *at; at = &(*at)->next) {
		entry *e = *at;

		if (e->block != block)
			continue;
		*at = e->next;
		std::free(e);
		break;
	}
	std::free(block);
}

#ifdef OWN
SITE void *operator new(std::size_t size)
{
	void *block = allocate(size);

	BARRIER();
	return block;
}

SITE void operator delete(void *block) noexcept
{
	release(block);
	BARRIER();
}

SITE void operator delete(void *block, std::size_t) noexcept
{
	release(block);
	BARRIER();
}
#endif

SITE static void right(void)
{
	for (int i = 0; i < 50; i++) {
		long *volatile one = new long(i);
		/* Longer than any address space, and the program does not end of it. */
		char *volatile none = new (std::nothrow) char[~0ull >> 2];
		void *other = allocate(24);

		if (none)
			std::abort();
		release(other);
		delete one;
	}
}

SITE static void malloc_and_delete(void)
{
	long *volatile block = static_cast<long *>(std::malloc(sizeof(long)));

	delete block;
	BARRIER();
}

int main(int argc, char *argv[])
{
	books_first = argc > 1 && !std::strcmp(argv[1], "before");
	right();
	/* One call site: the compiler would make three of the loop. */
	for (volatile int i = 0; i < 3; i = i + 1)
		malloc_and_delete();
	return 0;
}

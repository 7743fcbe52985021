// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A hundred handles are lost, and with each a document of twelve parts that nothing else has: what one
 * would look for is forget(). At its end the program prints how much it has lost, and how much hangs on it.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define HANDLES 100
#define PARTS	12

struct document {
	void *parts[PARTS + 1];
};

struct handle {
	document *content;
	int number;
};

static size_t hanging;

template <int Part> __attribute__((noinline)) static void *make_part()
{
	const size_t size = 1000 + Part * 64;
	void *part = malloc(size);

	if (!part)
		abort();
	memset(part, 0, size);
	hanging += size;
	return part;
}

template <int Part> static void make_parts(document *d)
{
	d->parts[Part] = make_part<Part>();
	if constexpr (Part > 0)
		make_parts<Part - 1>(d);
}

__attribute__((noinline)) static document *load()
{
	document *d = new document();

	hanging += sizeof(*d);
	make_parts<PARTS - 1>(d);
	return d;
}

__attribute__((noinline)) static void forget()
{
	handle *h = new handle();

	h->content = load();
	h->number = 1;
	__asm__ volatile("" : : "r"(h) : "memory");
}

/* Nothing of them stays on the stack. */
__attribute__((noinline)) static void wipe()
{
	volatile char bytes[8192];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = 0;
}

int main()
{
	for (int i = 0; i < HANDLES; i++)
		forget();
	wipe();
	printf("%zu %zu\n", HANDLES * sizeof(handle), hanging);
	fflush(stdout);
	return getchar() == EOF;
}

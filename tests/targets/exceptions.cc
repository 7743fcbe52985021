// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * operator new that throws. A call that was left by an exception never returns; the allocations
 * made afterwards, deeper in the stack or not, belong to themselves and not to it. Usage:
 * exceptions [quiet] (nothing throws: mimalloc's operator new, being C, aborts instead).
 */
#include <new>

#include "truth.h"

static volatile size_t huge = SIZE_MAX / 4;
static bool quiet;

struct from_handler {
};

extern "C" {

SITE void *leak_new(size_t size)
{
	return truth_keep(THIS_SITE(), new char[size], size);
}

SITE void *leak_new_single(void)
{
	return truth_keep(THIS_SITE(), new long(5), sizeof(long));
}

SITE void *leak_nothrow(size_t size)
{
	return truth_keep(THIS_SITE(), new (std::nothrow) char[size], size);
}

struct alignas(64) aligned {
	char bytes[192];
};

/*
 * libstdc++ throws inside and catches: the exception's own block is allocated and freed below this
 * function.
 */
SITE bool nothrow_fails(size_t size)
{
	return new (std::nothrow) char[size] != nullptr;
}

SITE void *leak_aligned(void)
{
	return truth_keep(THIS_SITE(), new aligned, sizeof(aligned));
}

SITE void *leak_malloc_deep(void)
{
	return truth_keep(THIS_SITE(), malloc(333), 333);
}

SITE void *leak_new_deep(void)
{
	return truth_keep(THIS_SITE(), new char[222], 222);
}

SITE char *throws(size_t size)
{
	char *p = new char[size];

	NOT_A_TAIL_CALL();
	return p;
}

SITE char *throws_deep(int depth, size_t size)
{
	volatile char room[200];
	char *p;

	room[0] = (char)depth;
	p = depth ? throws_deep(depth - 1, size) : throws(size);
	room[1] = room[0];
	return p;
}

SITE void deeper(int depth)
{
	volatile char room[500];

	room[0] = (char)depth;
	if (depth) {
		deeper(depth - 1);
	} else {
		leak_malloc_deep();
		leak_new_deep();
		delete[] static_cast<char *>(leak_new(50));
		truth_forget(truth_blocks[truth_block_count - 1].address);
	}
	room[1] = room[0];
}
}

static void handler(void)
{
	throw from_handler();
}

static void throw_and_catch(int depth, bool with_handler)
{
	bool caught = false;

	if (quiet)
		return;
	std::set_new_handler(with_handler ? handler : nullptr);
	try {
		throws_deep(depth, huge);
	} catch (const std::bad_alloc &) {
		caught = true;
	} catch (const from_handler &) {
		caught = true;
	}
	std::set_new_handler(nullptr);
	if (!caught)
		truth_die("a huge new did not throw");
}

static const char *obey(const char *command)
{
	if (strcmp(command, "go"))
		return nullptr;
	for (int i = 0; i < 20; i++) {
		leak_new(100);
		leak_new_single();
		throw_and_catch(0, false);
		deeper(5);
		throw_and_catch(8, true);
		deeper(0);
		throw_and_catch(0, true);
		throw_and_catch(3, false);
		throw_and_catch(0, false);
		deeper(20);
		leak_nothrow(60);
		if (!quiet && nothrow_fails(huge))
			truth_die("a huge new worked");
		leak_aligned();
	}
	return "";
}

int main(int argc, char **)
{
	quiet = argc > 1;
	throw_and_catch(1,
			false); /* what the C++ run time allocates once is not part of the truth */
	throw_and_catch(1, true);
	return truth_serve(obey);
}

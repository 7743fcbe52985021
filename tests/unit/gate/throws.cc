// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What a C++ program does of operator new: it sets a handler, and catches. Loaded beside an allocator
// by test_allocators.c.
#include <cstdlib>
#include <new>

static unsigned handled;

static void *volatile kept;

static void give_up()
{
	handled++;
	std::set_new_handler(nullptr);
}

// An allocation that cannot be: how often the handler was called, + 100 if bad_alloc came.
extern "C" unsigned throws_new(std::size_t size, bool array, std::size_t alignment)
{
	unsigned before = handled;

	std::set_new_handler(give_up);
	try {
		if (alignment)
			kept = array ? ::operator new[](size, std::align_val_t(alignment))
				     : ::operator new(size, std::align_val_t(alignment));
		else
			kept = array ? ::operator new[](size) : ::operator new(size);
	} catch (const std::bad_alloc &) {
		return handled - before + 100;
	}
	return handled - before;
}

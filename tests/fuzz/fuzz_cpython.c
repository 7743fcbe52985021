// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* libFuzzer: books of CPython's allocator that lie. */
#include "tests/fuzz/fuzz_books.h"
#include "tests/unit/heap/fake_cpython.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	/* The first byte is the layout. */
	fuzz_books(heap(&layouts[data[0] % ARRAY_SIZE(layouts)]), data + 1, size - 1);
	return 0;
}

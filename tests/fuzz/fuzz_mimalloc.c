// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* libFuzzer: books of mimalloc that lie. */
#include "tests/fuzz/fuzz_books.h"
#include "tests/unit/heap/fake_mimalloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_books(heap(), data, size);
	return 0;
}

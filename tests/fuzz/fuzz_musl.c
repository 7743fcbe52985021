// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* libFuzzer: books of musl that lie. */
#include "tests/fuzz/fuzz_books.h"
#include "tests/unit/heap/fake_musl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct parts parts;

	fuzz_books(heap(&parts), data, size);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* libFuzzer: a mangled name of garbage, and what of it reaches terminals and files. */
#include "tests/fuzz/fuzz.h"

#include "user/symbol/intern.h"
#include "user/symbol/symbol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *name = fuzz_text(data, size);
	_cleanup_free_ char *demangled = symbol_demangle(name);
	struct intern_pool *pool = intern_pool_new();
	const char *first, *again;

	MUST(!demangled || strlen(demangled) <= 4003);
	if (!pool)
		return 0;
	first = intern_bytes(pool, (const char *)data, size);
	if (first) {
		fuzz_must_be_clean(first);
		again = intern(pool, first); /* clean already: nothing to change */
		MUST(again == first);
	}
	if (demangled)
		fuzz_must_be_clean(intern(pool, demangled));
	intern_pool_free(pool);
	return 0;
}

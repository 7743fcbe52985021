/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a name of a perf map says: runtimes put the script and the line into it, each in its own way. Which
 * runtime it is, is told by the name alone, and only where no other one is known to write such names.
 */
#ifndef MEMLEAKBPF_SYMBOL_JIT_NAME_H
#define MEMLEAKBPF_SYMBOL_JIT_NAME_H

#include <stddef.h>
#include <stdint.h>

#include "user/model/frame.h"

/* Parts of the name, which need not end with a NUL. */
struct jit_name {
	enum frame_kind kind;
	const char *function;
	size_t function_len;
	const char *file; /* NULL: the name has none */
	size_t file_len;
	uint32_t line; /* where the function begins; 0: the name does not say */
};

/*
 * Never fails: a name that is not understood is a function of that name, of an unknown runtime
 * (FRAME_KIND_JIT).
 *
 * - CPython: "py::QUALNAME:FILE" (Python/perf_trampoline.c)
 * - V8: "TAG:", a mark of the code's tier, "FUNCTION SCRIPT:LINE:COLUMN"; and names of its own
 *   code. See src/logging/log.cc, CodeEventLogger. Before V8 9.6 JS was LazyCompile or Function
 * - HotSpot: "TYPE CLASS.METHOD(TYPES)" (CodeCache::write_perf_map(), Method::external_name()); and
 *   names of its own code. By perf-map-agent "Lpackage/Class;::method"
 * - .NET: "RETURN [ASSEMBLY] CLASS::METHOD(TYPES)[TIER]" (src/coreclr/vm/perfmap.cpp)
 */
struct jit_name jit_name_parse(const char *name, size_t len);

#endif

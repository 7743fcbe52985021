// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/own_calls.h"

#include "user/target/allocator.h"
#include "user/target/provider_options.h"
#include "user/trace/skeleton.h"
#include "user/trace/state.h"
#include "user/trace/trace.h"

_Static_assert(ALLOC_OWN_MAX == OWN_FUNCTIONS_MAX, "one limit, for both sides");

void own_calls_configure(const struct provider_options *options,
			 struct own_function rows[static OWN_FUNCTIONS_MAX])
{
	for (size_t i = 0; i < options->custom_count; i++) {
		const struct alloc_fn *fn = &options->custom[i];

		if (fn->own)
			rows[fn->own - 1].ok = fn->ok;
	}
}

uint64_t trace_own_functions(const struct trace *trace)
{
	return trace->own_found;
}

struct own_calls trace_own_calls(const struct trace *trace, size_t i)
{
	const struct provider_options *options = &trace->options.providers;
	struct own_function row;

	if (i >= options->custom_count || !options->custom[i].own)
		return (struct own_calls){0};
	row = trace->skel->bss->own_functions[options->custom[i].own - 1];
	return (struct own_calls){.calls = row.calls, .failed = row.failed, .result = row.result};
}

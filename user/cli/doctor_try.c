// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/cli/doctor_try.h"

#include <stdio.h>
#include <string.h>

#include "bpf/abi.h"
#include "user/export/json_parts.h"
#include "user/trace/trace.h"

void doctor_try_load(struct doctor_try *out)
{
	/* Small maps: we do not test how large they may be. */
	struct trace_options options = {
		.children = CHILDREN_EXACT,
		.max_size = UINT64_MAX,
		.max_frames = ABI_MAX_FRAMES,
		.max_live = 65536,
		.max_stacks = 1024,
		.usdt = TRACE_USDT_FOUND,
		.gate_later = true,
		.hold_at_end = true,
		.wait_loaded = true,
		.ages = true,
	};
	const struct trace_callbacks callbacks = {.ctx = NULL};
	struct trace *trace = NULL;

	*out = (struct doctor_try){.err = trace_options_choose(&options, ATTACH_AUTO)};
	if (!out->err)
		out->err = trace_new(&options, &callbacks, &trace);
	if (out->err)
		return;
	out->missing = *trace_missing(trace);
	trace_free(trace);
}

void doctor_try_print(const struct doctor_try *tried)
{
	if (tried->err) {
		printf("  %-8s %-24s %s\n", "FAILED", "the whole load", "standard error says why");
		return;
	}
	if (!tried->missing.count)
		printf("  %-8s %s\n", "ok", "the whole load");
	for (size_t i = 0; i < tried->missing.count; i++) {
		printf("  %-8s %-24s %s\n", "missing", tried->missing.parts[i].what,
		       tried->missing.parts[i].why);
		printf("  %8s   without it: %s\n", "", tried->missing.parts[i].costs);
	}
}

void doctor_try_put(struct json *to, const struct doctor_try *tried)
{
	json_object(to, "try");
	json_bool(to, "loads", !tried->err);
	if (tried->err)
		json_text(to, "why", strerror(-tried->err));
	json_put_missing(to, &tried->missing);
	json_end(to);
}

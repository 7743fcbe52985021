// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* libFuzzer: a file of suppressions, and two stacks that it is matched against. */
#include "tests/fuzz/fuzz.h"

#include "tests/unit/borrowed_report.h"
#include "user/analysis/suppress.h"

static const struct frame allocation = {
	.function = "malloc", .module = "libc.so.6", .module_path = "/lib/libc.so.6"};
static const struct frame operator_new = {.function = "operator new(unsigned long)",
					  .symbol = "_Znwm",
					  .module = "libstdc++.so.6",
					  .module_path = "/lib/libstdc++.so.6"};
static const struct frame caller = {.function = "shop::Archive::keep(char const*)",
				    .symbol = "_ZN4shop7Archive4keepEPKc",
				    .module = "shop",
				    .module_path = "/srv/shop",
				    .file = "/src/archive.cc",
				    .line = 42};
static const struct frame unknown = {.offset = 0x1234};
static const struct frame *const frames[] = {&allocation, &operator_new, &caller, &unknown,
					     &caller};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = fuzz_text(data, size);
	struct suppressions *s = suppressions_new();
	struct stack stacks[] = {
		{.live = {10, 2}, .frames = frames, .frame_count = 5},
		{.live = {5, 1}, .verdict = {{5, 1}}, .frames = frames + 2, .frame_count = 1},
	};
	struct snapshot snapshot = {.stacks = stacks, .stack_count = 2};
	struct report *r = report_borrow(&snapshot);

	if (!s)
		abort();
	if (!suppressions_parse(s, "fuzz", text, size)) {
		MUST(!suppressions_apply(s, r));
		/* Each block is suppressed once, or not at all. */
		MUST(r->suppressed->total.bytes ==
		     (r->notes[0].hidden ? 10u : 0) + (r->notes[1].hidden ? 5u : 0));
		snapshot.verdict.state = VERDICT_TAKEN;
		MUST(!suppressions_apply(s, r));
		MUST(r->suppressed->total.bytes <= 5);
		suppressions_match_free(s, frames, 5);
	}
	report_drop(r);
	suppressions_free(s);
	return 0;
}

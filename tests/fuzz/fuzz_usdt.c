// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* libFuzzer: what the note of a USDT probe says of its arguments, for both machines. */
#include "tests/fuzz/fuzz.h"

#include "user/target/usdt_args.h"

#define WORDS_X86_64  20 /* r15 to rsp in struct pt_regs */
#define WORDS_AARCH64 32 /* x0 to sp */

static void check(const struct usdt_arg *arg, uint8_t words)
{
	bool reads = arg->kind == USDT_MEMORY;

	MUST(arg->kind == USDT_CONSTANT || arg->kind == USDT_REGISTER || reads);
	MUST(arg->size == 1 || arg->size == 2 || arg->size == 4 || arg->size == 8);
	MUST(arg->kind == USDT_CONSTANT ? arg->reg == USDT_NO_REGISTER : arg->reg < words);
	MUST(arg->index == USDT_NO_REGISTER || (reads && arg->index < words));
	MUST(arg->shift <= 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = fuzz_text(data, size);
	struct usdt_arg args[USDT_ARGS];

	for (size_t count = 0; count <= USDT_ARGS; count++) {
		bool x86_64 = !usdt_args_parse_x86_64(text, args, count);

		for (size_t i = 0; x86_64 && i < count; i++)
			check(&args[i], WORDS_X86_64);
		if (usdt_args_parse_aarch64(text, args, count))
			continue;
		for (size_t i = 0; i < count; i++)
			check(&args[i], WORDS_AARCH64);
	}
	return 0;
}

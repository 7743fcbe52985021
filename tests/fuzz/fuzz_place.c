// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * libFuzzer: machine code of garbage. Two bytes say what is asked, the rest is code: a place for a
 * probe in it, and where it returns, for both machines.
 */
#include "tests/fuzz/fuzz.h"

#include "user/probe/place.h"
#include "user/probe/returns.h"

#define VADDR 0x401000

struct code {
	const uint8_t *bytes;
	size_t size;
	uint8_t hint;
};

static size_t read_code(void *ctx, uint64_t vaddr, uint8_t *to, size_t size)
{
	const struct code *code = ctx;

	if (vaddr < VADDR || vaddr - VADDR >= code->size)
		return 0;
	if (size > code->size - (vaddr - VADDR))
		size = code->size - (vaddr - VADDR);
	memcpy(to, code->bytes + (vaddr - VADDR), size);
	return size;
}

static uint64_t end_of(void *ctx, uint64_t vaddr)
{
	const struct code *code = ctx;
	uint64_t half = VADDR + code->size / 2;

	if (code->hint & 1)
		return UINT64_MAX;
	return vaddr < half && code->hint & 2 ? half : VADDR + code->size;
}

static enum returns_target jump(void *ctx, uint64_t *vaddr)
{
	const struct code *code = ctx;

	if (*vaddr - VADDR < code->size)
		return RETURNS_CODE;
	return *vaddr & 1 ? RETURNS_PROBED : RETURNS_UNKNOWN;
}

static enum returns_target jump_through(void *ctx, uint64_t *vaddr)
{
	(void)ctx;
	*vaddr = VADDR;
	return RETURNS_CODE;
}

static void find_returns(struct code *code)
{
	const struct returns_source source = {.read = read_code,
					      .end = end_of,
					      .jump = jump,
					      .jump_through = jump_through,
					      .ctx = code};
	int (*const find[])(const struct returns_source *, uint64_t,
			    struct returns *) = {returns_find_x86_64, returns_find_aarch64};

	for (size_t i = 0; i < ARRAY_SIZE(find); i++) {
		struct returns returns = {.count = 0};

		if (find[i](&source, VADDR, &returns))
			continue;
		MUST(returns.count <= RETURNS_MAX);
		for (size_t site = 0; site < returns.count; site++) {
			MUST(returns.sites[site] - VADDR < code->size);
			MUST(!site || returns.sites[site] > returns.sites[site - 1]);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct place_request request = {.vaddr = VADDR};
	_cleanup_free_ char *copy = NULL;
	struct place place;
	struct code code;

	if (size < 3)
		return 0;
	copy = fuzz_text(data + 2, size - 2);
	request.code = (const uint8_t *)copy;
	request.size = size - 2;
	request.args_read = data[0] & 0x3f;
	request.args_may_move = data[0] & 0x40;
	request.null_skippable = data[0] & 0x80;
	request.kernel = data[1] & 1 ? PLACE_KERNEL(6, 18) : PLACE_KERNEL(5, 10);
	place_find_x86_64(&request, &place);
	MUST(place.offset < request.size);
	MUST(memchr(place.instruction, '\0', sizeof(place.instruction)));
	place_find_aarch64(&request, &place);
	MUST(place.offset < request.size);
	MUST(memchr(place.instruction, '\0', sizeof(place.instruction)));
	code = (struct code){
		.bytes = request.code, .size = request.size, .hint = (uint8_t)(data[1] >> 1)};
	find_returns(&code);
	return 0;
}

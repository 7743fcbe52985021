// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/runtime_codes.h"

#include <stdlib.h>

/* Of a target. A name takes some 200 bytes more, once. */
#define CODES_MAX 1000000

static void runtime_code_free(const struct runtime_codes *codes, struct runtime_code *code)
{
	if (codes->free_code)
		codes->free_code(code);
	else
		free(code);
}

static void runtime_code_remove(struct runtime_codes *codes, struct runtime_code *code)
{
	HASH_DEL(codes->table, code);
	runtime_code_free(codes, code);
}

void runtime_codes_clear(struct runtime_codes *codes)
{
	struct runtime_code *code, *next;

	HASH_ITER (hh, codes->table, code, next)
		runtime_code_remove(codes, code);
}

struct runtime_code *runtime_codes_find(const struct runtime_codes *codes,
					const struct runtime_call *call)
{
	const struct runtime_call key = {
		.code = call->code, .cookie = call->cookie, .place = call->place & ~RUNTIME_ENTRY};
	struct runtime_code *code;

	HASH_FIND(hh, codes->table, &key, sizeof(key), code);
	return code;
}

bool runtime_codes_are_full(const struct runtime_codes *codes)
{
	return HASH_COUNT(codes->table) >= CODES_MAX;
}

void runtime_codes_put(struct runtime_codes *codes, struct runtime_code *code)
{
	struct runtime_code *known = runtime_codes_find(codes, &code->call);

	if (code->frame && known)
		runtime_code_remove(codes, known);
	if (code->frame)
		HASH_ADD(hh, codes->table, call, sizeof(code->call), code);
	if (!code->frame || !code->hh.tbl)
		runtime_code_free(codes, code);
}

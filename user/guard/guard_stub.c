// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/guard/guard_stub.h"

#include <errno.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/gate/stub.h"

#ifdef __x86_64__
/* The Makefile makes it from user/guard/stub/. */
__asm__(".pushsection .rodata\n"
	".balign 64\n"
	"guard_code_begin: .incbin \"guard_code.bin\"\n"
	"guard_code_end:\n"
	".balign 8\n"
	"guard_table_begin: .incbin \"guard_table.bin\"\n"
	"guard_table_end:\n"
	".popsection\n");
extern const uint8_t guard_code_begin[], guard_code_end[];
extern const struct guard_stub guard_table_begin[], guard_table_end[];
#else
#define guard_code_begin  ((const uint8_t *)0)
#define guard_code_end	  ((const uint8_t *)0)
#define guard_table_begin ((const struct guard_stub *)0)
#define guard_table_end	  ((const struct guard_stub *)0)
#endif

/* Offsets of the numbers in shr $.., %rax; cmp $.., %rax. */
#define MINE_SHIFT  3
#define MINE_NUMBER 6

/* Twice as much fits into 64 bits, and a distance below it is drawn without a bias to speak of. */
#define PERIOD_MAX (1ull << 40)

const uint8_t *guard_code(size_t *size)
{
	*size = (size_t)(guard_code_end - guard_code_begin);
	return guard_code_begin;
}

const struct guard_stub *guard_stubs(size_t *count)
{
	*count = (size_t)(guard_table_end - guard_table_begin);
	return guard_table_begin;
}

struct guard_told guard_told(void)
{
	struct guard_told told = {0};
	size_t count;
	const struct guard_stub *stubs = guard_stubs(&count);

	/* A stub has 0 for events that it does not tell. */
	for (size_t i = 0; i < count; i++) {
		const uint32_t probes[] = {stubs[i].allocated, stubs[i].freed, stubs[i].bad};

		for (size_t j = 0; j < GUARD_PROBES; j++)
			told.probes[j] = told.probes[j] ?: probes[j];
		told.given = told.given ?: stubs[i].given;
	}
	return told;
}

bool guard_count_fits(uint32_t count)
{
	return count >= 8 && count <= GUARD_COUNT_MAX && !(count & (count - 1));
}

/* Fills in the numbers that tell a block of the pool from others. */
static int guard_write_mine(uint8_t *mine, uint64_t pool, uint32_t count)
{
	uint8_t shift = (uint8_t)(GUARD_PLACE_BITS + __builtin_ctz(count));
	uint64_t number = pool >> shift;
	int32_t written = (int32_t)number;

	if (number << shift != pool)
		return -EINVAL;
	if (number > INT32_MAX)
		return -ERANGE;
	mine[MINE_SHIFT] = shift;
	memcpy(mine + MINE_NUMBER, &written, sizeof(written));
	return 0;
}

int guard_fill_stub(uint8_t *code, uint64_t address, const struct guard_stub *stub,
		    const struct guard_function *function, uint64_t pool, uint32_t count)
{
	int err;

	if (!stub->instead != !function->instead || !guard_count_fits(count))
		return -EINVAL;
	err = displace_write(&function->request, &function->plan, address + stub->room,
			     code + stub->room);
	if (err < 0)
		return err;
	if (stub->instead) {
		err = displace_jump(address + stub->instead, address + function->instead->room,
				    code + stub->instead);
		if (err)
			return err;
	}
	if (stub->mine) {
		err = guard_write_mine(code + stub->mine, pool, count);
		if (err)
			return err;
	}
	return gate_write_undo(code, address, stub->undo, function->plan.undo, stub->entry);
}

void guard_header_init(struct guard_header *header, uint64_t period, unsigned at_left,
		       bool by_fault)
{
	*header = (struct guard_header){
		.period = period < PERIOD_MAX ? period : PERIOD_MAX,
		.alive = 1,
		.seed = monotonic_ns(),
		.at_left = at_left,
		.by_fault = by_fault,
	};
}

void guard_pool_init(struct guard_pool *pool, uint64_t base, uint64_t save, uint32_t count,
		     bool keep_pages)
{
	*pool = (struct guard_pool){
		.base = base, .save = save, .count = count, .keep_pages = keep_pages};
}

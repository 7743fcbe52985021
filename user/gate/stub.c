// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/gate/stub.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "user/base/clock.h"

#ifdef __x86_64__
/* The Makefile makes it from user/gate/stub/. */
__asm__(".pushsection .rodata\n"
	".balign 64\n"
	"gate_code_begin: .incbin \"gate_code.bin\"\n"
	"gate_code_end:\n"
	".balign 8\n"
	"gate_table_begin: .incbin \"gate_table.bin\"\n"
	"gate_table_end:\n"
	".popsection\n");
extern const uint8_t gate_code_begin[], gate_code_end[];
extern const struct gate_stub gate_table_begin[], gate_table_end[];
#else
#define gate_code_begin	 ((const uint8_t *)0)
#define gate_code_end	 ((const uint8_t *)0)
#define gate_table_begin ((const struct gate_stub *)0)
#define gate_table_end	 ((const struct gate_stub *)0)
#endif

/*
 * With its fraction it fits into 64 bits, and so does the longest distance, which is 64 times as
 * long.
 */
#define MEAN_MAX (1ull << 46)

const uint8_t *gate_code(size_t *size)
{
	*size = (size_t)(gate_code_end - gate_code_begin);
	return gate_code_begin;
}

const struct gate_stub *gate_stubs(size_t *count)
{
	*count = (size_t)(gate_table_end - gate_table_begin);
	return gate_table_begin;
}

int gate_write_undo(uint8_t *code, uint64_t address, uint32_t at, uint32_t undo, uint32_t to)
{
	static const uint8_t lea[4] = {0x48, 0x8d, 0xa4, 0x24};
	_Static_assert(sizeof(lea) + sizeof(undo) + DISPLACE_JUMP <= GATE_UNDO, "fits");

	memcpy(code + at, lea, sizeof(lea));
	memcpy(code + at + sizeof(lea), &undo, sizeof(undo));
	at += (uint32_t)(sizeof(lea) + sizeof(undo));
	return displace_jump(address + at, address + to, code + at);
}

int gate_fill_stub(uint8_t *code, uint64_t address, const struct gate_stub *stub,
		   const struct gate_function *function)
{
	_Static_assert(DISPLACE_ROOM_MAX <= GATE_ROOM, "fits");
	uint64_t room = address + stub->room;
	int err = function->onward
			  ? displace_write_onward(&function->request, &function->plan,
						  function->onward, room, code + stub->room)
			  : displace_write(&function->request, &function->plan, room,
					   code + stub->room);

	if (err < 0)
		return err;
	if (!stub->instead != !function->instead)
		return -EINVAL;
	if (stub->instead) {
		err = displace_jump(address + stub->instead, address + function->instead->room,
				    code + stub->instead);
		if (err)
			return err;
	}
	err = gate_write_undo(code, address, stub->undo, function->plan.undo,
			      function->calls_others ? stub->nesting : stub->entry);
	if (err)
		return err;
	return gate_write_undo(code, address, stub->exact_undo, function->plan.undo, stub->exact);
}

void gate_header_init(struct gate_header *header, uint64_t mean)
{
	*header = (struct gate_header){0};
	header->seed = monotonic_ns();
	if (mean > MEAN_MAX)
		mean = MEAN_MAX;
	if (mean)
		header->mean_ln2 = (uint64_t)lround((double)mean * M_LN2 * (1 << GATE_MEAN_BITS));
	for (size_t i = 0; i < GATE_LOG2_ENTRIES; i++)
		header->log2[i] = (uint32_t)lround(log2(1 + (double)i / 256) * (1 << 24));
}

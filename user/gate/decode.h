/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decodes x86_64 instructions one after the other, by capstone, and tells what the ABI makes of
 * registers.
 */
#ifndef MEMLEAKBPF_GATE_DECODE_H
#define MEMLEAKBPF_GATE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <capstone/capstone.h>

struct decoder {
	csh handle;
	cs_insn *insn; /* the one decoded last */
	const uint8_t *code;
	size_t left;
	uint64_t address; /* of the next one */
};

/* 0 or -ENOMEM. The code stays the caller's. */
int decoder_open(struct decoder *d, const uint8_t *code, size_t size, uint64_t address);
void decoder_close(struct decoder *d);

/* Decodes the next instruction into d->insn; false: there is none, or it is unknown. */
bool decode(struct decoder *d);

/* About d->insn. */
const cs_x86 *decode_operands(const struct decoder *d);
bool decode_is(const struct decoder *d, unsigned group);
bool decode_branches(const struct decoder *d); /* to an address that is in the instruction */
uint64_t decode_target(const struct decoder *d);

/*
 * The number of a register that a function may write (System V ABI, AMD64 supplement, 3.2.1). 1 to
 * DECODE_ARGUMENTS hold arguments, in their order, then come %rax, %r10 and %r11. All parts of a
 * register have its number. 0: the register is the caller's.
 */
#define DECODE_ARGUMENTS 6
#define DECODE_REGISTERS 9
unsigned decode_register(unsigned reg);

/* The registers that d->insn writes, as bits: 1 << number. */
uint32_t decode_writes(const struct decoder *d);

#endif

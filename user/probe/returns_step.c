// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/probe/returns_step.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#include <capstone/capstone.h>

#include "user/base/util.h"

struct decoder {
	csh handle;
	cs_insn *insn;
};

struct decoder *decoder_new(void)
{
	struct decoder *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &d->handle) != CS_ERR_OK) {
		free(d);
		return NULL;
	}
	if (cs_option(d->handle, CS_OPT_DETAIL, CS_OPT_ON) == CS_ERR_OK)
		d->insn = cs_malloc(d->handle);
	if (!d->insn) {
		decoder_free(d);
		return NULL;
	}
	return d;
}

void decoder_free(struct decoder *decoder)
{
	if (!decoder)
		return;
	if (decoder->insn)
		cs_free(decoder->insn, 1);
	cs_close(&decoder->handle);
	free(decoder);
}

/* jmp, in all its forms */
static void x86_jump(const cs_insn *insn, struct step *out)
{
	const cs_x86_op *op = &insn->detail->x86.operands[0];

	out->kind = STEP_JUMP_UNKNOWN;
	if (insn->detail->x86.op_count != 1)
		return;
	if (op->type == X86_OP_IMM) {
		out->kind = STEP_JUMP;
		out->target = (uint64_t)op->imm;
	} else if (op->type == X86_OP_MEM && op->mem.base == X86_REG_RIP &&
		   op->mem.index == X86_REG_INVALID && op->mem.segment == X86_REG_INVALID) {
		out->kind = STEP_JUMP_THROUGH;
		out->target = insn->address + insn->size + (uint64_t)op->mem.disp;
	}
}

/*
 * The near return, possibly with the prefixes that compilers put before it; kernels take probes on
 * all of them.
 */
static bool x86_near_return(const cs_insn *insn)
{
	const uint8_t *b = insn->bytes;
	size_t at = 0;

	while (at + 1 < insn->size && (b[at] == 0xf2 || b[at] == 0xf3))
		at++;
	return b[at] == 0xc3 || b[at] == 0xc2;
}

void step_x86_64(struct decoder *decoder, const uint8_t *code, size_t size, uint64_t vaddr,
		 struct step *out)
{
	const cs_insn *insn = decoder->insn;

	*out = (struct step){.kind = STEP_UNDECODABLE};
	if (!cs_disasm_iter(decoder->handle, &code, &size, &vaddr, decoder->insn))
		return;
	out->size = (uint8_t)insn->size;
	switch (insn->id) {
	case X86_INS_NOP:
		out->kind = STEP_NOP;
		return;
	case X86_INS_CALL:
	case X86_INS_LCALL:
		out->kind = STEP_CALL;
		return;
	case X86_INS_JMP:
	case X86_INS_LJMP:
		x86_jump(insn, out);
		return;
	case X86_INS_UD0:
	case X86_INS_UD2B:
	case X86_INS_UD2:
	case X86_INS_INT3:
	case X86_INS_HLT:
		out->kind = STEP_STOP;
		return;
	default:
		break;
	}
	if (cs_insn_group(decoder->handle, insn, CS_GRP_RET) ||
	    cs_insn_group(decoder->handle, insn, CS_GRP_IRET)) {
		out->kind = x86_near_return(insn) ? STEP_RETURN : STEP_RETURN_UNPROBED;
	} else if (cs_insn_group(decoder->handle, insn, CS_GRP_JUMP) ||
		   cs_insn_group(decoder->handle, insn, CS_GRP_BRANCH_RELATIVE)) {
		/* jcc, jrcxz, loop */
		const cs_x86_op *op = &insn->detail->x86.operands[0];

		out->kind = STEP_JUMP_UNKNOWN;
		if (insn->detail->x86.op_count == 1 && op->type == X86_OP_IMM) {
			out->kind = STEP_BRANCH;
			out->target = (uint64_t)op->imm;
		}
	} else {
		out->kind = STEP_NEXT;
	}
}

static uint64_t signed_distance(uint32_t word, unsigned low, unsigned bits)
{
	uint64_t value = (word >> low) & ((1ull << bits) - 1);

	if (value >> (bits - 1))
		value |= ~((1ull << bits) - 1);
	return value << 2;
}

/*
 * Encodings: Arm Architecture Reference Manual, C4.1 "Branches, Exception Generating and System
 * instructions". The kernel simulates ret; returns with pointer authentication it neither simulates
 * nor steps (arch/arm64/kernel/probes/decode-insn.c).
 */
void step_aarch64(const uint8_t *code, size_t size, uint64_t vaddr, struct step *out)
{
	uint32_t w;

	*out = (struct step){.kind = STEP_UNDECODABLE};
	if (size < sizeof(w))
		return;
	memcpy(&w, code, sizeof(w));
	w = le32toh(w);
	out->size = sizeof(w);
	out->kind = STEP_NEXT;
	if ((w & 0xfffffc1f) == 0xd65f0000) { /* ret */
		out->kind = STEP_RETURN;
	} else if ((w & 0xfffffbff) == 0xd65f0bff) { /* retaa, retab */
		out->kind = STEP_RETURN_UNPROBED;
	} else if ((w & 0xfc000000) == 0x94000000 ||
		   (w & 0xfefff000) == 0xd63f0000) { /* bl, blr… */
		out->kind = STEP_CALL;
	} else if ((w & 0xfc000000) == 0x14000000) { /* b */
		out->kind = STEP_JUMP;
		out->target = vaddr + signed_distance(w, 0, 26);
	} else if ((w & 0xff000000) == 0x54000000 || (w & 0x7e000000) == 0x34000000) {
		/* b.cond, bc.cond, cbz, cbnz */
		out->kind = STEP_BRANCH;
		out->target = vaddr + signed_distance(w, 5, 19);
	} else if ((w & 0x7e000000) == 0x36000000) { /* tbz, tbnz */
		out->kind = STEP_BRANCH;
		out->target = vaddr + signed_distance(w, 5, 14);
	} else if ((w & 0xfe000000) == 0xd6000000) { /* br, braa, eret … */
		out->kind = STEP_JUMP_UNKNOWN;
	} else if ((w & 0xffe0001f) == 0xd4200000 ||
		   (w & 0xffe0001f) == 0xd4400000) { /* brk, hlt */
		out->kind = STEP_STOP;
	} else if (w == 0xd503201f) {
		out->kind = STEP_NOP;
	} else if (!(w >> 16)) { /* udf */
		out->kind = STEP_STOP;
	}
}

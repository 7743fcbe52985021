// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/gate/decode.h"

#include <errno.h>

#include "user/base/util.h"

int decoder_open(struct decoder *d, const uint8_t *code, size_t size, uint64_t address)
{
	*d = (struct decoder){.code = code, .left = size, .address = address};
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &d->handle))
		return -ENOMEM;
	cs_option(d->handle, CS_OPT_DETAIL, CS_OPT_ON);
	d->insn = cs_malloc(d->handle);
	if (d->insn)
		return 0;
	cs_close(&d->handle);
	return -ENOMEM;
}

void decoder_close(struct decoder *d)
{
	cs_free(d->insn, 1);
	cs_close(&d->handle);
}

bool decode(struct decoder *d)
{
	return cs_disasm_iter(d->handle, &d->code, &d->left, &d->address, d->insn);
}

const cs_x86 *decode_operands(const struct decoder *d)
{
	return &d->insn->detail->x86;
}

bool decode_is(const struct decoder *d, unsigned group)
{
	return cs_insn_group(d->handle, d->insn, (uint8_t)group);
}

bool decode_branches(const struct decoder *d)
{
	const cs_x86 *x86 = decode_operands(d);

	return x86->op_count && x86->operands[0].type == X86_OP_IMM &&
	       (decode_is(d, CS_GRP_JUMP) || decode_is(d, CS_GRP_CALL) ||
		decode_is(d, CS_GRP_BRANCH_RELATIVE));
}

uint64_t decode_target(const struct decoder *d)
{
	return (uint64_t)decode_operands(d)->operands[0].imm;
}

static const uint16_t registers[DECODE_REGISTERS][5] = {
	{X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL},
	{X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL},
	{X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH},
	{X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH},
	{X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B},
	{X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B},
	{X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH},
	{X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B},
	{X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B},
};

unsigned decode_register(unsigned reg)
{
	for (unsigned r = 0; reg && r < ARRAY_SIZE(registers); r++) {
		for (size_t i = 0; i < ARRAY_SIZE(registers[r]); i++) {
			if (registers[r][i] == reg)
				return 1 + r;
		}
	}
	return 0;
}

uint32_t decode_writes(const struct decoder *d)
{
	uint32_t written = 0;
	cs_regs read, write;
	uint8_t reads, writes;

	if (cs_regs_access(d->handle, d->insn, read, &reads, write, &writes))
		return 0;
	for (uint8_t i = 0; i < writes; i++)
		written |= 1u << decode_register(write[i]);
	return written & ~1u;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/gate/displace.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "user/base/util.h"
#include "user/gate/decode.h"

static int displace_open(struct decoder *d, const struct displace_request *request)
{
	return decoder_open(d, request->code,
			    request->size < DISPLACE_CODE_MAX ? request->size : DISPLACE_CODE_MAX,
			    request->address);
}

/* ---- the first instruction ---------------------------------------------------------------- */

/* Does the operand's value, or its address, depend on the register? */
static bool displace_reads(const cs_x86_op *op, unsigned reg)
{
	if (op->type == X86_OP_REG)
		return decode_register(op->reg) == reg;
	return op->type == X86_OP_MEM &&
	       (decode_register(op->mem.base) == reg || decode_register(op->mem.index) == reg);
}

/*
 * Does it load a register that holds nothing yet, from a source that it leaves alone? Then the
 * second run does the same as the first.
 */
static bool displace_repeats_load(const cs_x86 *x86, unsigned arguments)
{
	unsigned to;

	if (x86->op_count != 2 || x86->operands[0].type != X86_OP_REG)
		return false;
	to = decode_register(x86->operands[0].reg);
	return to > arguments && !displace_reads(&x86->operands[1], to);
}

/* Does it clear a register: xor %eax,%eax? */
static bool displace_clears(const cs_x86 *x86, unsigned arguments)
{
	const cs_x86_op *op = x86->operands;

	return x86->op_count == 2 && op[0].type == X86_OP_REG && op[1].type == X86_OP_REG &&
	       op[0].reg == op[1].reg && decode_register(op[0].reg) > arguments;
}

/* NULL: it can stay, and *undo is set. */
static const char *displace_keep_first(const struct decoder *d, unsigned arguments, uint32_t *undo)
{
	const cs_x86 *x86 = decode_operands(d);
	const cs_x86_op *op = x86->operands;

	*undo = 0;
	switch (d->insn->id) {
	case X86_INS_ENDBR64:
	case X86_INS_NOP:
	case X86_INS_TEST:
	case X86_INS_CMP:
		return NULL;
	case X86_INS_PUSH:
		*undo = 8;
		return op->type == X86_OP_REG && op->size == 8
			       ? NULL
			       : "its first instruction pushes no register";
	case X86_INS_SUB:
		if (op[0].type != X86_OP_REG || op[0].reg != X86_REG_RSP ||
		    op[1].type != X86_OP_IMM || op[1].imm <= 0 || op[1].imm > INT32_MAX)
			break;
		*undo = (uint32_t)op[1].imm;
		return NULL;
	case X86_INS_XOR:
		if (displace_clears(x86, arguments))
			return NULL;
		break;
	case X86_INS_MOV:
	case X86_INS_MOVABS:
	case X86_INS_MOVZX:
	case X86_INS_MOVSX:
	case X86_INS_MOVSXD:
	case X86_INS_LEA:
		if (displace_repeats_load(x86, arguments))
			return NULL;
		break;
	default:
		break;
	}
	return "its first instruction cannot run twice";
}

/* ---- what the jump displaces -------------------------------------------------------------- */

static bool displace_ends(const struct decoder *d)
{
	return d->insn->id == X86_INS_JMP || decode_is(d, CS_GRP_RET) ||
	       d->insn->id == X86_INS_UD2 || d->insn->id == X86_INS_INT3 ||
	       d->insn->id == X86_INS_HLT;
}

/* jcc and jmp with an offset of one byte or four; loops and jrcxz have no longer form. */
static bool displace_is_plain_branch(const cs_insn *insn)
{
	const uint8_t *b = insn->bytes;

	return b[0] == 0xe9 || b[0] == 0xeb || (b[0] & 0xf0) == 0x70 ||
	       (b[0] == 0x0f && (b[1] & 0xf0) == 0x80);
}

/* NULL: the instruction may run elsewhere. */
static const char *displace_allows(const struct decoder *d, bool enough)
{
	if (decode_is(d, CS_GRP_INT) ||
	    (decode_is(d, CS_GRP_CALL) && !(decode_branches(d) && d->insn->bytes[0] == 0xe8)))
		return "a call by a pointer stands where the jump would";
	if (displace_ends(d) && !enough)
		return "it is shorter than the jump";
	if (decode_branches(d) && !decode_is(d, CS_GRP_CALL) && !displace_is_plain_branch(d->insn))
		return "a branch of a kind that cannot be moved stands where the jump would";
	return NULL;
}

static const char *displace_measure(struct decoder *d, const struct displace_request *request,
				    struct displaced *out)
{
	const char *why;

	if (!decode(d))
		return "its first instruction is unknown";
	why = displace_keep_first(d, request->arguments, &out->undo);
	out->kept = d->insn->size;
	while (!why && out->length < DISPLACE_JUMP) {
		if (!decode(d))
			return "it is shorter than the jump";
		why = displace_allows(d, out->length + d->insn->size >= DISPLACE_JUMP);
		out->length += d->insn->size;
	}
	return why;
}

int displace_plan(const struct displace_request *request, struct displaced *out, const char **why)
{
	struct decoder d;

	*out = (struct displaced){0};
	*why = "no memory to decode it";
	if (displace_open(&d, request))
		return -EOPNOTSUPP;
	*why = displace_measure(&d, request, out);
	decoder_close(&d);
	return *why ? -EOPNOTSUPP : 0;
}

/* ---- the room ----------------------------------------------------------------------------- */

static int displace_relative(uint64_t next, uint64_t target, uint8_t to[4])
{
	int64_t distance = (int64_t)(target - next);
	int32_t near = (int32_t)distance;

	if (near != distance)
		return -ERANGE;
	memcpy(to, &near, sizeof(near));
	return 0;
}

int displace_jump(uint64_t address, uint64_t target, uint8_t jump[DISPLACE_JUMP])
{
	jump[0] = 0xe9;
	return displace_relative(address + DISPLACE_JUMP, target, jump + 1);
}

uint64_t displace_jump_target(const uint8_t jump[static DISPLACE_JUMP], uint64_t address)
{
	int32_t distance;

	memcpy(&distance, jump + 1, sizeof(distance));
	return address + DISPLACE_JUMP + (uint64_t)(int64_t)distance;
}

/*
 * Writes the branch with an offset of four bytes, to its present target. Returns the length or
 * -ERANGE.
 */
static int displace_write_branch(const cs_insn *insn, uint64_t target, uint64_t address,
				 uint8_t *to)
{
	const uint8_t *b = insn->bytes;
	int err;

	if (b[0] == 0xe9 || b[0] == 0xeb) {
		err = displace_jump(address, target, to);
		return err ? err : DISPLACE_JUMP;
	}
	to[0] = 0x0f;
	to[1] = (uint8_t)(0x80 | ((b[0] == 0x0f ? b[1] : b[0]) & 0xf));
	err = displace_relative(address + 6, target, to + 2);
	return err ? err : 6;
}

/*
 * Writes a call that returns to where it always did, behind the jump: no return address is ever in
 * the room. (It is the last displaced instruction: with it there is room for the jump.) lea
 * -8(%rsp),%rsp; movl $,(%rsp); movl $,4(%rsp); jmp. Returns the length or -ERANGE.
 */
static int displace_write_call(const struct decoder *d, uint64_t address, uint8_t *to)
{
	static const uint8_t lea[] = {0x48, 0x8d, 0x64, 0x24, 0xf8};
	static const uint8_t low[] = {0xc7, 0x04, 0x24}, high[] = {0xc7, 0x44, 0x24, 0x04};
	uint64_t back = d->insn->address + d->insn->size;
	uint8_t *p = to;
	int err;

	p = mempcpy(p, lea, sizeof(lea));
	p = mempcpy(p, low, sizeof(low));
	p = mempcpy(p, &back, 4);
	p = mempcpy(p, high, sizeof(high));
	p = mempcpy(p, (uint8_t *)&back + 4, 4);
	err = displace_jump(address + (uint64_t)(p - to), decode_target(d), p);
	return err ? err : (int)(p - to) + DISPLACE_JUMP;
}

/* Returns the length or -ERANGE. */
static int displace_write_insn(const struct decoder *d, uint64_t address, uint8_t *to)
{
	const cs_x86 *x86 = decode_operands(d);
	const cs_insn *insn = d->insn;

	if (decode_is(d, CS_GRP_CALL))
		return displace_write_call(d, address, to);
	if (decode_branches(d))
		return displace_write_branch(insn, (uint64_t)x86->operands[0].imm, address, to);
	memcpy(to, insn->bytes, insn->size);
	for (uint8_t i = 0; i < x86->op_count; i++) {
		const cs_x86_op *op = &x86->operands[i];
		uint8_t at = x86->encoding.disp_offset;

		if (op->type != X86_OP_MEM || op->mem.base != X86_REG_RIP)
			continue;
		if (!at || at + 4 > insn->size ||
		    displace_relative(address + insn->size,
				      insn->address + insn->size + (uint64_t)op->mem.disp, to + at))
			return -ERANGE;
	}
	return insn->size;
}

/* Writes the first `end` bytes of the function, and a jump to `onward`. */
static int displace_write_until(const struct displace_request *request, uint32_t end,
				uint64_t onward, uint64_t address, uint8_t room[DISPLACE_ROOM_MAX])
{
	uint32_t done = 0;
	struct decoder d;
	int written = 0, length = 0;

	if (displace_open(&d, request))
		return -ERANGE;
	while (length >= 0 && done < end && decode(&d)) {
		length = displace_write_insn(&d, address + (uint64_t)written, room + written);
		written += length;
		done += d.insn->size;
	}
	decoder_close(&d);
	if (length < 0 || done != end ||
	    displace_jump(address + (uint64_t)written, onward, room + written))
		return -ERANGE;
	return written + DISPLACE_JUMP;
}

int displace_write(const struct displace_request *request, const struct displaced *plan,
		   uint64_t address, uint8_t room[DISPLACE_ROOM_MAX])
{
	uint32_t end = plan->kept + plan->length;

	return displace_write_until(request, end, request->address + end, address, room);
}

int displace_write_onward(const struct displace_request *request, const struct displaced *plan,
			  uint64_t onward, uint64_t address, uint8_t room[DISPLACE_ROOM_MAX])
{
	return displace_write_until(request, plan->kept, onward, address, room);
}

/* ---- who else comes there ----------------------------------------------------------------- */

/* Are the bytes before `at` the opcode of a direct branch with a distance of four bytes? */
static bool displace_is_branch(const uint8_t *text, size_t at)
{
	return (at >= 1 && (text[at - 1] == 0xe8 || text[at - 1] == 0xe9)) ||
	       (at >= 2 && text[at - 2] == 0x0f && (text[at - 1] & 0xf0) == 0x80);
}

/*
 * Looks at the distance first: hardly one of a million fits, while each tenth byte could be an
 * opcode. There are megabytes, for each function of each process: most of what a gate costs us.
 */
static bool displace_text_enters(const uint8_t *text, size_t size, uint64_t address, uint64_t first,
				 uint64_t last)
{
	uint32_t length = (uint32_t)(last - first) + 1, from = (uint32_t)(address + 4 - first);
	uint32_t distance;

	for (size_t i = 0; i + sizeof(distance) <= size; i++) {
		memcpy(&distance, text + i, sizeof(distance));
		if (from + (uint32_t)i + distance < length && displace_is_branch(text, i) &&
		    address + 4 + i + (uint64_t)(int64_t)(int32_t)distance - first < length)
			return true;
	}
	return false;
}

/* Does a direct branch of the function itself, of any length, go there? -1: no memory. */
static int displace_enters_itself(const struct displace_request *request, uint64_t first,
				  uint64_t last)
{
	struct decoder d;
	int entered = 0;

	if (displace_open(&d, request))
		return -1;
	d.left = request->size;
	while (!entered && decode(&d)) {
		uint64_t target = (uint64_t)decode_operands(&d)->operands[0].imm;

		entered = decode_branches(&d) && target >= first && target <= last;
	}
	decoder_close(&d);
	return entered;
}

bool displace_is_entered(const struct displace_request *request, const struct displaced *plan,
			 const uint8_t *text, size_t text_size, uint64_t text_address)
{
	uint64_t first = request->address + plan->kept, last = first + plan->length - 1;

	return displace_text_enters(text, text_size, text_address, first, last) ||
	       displace_enters_itself(request, first, last) != 0;
}

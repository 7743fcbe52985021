// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * x86_64. The kernel emulates the instructions of arch/x86/kernel/uprobes.c, branch_setup_xol_ops()
 * and push_setup_xol_ops(). It refuses those of validate_insn_64bits() there.
 * tests/unit/probe/test_place_live.c checks both against the running kernel.
 *
 * A call that the function's cold part (NAME.cold, another symbol) makes back into the prologue
 * would not be seen. Compilers jump back from there to join points behind the prologue, never into
 * the few instructions at the entry that this walk passes.
 */
#include <stdio.h>
#include <string.h>

#include <capstone/capstone.h>

#include "user/base/util.h"
#include "user/probe/place_args.h"

#define MAX_CODE (256 * 1024) /* larger functions get their entry; allocators' are under 8 KiB */

struct walk {
	const struct place_request *request;
	csh handle;
	cs_insn *insn;
	struct place_args args;
	uint64_t first_target; /* lowest offset > 0 to which a branch in the function goes */
	bool computed_jump;
	bool undecodable;
};

enum effect {
	EFFECT_EMULATED,
	EFFECT_NOP5,
	EFFECT_STEPPED,
	EFFECT_REFUSED,
};

static bool x86_is_call(const cs_insn *insn)
{
	return insn->id == X86_INS_CALL || insn->id == X86_INS_LCALL;
}

static bool x86_is_branch(csh handle, const cs_insn *insn)
{
	return x86_is_call(insn) || cs_insn_group(handle, insn, CS_GRP_JUMP) ||
	       cs_insn_group(handle, insn, CS_GRP_BRANCH_RELATIVE);
}

/* Notes where one instruction may jump to. */
static void x86_note_branch(struct walk *w)
{
	const cs_x86_op *op = &w->insn->detail->x86.operands[0];
	uint64_t target;

	if (!x86_is_branch(w->handle, w->insn) || !w->insn->detail->x86.op_count)
		return;
	if (op->type == X86_OP_IMM) {
		target = (uint64_t)op->imm - w->request->vaddr;
		if (target > 0 && target < w->first_target)
			w->first_target = target;
		return;
	}
	/*
	 * jmp *slot(%rip) is a tail call through the GOT; any other computed jump may be a switch.
	 */
	if (x86_is_call(w->insn) || (op->type == X86_OP_MEM && op->mem.base == X86_REG_RIP &&
				     op->mem.index == X86_REG_INVALID))
		return;
	w->computed_jump = true;
}

/* Decodes the whole function for its branches. */
static void x86_scan_branches(struct walk *w)
{
	const uint8_t *code = w->request->code;
	size_t left = w->request->size;
	uint64_t address = w->request->vaddr;

	w->first_target = UINT64_MAX;
	while (left) {
		if (!cs_disasm_iter(w->handle, &code, &left, &address, w->insn)) {
			w->undecodable = true;
			return;
		}
		x86_note_branch(w);
	}
}

/* The kernel's own table of nops (x86_nops), which it compares byte by byte from 6.16 on. */
static bool x86_is_long_nop(const cs_insn *insn)
{
	static const struct {
		uint8_t size, bytes[8];
	} nops[] = {
		{2, {0x66, 0x90}},
		{3, {0x0f, 0x1f, 0x00}},
		{4, {0x0f, 0x1f, 0x40, 0x00}},
		{5, {0x0f, 0x1f, 0x44, 0x00, 0x00}},
		{6, {0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00}},
		{7, {0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00}},
		{8, {0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(nops); i++) {
		if (insn->size == nops[i].size && !memcmp(insn->bytes, nops[i].bytes, insn->size))
			return true;
	}
	return false;
}

/*
 * Instructions that uprobes refuse to sit on. More than any one kernel refuses: a probe can do
 * without them all.
 */
static bool x86_is_refused(const cs_insn *insn)
{
	static const uint8_t prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0xf0};
	const uint8_t *b = insn->bytes;

	for (size_t i = 0; i < 4 && i < insn->size; i++, b++) {
		if (memchr(prefixes, *b, sizeof(prefixes)))
			return true;
		if (!memchr("\x64\x65\x66\x67\xf2\xf3", *b, 6) && (*b & 0xf0) != 0x40)
			break;
	}
	/* "Word-sized" branches; kernels before 6.2 take 66 90 for one. */
	if (insn->bytes[0] == 0x66 &&
	    (*b == 0x90 || *b == 0xe8 || *b == 0xe9 || (*b & 0xf0) == 0x70))
		return true;
	switch (*b) {
	case 0x62: /* EVEX */
	case 0xc4: /* VEX */
	case 0xc5:
	case 0xf1: /* int1 */
	case 0xf4: /* hlt */
	case 0xfa: /* cli, sti */
	case 0xfb:
		return true;
	case 0x6c ... 0x6f: /* in, out */
	case 0xe4 ... 0xe7:
	case 0xec ... 0xef:
	case 0xcc ... 0xcf: /* int3, int, iret */
		return true;
	case 0x0f:
		if (insn->bytes + insn->size - b < 2)
			return true;
		/*
		 * system instructions and ud2; three-byte opcodes, popcnt and prefetch on old
		 * kernels
		 */
		return b[1] < 0x0e || b[1] == 0x18 || (b[1] & 0xfc) == 0x24 || b[1] == 0x34 ||
		       b[1] == 0x35 || b[1] == 0x38 || b[1] == 0x3a || b[1] == 0xb8 || b[1] == 0xff;
	default:
		return false;
	}
}

/*
 * The cost of a probe on this instruction. Prefixed forms of emulated instructions are left out:
 * kernels differ.
 */
static enum effect x86_classify(const struct walk *w)
{
	const cs_insn *insn = w->insn;
	const uint8_t *b = insn->bytes;
	uint64_t page_left = 4096 - (insn->address & 4095);

	if (b[0] == 0x90 || b[0] == 0xe8 || b[0] == 0xe9 || b[0] == 0xeb || (b[0] & 0xf0) == 0x70)
		return EFFECT_EMULATED;
	if ((b[0] & 0xf8) == 0x50 || (b[0] == 0x41 && insn->size == 2 && (b[1] & 0xf8) == 0x50))
		return EFFECT_EMULATED;
	if (b[0] == 0x0f && insn->size > 1 && (b[1] & 0xf0) == 0x80)
		return EFFECT_EMULATED;
	if (x86_is_long_nop(insn) && w->request->kernel >= PLACE_KERNEL(6, 16)) {
		/*
		 * Seen on 6.18; 7.3 emulates it like the others. Kernels between them are unknown:
		 * we claim nothing.
		 */
		if (insn->size == 5 && page_left >= 5 &&
		    w->request->kernel >= PLACE_KERNEL(6, 18) &&
		    w->request->kernel < PLACE_KERNEL(7, 0))
			return EFFECT_NOP5;
		return EFFECT_EMULATED;
	}
	return x86_is_refused(insn) ? EFFECT_REFUSED : EFFECT_STEPPED;
}

/*
 * The argument registers and their parts, in the order of the ABI; then registers that nothing may
 * write.
 */
#define REG_OTHER (-1)
#define REG_FIXED PLACE_ARGS
static int x86_register_index(unsigned reg)
{
	static const uint16_t parts[][5] = {
		{X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL},
		{X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL},
		{X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH},
		{X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH},
		{X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B},
		{X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B},
		{X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL},
		/* walks along frame pointers start from it */
		{X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(parts[i]) && parts[i][j]; j++) {
			if (parts[i][j] == reg)
				return i < PLACE_ARGS ? (int)i : REG_FIXED;
		}
	}
	return REG_OTHER;
}

/* The argument register, if the operand is a whole 64-bit one; REG_OTHER for a part of one. */
static int x86_whole_argument(const cs_x86_op *op)
{
	int index =
		op->type == X86_OP_REG && op->size == 8 ? x86_register_index(op->reg) : REG_OTHER;

	return index < PLACE_ARGS ? index : REG_OTHER;
}

/* Instructions whose only effect is on their first operand and the flags, or on nothing at all. */
static bool x86_is_plain(unsigned id)
{
	static const uint16_t plain[] = {
		X86_INS_MOV,	 X86_INS_MOVABS, X86_INS_MOVZX,	 X86_INS_MOVSX,	 X86_INS_MOVSXD,
		X86_INS_LEA,	 X86_INS_TEST,	 X86_INS_CMP,	 X86_INS_AND,	 X86_INS_OR,
		X86_INS_XOR,	 X86_INS_ADD,	 X86_INS_SUB,	 X86_INS_ADC,	 X86_INS_SBB,
		X86_INS_INC,	 X86_INS_DEC,	 X86_INS_NEG,	 X86_INS_NOT,	 X86_INS_SHL,
		X86_INS_SHR,	 X86_INS_SAR,	 X86_INS_ROL,	 X86_INS_ROR,	 X86_INS_BT,
		X86_INS_BSR,	 X86_INS_BSF,	 X86_INS_LZCNT,	 X86_INS_TZCNT,	 X86_INS_NOP,
		X86_INS_ENDBR64, X86_INS_MOVD,	 X86_INS_MOVQ,	 X86_INS_PXOR,	 X86_INS_XORPS,
		X86_INS_MOVAPS,	 X86_INS_MOVUPS, X86_INS_MOVDQA, X86_INS_MOVDQU, X86_INS_SETE,
		X86_INS_SETNE,	 X86_INS_SETA,	 X86_INS_SETAE,	 X86_INS_SETB,	 X86_INS_SETBE,
		X86_INS_SETG,	 X86_INS_SETGE,	 X86_INS_SETL,	 X86_INS_SETLE,	 X86_INS_SETO,
		X86_INS_CMOVE,	 X86_INS_CMOVNE, X86_INS_CMOVA,	 X86_INS_CMOVAE, X86_INS_CMOVB,
		X86_INS_CMOVBE,	 X86_INS_CMOVG,	 X86_INS_CMOVGE, X86_INS_CMOVL,	 X86_INS_CMOVLE,
		X86_INS_CMOVS,	 X86_INS_CMOVNS,
	};

	for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
		if (plain[i] == id)
			return true;
	}
	return id == X86_INS_IMUL; /* the forms with two and three operands; see x86_pass() */
}

static bool x86_is_stack_operand(const cs_x86_op *op)
{
	return op->type == X86_OP_MEM && (x86_register_index(op->mem.base) == REG_FIXED ||
					  x86_register_index(op->mem.index) == REG_FIXED);
}

/* Can the place be behind this instruction? Keeps track of the arguments then. */
static bool x86_pass(struct walk *w)
{
	const cs_insn *insn = w->insn;
	const cs_x86 *x86 = &insn->detail->x86;
	const cs_x86_op *op = x86->operands;
	int from = REG_OTHER, to = REG_OTHER;
	uint8_t read_count, write_count;
	cs_regs read, written;
	unsigned killed = 0;

	if (!x86_is_plain(insn->id) || (insn->id == X86_INS_IMUL && x86->op_count < 2))
		return false;
	if (insn->id == X86_INS_NOP || insn->id == X86_INS_ENDBR64 || insn->id == X86_INS_TEST ||
	    insn->id == X86_INS_CMP || insn->id == X86_INS_BT)
		return true;
	/* A store through stack or frame pointer might hit the return address. */
	if (!x86->op_count || (insn->id != X86_INS_LEA && x86_is_stack_operand(&op[0])))
		return false;
	if (cs_regs_access(w->handle, insn, read, &read_count, written, &write_count))
		return false;
	/*
	 * The destination by the operands, and all registers that the decoder calls written,
	 * implicit operands included.
	 */
	if (op[0].type == X86_OP_REG && write_count < ARRAY_SIZE(written))
		written[write_count++] = (uint16_t)op[0].reg;
	for (uint8_t i = 0; i < write_count; i++) {
		int index = x86_register_index(written[i]);

		if (index == REG_FIXED)
			return false;
		if (index != REG_OTHER)
			killed |= 1u << index;
	}
	if (insn->id == X86_INS_MOV && x86->op_count == 2) {
		to = x86_whole_argument(&op[0]);
		from = x86_whole_argument(&op[1]);
	}
	return place_args_write(&w->args, killed, from, to);
}

static bool x86_is_null_test(const struct walk *w)
{
	const cs_insn *insn = w->insn;
	const cs_x86 *x86 = &insn->detail->x86;
	int index;

	if (insn->id != X86_INS_TEST || x86->op_count != 2 || x86->operands[1].type != X86_OP_REG ||
	    x86->operands[0].reg != x86->operands[1].reg)
		return false;
	index = x86_whole_argument(&x86->operands[0]);
	return index != REG_OTHER && w->args.in[0] & 1u << index;
}

static bool x86_keeps_flags(const cs_insn *insn)
{
	switch (insn->id) {
	case X86_INS_MOV:
	case X86_INS_MOVABS:
	case X86_INS_MOVZX:
	case X86_INS_LEA:
	case X86_INS_NOP:
	case X86_INS_ENDBR64:
		return true;
	default:
		return false;
	}
}

static void x86_choose(const struct walk *w, enum effect effect, const char *reason,
		       struct place *out)
{
	const cs_insn *insn = w->insn;

	out->offset = (uint32_t)(insn->address - w->request->vaddr);
	out->cost = effect == EFFECT_NOP5	? PLACE_NOP5
		    : effect == EFFECT_EMULATED ? PLACE_EMULATED
						: PLACE_STEPPED;
	out->reason = reason;
	place_args_store(&w->args, out);
	snprintf(out->instruction, sizeof(out->instruction), "%.15s%s%.30s", insn->mnemonic,
		 insn->op_str[0] ? " " : "", insn->op_str);
}

/* Walks forward from the entry, as long as every call passes with all that the handler needs. */
static void x86_walk_entry(struct walk *w, struct place *out)
{
	bool chosen = false, null_tested = false, after_null_test = false;
	const struct place_request *r = w->request;
	const uint8_t *code = r->code;
	uint64_t address = r->vaddr;
	size_t left = r->size;

	while (left && cs_disasm_iter(w->handle, &code, &left, &address, w->insn)) {
		uint64_t offset = w->insn->address - r->vaddr;
		enum effect effect = x86_classify(w);

		if (offset && offset >= w->first_target) {
			if (!chosen || out->cost == PLACE_STEPPED)
				out->reason = "entry: the function branches back to before a "
					      "better place";
			return;
		}
		if (effect == EFFECT_EMULATED || effect == EFFECT_NOP5) {
			x86_choose(w, effect,
				   after_null_test ? "emulated, behind the test for NULL"
				   : offset	   ? "first emulated instruction"
						   : "entry, emulated",
				   out);
			/* je right after `test %rdi, %rdi`: a call that jumps frees nothing. */
			if (!null_tested || w->insn->id != X86_INS_JE || after_null_test)
				return;
			chosen = after_null_test = true;
			continue;
		}
		if (!offset && effect == EFFECT_REFUSED)
			x86_choose(w, effect, "entry: the kernel may refuse a probe here", out);
		if (!chosen && effect == EFFECT_STEPPED) {
			x86_choose(w, effect, "entry: no emulated instruction in reach", out);
			if (offset)
				out->reason = "the entry cannot be probed";
			chosen = true;
		}
		if (!x86_pass(w))
			return;
		if (x86_is_null_test(w))
			null_tested = r->null_skippable && r->args_read & 1;
		else if (!x86_keeps_flags(w->insn))
			null_tested = false;
	}
}

void place_find_x86_64(const struct place_request *request, struct place *out)
{
	struct walk w = {.request = request};

	place_args_init(&w.args, request);
	*out = (struct place){.cost = PLACE_STEPPED, .reason = "entry: the code cannot be decoded"};
	place_args_store(&w.args, out);
	if (!request->size || cs_open(CS_ARCH_X86, CS_MODE_64, &w.handle) != CS_ERR_OK)
		return;
	if (cs_option(w.handle, CS_OPT_DETAIL, CS_OPT_ON) == CS_ERR_OK)
		w.insn = cs_malloc(w.handle);
	if (!w.insn)
		goto out_close;
	if (request->size <= MAX_CODE)
		x86_scan_branches(&w);
	else
		w.undecodable = true;
	/*
	 * With an unknown jump in the function, calls are sure to pass only the entry exactly once.
	 */
	if (w.undecodable || w.computed_jump)
		w.first_target = 1;
	x86_walk_entry(&w, out);
	if (w.first_target == 1 && out->cost == PLACE_STEPPED)
		out->reason = w.computed_jump ? "entry: the function has computed jumps"
					      : "entry: the function cannot be decoded whole";
	cs_free(w.insn, 1);
out_close:
	cs_close(&w.handle);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/unwind/cfa.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <string.h>

/* remember_state nests one or two deep in real code. */
#define MAX_REMEMBERED 16

/* Vendor instructions that dwarf.h does not name everywhere. */
#define CFA_MIPS_ADVANCE_LOC8	 0x1d
#define CFA_AARCH64_NEGATE_RA_PC 0x2c
#define CFA_AARCH64_NEGATE_RA	 0x2d

/* DWARF register numbers; from the processor supplements of the ABI. */
#define X86_64_RBP  6
#define X86_64_RSP  7
#define X86_64_RIP  16
#define AARCH64_X29 29
#define AARCH64_SP  31

uint64_t cfa_read_uleb(struct bytes_reader *r)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; r->p < r->end; shift += 7) {
		uint8_t byte = *r->p++;

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	r->bad = true;
	return 0;
}

int64_t cfa_read_sleb(struct bytes_reader *r)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; r->p < r->end;) {
		uint8_t byte = *r->p++;

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (byte & 0x80)
			continue;
		if ((byte & 0x40) && shift < 64)
			value |= ~0ull << shift;
		return (int64_t)value;
	}
	r->bad = true;
	return 0;
}

uint64_t cfa_read_encoded(struct bytes_reader *r, uint8_t encoding, uint64_t place)
{
	uint64_t value;

	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		value = bytes_get_number(r, 8);
		break;
	case DW_EH_PE_udata4:
		value = bytes_get_number(r, 4);
		break;
	case DW_EH_PE_sdata4:
		value = (uint64_t)(int64_t)(int32_t)bytes_get_number(r, 4);
		break;
	case DW_EH_PE_udata2:
		value = bytes_get_number(r, 2);
		break;
	case DW_EH_PE_sdata2:
		value = (uint64_t)(int64_t)(int16_t)bytes_get_number(r, 2);
		break;
	case DW_EH_PE_uleb128:
		value = cfa_read_uleb(r);
		break;
	case DW_EH_PE_sleb128:
		value = (uint64_t)cfa_read_sleb(r);
		break;
	default:
		r->bad = true;
		return 0;
	}
	switch (encoding & 0xf0) {
	case DW_EH_PE_absptr:
		return value;
	case DW_EH_PE_pcrel:
		return value + place;
	default:
		r->bad = true;
		return 0;
	}
}

struct interpreter {
	const struct cfa_context *context;
	struct cfa_state *state;
	struct bytes_reader r;
	struct cfa_state remembered[MAX_REMEMBERED];
	unsigned int depth;
	const uint8_t *instructions;
	uint64_t place;
	uint64_t pc, end;
	bool changed; /* since the last row */
	cfa_emit emit;
	void *arg;
};

static int64_t cfa_scale(uint64_t value, int64_t factor)
{
	return (int64_t)(value *
			 (uint64_t)factor); /* wraps, as hostile input may ask for anything */
}

/* The column of a register we follow, or NULL. */
static struct cfa_rule *cfa_column_of(struct interpreter *in, uint64_t reg, enum cfa_column *column)
{
	uint64_t fp = in->context->machine == EM_X86_64 ? X86_64_RBP : AARCH64_X29;

	if (reg == in->context->ra_column)
		*column = CFA_COLUMN_RA;
	else if (reg == fp)
		*column = CFA_COLUMN_FP;
	else
		return NULL;
	return &in->state->column[*column];
}

static void cfa_set_rule(struct interpreter *in, uint64_t reg, enum cfa_how how, int64_t offset)
{
	enum cfa_column column;
	struct cfa_rule *rule = cfa_column_of(in, reg, &column);

	if (!rule)
		return;
	*rule = (struct cfa_rule){.how = how, .offset = offset};
	in->changed = true;
}

static void cfa_restore_rule(struct interpreter *in, uint64_t reg)
{
	enum cfa_column column;
	struct cfa_rule *rule = cfa_column_of(in, reg, &column);

	if (!rule)
		return;
	if (in->context->initial)
		*rule = in->context->initial->column[column];
	else
		*rule = (struct cfa_rule){0};
	in->changed = true;
}

static void cfa_read_expression(struct interpreter *in, struct cfa_rule *rule)
{
	uint64_t len = cfa_read_uleb(&in->r);

	if (len > (uint64_t)(in->r.end - in->r.p)) {
		in->r.bad = true;
		len = 0;
	}
	if (rule) {
		*rule = (struct cfa_rule){
			.how = CFA_HOW_EXPR, .expr = in->r.p, .expr_len = (size_t)len};
		in->changed = true;
	}
	in->r.p += len;
}

static int cfa_advance_to(struct interpreter *in, uint64_t pc)
{
	int err;

	if (pc <= in->pc) /* going backwards would put rows out of order */
		return pc == in->pc ? 0 : -EINVAL;
	if (in->changed && in->emit && in->pc < in->end) {
		err = in->emit(in->arg, in->pc, in->state);
		if (err)
			return err;
		in->changed = false;
	}
	in->pc = pc;
	return 0;
}

static int cfa_advance(struct interpreter *in, uint64_t delta)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(delta, in->context->code_align, &bytes) ||
	    __builtin_add_overflow(in->pc, bytes, &bytes))
		return -EINVAL;
	return cfa_advance_to(in, bytes);
}

static int cfa_remember(struct interpreter *in)
{
	if (in->depth == MAX_REMEMBERED)
		return -EINVAL;
	in->remembered[in->depth++] = *in->state;
	return 0;
}

static int cfa_recall(struct interpreter *in)
{
	if (!in->depth)
		return -EINVAL;
	*in->state = in->remembered[--in->depth];
	in->changed = true;
	return 0;
}

/* The instructions that say where the CFA is. */
static bool cfa_run_def(struct interpreter *in, uint8_t op)
{
	struct cfa_rule *cfa = &in->state->column[CFA_COLUMN_CFA];
	struct bytes_reader *r = &in->r;

	switch (op) {
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
		*cfa = (struct cfa_rule){.how = CFA_HOW_OFFSET, .reg = cfa_read_uleb(r)};
		cfa->offset = op == DW_CFA_def_cfa ? (int64_t)cfa_read_uleb(r)
						   : cfa_scale((uint64_t)cfa_read_sleb(r),
							       in->context->data_align);
		break;
	case DW_CFA_def_cfa_register:
		cfa->reg = cfa_read_uleb(r);
		break;
	case DW_CFA_def_cfa_offset:
		cfa->offset = (int64_t)cfa_read_uleb(r);
		break;
	case DW_CFA_def_cfa_offset_sf:
		cfa->offset = cfa_scale((uint64_t)cfa_read_sleb(r), in->context->data_align);
		break;
	case DW_CFA_def_cfa_expression:
		cfa_read_expression(in, cfa);
		break;
	default:
		return false;
	}
	in->changed = true;
	return true;
}

/* The instructions that say where a register of the caller is. */
static bool cfa_run_register(struct interpreter *in, uint8_t op)
{
	struct bytes_reader *r = &in->r;
	int64_t align = in->context->data_align;
	enum cfa_column column;
	uint64_t reg;

	if (op < DW_CFA_offset_extended || op == DW_CFA_remember_state ||
	    op == DW_CFA_restore_state)
		return false;
	switch (op) {
	case DW_CFA_offset_extended:
		reg = cfa_read_uleb(r);
		cfa_set_rule(in, reg, CFA_HOW_OFFSET, cfa_scale(cfa_read_uleb(r), align));
		return true;
	case DW_CFA_offset_extended_sf:
		reg = cfa_read_uleb(r);
		cfa_set_rule(in, reg, CFA_HOW_OFFSET, cfa_scale((uint64_t)cfa_read_sleb(r), align));
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		reg = cfa_read_uleb(r);
		cfa_set_rule(in, reg, CFA_HOW_OFFSET, cfa_scale(-cfa_read_uleb(r), align));
		return true;
	case DW_CFA_restore_extended:
		cfa_restore_rule(in, cfa_read_uleb(r));
		return true;
	case DW_CFA_undefined:
		cfa_set_rule(in, cfa_read_uleb(r), CFA_HOW_UNDEFINED, 0);
		return true;
	case DW_CFA_same_value:
		cfa_set_rule(in, cfa_read_uleb(r), CFA_HOW_SAME, 0);
		return true;
	case DW_CFA_register:
		reg = cfa_read_uleb(r);
		/* "in itself" is how some assemblers write same_value */
		cfa_set_rule(in, reg, cfa_read_uleb(r) == reg ? CFA_HOW_SAME : CFA_HOW_OTHER, 0);
		return true;
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		reg = cfa_read_uleb(r);
		cfa_read_uleb(r);
		cfa_set_rule(in, reg, CFA_HOW_OTHER, 0);
		return true;
	case DW_CFA_expression:
		reg = cfa_read_uleb(r);
		cfa_read_expression(in, cfa_column_of(in, reg, &column));
		return true;
	case DW_CFA_val_expression:
		reg = cfa_read_uleb(r);
		cfa_read_expression(in, NULL);
		cfa_set_rule(in, reg, CFA_HOW_OTHER, 0);
		return true;
	default:
		return false;
	}
}

/*
 * Runs all other instructions. An unknown one cannot be skipped, as its operands are unknown, too.
 */
static int cfa_run_other(struct interpreter *in, uint8_t op)
{
	struct bytes_reader *r = &in->r;
	uint64_t place;

	switch (op) {
	case DW_CFA_nop:
	case CFA_AARCH64_NEGATE_RA: /* the unwinder strips pointer signatures from every address */
	case CFA_AARCH64_NEGATE_RA_PC:
		return 0;
	case DW_CFA_GNU_args_size:
		cfa_read_uleb(r);
		return 0;
	case DW_CFA_set_loc:
		place = in->place + (uint64_t)(r->p - in->instructions);
		place = cfa_read_encoded(r, in->context->encoding, place);
		return r->bad ? -EINVAL : cfa_advance_to(in, place);
	case DW_CFA_advance_loc1:
		return cfa_advance(in, bytes_get_number(r, 1));
	case DW_CFA_advance_loc2:
		return cfa_advance(in, bytes_get_number(r, 2));
	case DW_CFA_advance_loc4:
		return cfa_advance(in, bytes_get_number(r, 4));
	case CFA_MIPS_ADVANCE_LOC8:
		return cfa_advance(in, bytes_get_number(r, 8));
	case DW_CFA_remember_state:
		return cfa_remember(in);
	case DW_CFA_restore_state:
		return cfa_recall(in);
	default:
		return -EINVAL;
	}
}

static int cfa_run_one(struct interpreter *in, uint8_t op)
{
	switch (op &
		0xc0) { /* the top two bits name an instruction whose operand is in the others */
	case DW_CFA_advance_loc:
		return cfa_advance(in, op & 0x3f);
	case DW_CFA_offset:
		cfa_set_rule(in, op & 0x3f, CFA_HOW_OFFSET,
			     cfa_scale(cfa_read_uleb(&in->r), in->context->data_align));
		return 0;
	case DW_CFA_restore:
		cfa_restore_rule(in, op & 0x3f);
		return 0;
	default:
		if (cfa_run_def(in, op) || cfa_run_register(in, op))
			return 0;
		return cfa_run_other(in, op);
	}
}

int cfa_run(const struct cfa_context *context, struct cfa_state *state, const uint8_t *instructions,
	    const uint8_t *instructions_end, uint64_t place, uint64_t pc, uint64_t end,
	    cfa_emit emit, void *arg)
{
	struct interpreter in;
	int err = 0;

	/*
	 * Field by field: `remembered` is large, and clearing it for each function would take most
	 * of the time.
	 */
	in.context = context;
	in.state = state;
	in.r = (struct bytes_reader){.p = instructions, .end = instructions_end};
	in.depth = 0;
	in.instructions = instructions;
	in.place = place;
	in.pc = pc;
	in.end = end;
	in.changed = true;
	in.emit = emit;
	in.arg = arg;
	while (in.r.p < in.r.end && in.pc < end) {
		err = cfa_run_one(&in, *in.r.p++);
		if (err)
			return err;
		if (in.r.bad)
			return -EINVAL;
	}
	if (in.changed && emit && in.pc < end)
		err = emit(arg, in.pc, state);
	return err;
}

/* *(reg + offset) + add, from DW_OP_bregN offset; DW_OP_deref [; DW_OP_plus_uconst add] */
static bool cfa_expr_deref(const struct cfa_rule *rule, uint64_t *reg, int64_t *offset,
			   int64_t *add)
{
	struct bytes_reader r = {.p = rule->expr, .end = rule->expr + rule->expr_len};
	uint8_t op = (uint8_t)bytes_get_number(&r, 1);

	if (op < DW_OP_breg0 || op > DW_OP_breg31)
		return false;
	*reg = op - DW_OP_breg0;
	*offset = cfa_read_sleb(&r);
	*add = 0;
	if (bytes_get_number(&r, 1) != DW_OP_deref)
		return false;
	if (!r.bad && r.p < r.end) {
		if (bytes_get_number(&r, 1) != DW_OP_plus_uconst)
			return false;
		*add = (int64_t)cfa_read_uleb(&r);
	}
	return !r.bad && r.p == r.end;
}

/* reg + offset, from DW_OP_bregN offset */
static bool cfa_expr_breg(const struct cfa_rule *rule, uint64_t *reg, int64_t *offset)
{
	struct bytes_reader r = {.p = rule->expr, .end = rule->expr + rule->expr_len};
	uint8_t op = (uint8_t)bytes_get_number(&r, 1);

	if (op < DW_OP_breg0 || op > DW_OP_breg31)
		return false;
	*reg = op - DW_OP_breg0;
	*offset = cfa_read_sleb(&r);
	return !r.bad && r.p == r.end;
}

/*
 * binutils and LLVM's linker write this for the lazy part of .plt: (rsp + 8) + (((rip & 15) >= N)
 * << 3). It is rsp + 8, and 8 more once the entry has pushed the relocation's index, after its 10th
 * or 11th byte.
 */
static int cfa_expr_plt(const struct cfa_rule *rule)
{
	static const uint8_t pattern[] = {DW_OP_breg7, 8,	  DW_OP_breg16, 0,
					  DW_OP_lit15, DW_OP_and, DW_OP_lit11,	DW_OP_ge,
					  DW_OP_lit3,  DW_OP_shl, DW_OP_plus};
	const size_t threshold = 6;
	int value;

	if (rule->expr_len != sizeof(pattern))
		return -1;
	for (size_t i = 0; i < sizeof(pattern); i++) {
		if (i != threshold && rule->expr[i] != pattern[i])
			return -1;
	}
	value = rule->expr[threshold] - DW_OP_lit0;
	return value >= 0 && value <= 15 ? value : -1;
}

/*
 * The x86-64 signal frame as glibc describes it: each register in the ucontext that sp points to.
 */
static bool cfa_is_signal_frame(const struct cfa_context *context, const struct cfa_state *state)
{
	const struct cfa_rule *cfa = &state->column[CFA_COLUMN_CFA];
	uint64_t reg;
	int64_t offset, add;

	if (!context->signal_frame)
		return false;
	if (context->machine ==
	    EM_AARCH64) /* the kernel's own, in the vdso: known by the frame record it leaves */
		return cfa->how == CFA_HOW_OFFSET && cfa->reg == AARCH64_X29;
	return cfa->how == CFA_HOW_EXPR && cfa_expr_deref(cfa, &reg, &offset, &add) &&
	       reg == X86_64_RSP && offset == 160 && add == 0;
}

static bool cfa_compact_cfa(const struct cfa_context *context, const struct cfa_rule *cfa,
			    struct unwind_rule *out)
{
	uint64_t sp = context->machine == EM_X86_64 ? X86_64_RSP : AARCH64_SP;
	uint64_t fp = context->machine == EM_X86_64 ? X86_64_RBP : AARCH64_X29;
	uint64_t reg = cfa->reg;
	int64_t offset = cfa->offset, add = 0;
	int plt;

	if (cfa->how == CFA_HOW_OFFSET) {
		out->cfa = reg == sp ? UNWIND_CFA_SP : UNWIND_CFA_FP;
	} else if (cfa->how == CFA_HOW_EXPR && cfa_expr_deref(cfa, &reg, &offset, &add)) {
		out->cfa = reg == sp ? UNWIND_CFA_SP_DEREF : UNWIND_CFA_FP_DEREF;
	} else if (cfa->how == CFA_HOW_EXPR && cfa_expr_breg(cfa, &reg, &offset)) {
		out->cfa = reg == sp ? UNWIND_CFA_SP : UNWIND_CFA_FP;
	} else if (cfa->how == CFA_HOW_EXPR && context->machine == EM_X86_64 &&
		   (plt = cfa_expr_plt(cfa)) >= 0) {
		out->cfa = UNWIND_CFA_PLT;
		reg = sp;
		offset = 8;
		add = plt;
	} else {
		return false;
	}
	out->cfa_off = (int32_t)offset;
	out->cfa_add = (int16_t)add;
	return (reg == sp || reg == fp) && out->cfa_off == offset && out->cfa_add == add;
}

static void cfa_compact_fp(const struct cfa_context *context, const struct cfa_rule *rule,
			   struct unwind_rule *out)
{
	uint64_t fp = context->machine == EM_X86_64 ? X86_64_RBP : AARCH64_X29;
	uint64_t reg;
	int64_t offset = rule->offset;

	out->fp = UNWIND_FP_LOST;
	switch (rule->how) {
	case CFA_HOW_DEFAULT: /* callee-saved in both ABIs */
	case CFA_HOW_SAME:
		out->fp = UNWIND_FP_SAME;
		return;
	case CFA_HOW_OFFSET:
		out->fp = UNWIND_FP_CFA;
		break;
	case CFA_HOW_EXPR:
		if (cfa_expr_breg(rule, &reg, &offset) && reg == fp)
			out->fp = UNWIND_FP_FP;
		break;
	case CFA_HOW_UNDEFINED:
	case CFA_HOW_OTHER:
		break;
	}
	out->fp_off = (int32_t)offset;
	if (out->fp_off != offset)
		out->fp = UNWIND_FP_LOST;
	if (out->fp == UNWIND_FP_LOST)
		out->fp_off = 0;
}

static bool cfa_compact_ra(const struct cfa_context *context, const struct cfa_rule *rule,
			   struct unwind_rule *out)
{
	switch (rule->how) {
	case CFA_HOW_OFFSET:
		out->ra = UNWIND_RA_CFA;
		out->ra_off = (int32_t)rule->offset;
		return out->ra_off == rule->offset;
	case CFA_HOW_DEFAULT:
	case CFA_HOW_SAME:
		if (context->machine == EM_X86_64) {
			/* The call has pushed it; the ABI implies this when a CIE says nothing. */
			out->ra = UNWIND_RA_CFA;
			out->ra_off = -8;
			return rule->how == CFA_HOW_DEFAULT;
		}
		out->ra = UNWIND_RA_LR;
		return true;
	default:
		return false;
	}
}

struct unwind_rule cfa_compact(const struct cfa_context *context, const struct cfa_state *state)
{
	static const struct unwind_rule unsupported = {.cfa = UNWIND_CFA_UNSUPPORTED};
	struct unwind_rule out;

	memset(&out, 0, sizeof(out));
	if (state->column[CFA_COLUMN_RA].how == CFA_HOW_UNDEFINED) {
		out.cfa = UNWIND_CFA_END;
		return out;
	}
	if (cfa_is_signal_frame(context, state)) {
		out.cfa = UNWIND_CFA_SIGNAL;
		return out;
	}
	if (context->ra_column != (context->machine == EM_X86_64 ? X86_64_RIP : 30))
		return unsupported;
	if (!cfa_compact_cfa(context, &state->column[CFA_COLUMN_CFA], &out) ||
	    !cfa_compact_ra(context, &state->column[CFA_COLUMN_RA], &out))
		return unsupported;
	cfa_compact_fp(context, &state->column[CFA_COLUMN_FP], &out);
	return out;
}

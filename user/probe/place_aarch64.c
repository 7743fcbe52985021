// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * aarch64. The kernel simulates the instructions of arch/arm64/kernel/probes/decode-insn.c,
 * arm_probe_decode_insn(). It refuses literal loads, exclusive loads and stores, and system
 * instructions. We decode by the encoding tables of the Arm Architecture Reference Manual (C4.1):
 * an unknown instruction ends the walk.
 */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include <capstone/capstone.h>

#include "user/probe/place_args.h"

#define MAX_CODE (256 * 1024)
#define REG_FP	 29u
#define REG_LR	 30u
#define REG_31	 31u /* sp or the zero register */

enum effect {
	EFFECT_SIMULATED,
	EFFECT_STEPPED,
	EFFECT_REFUSED,
};

static uint32_t aarch64_word_at(const struct place_request *r, size_t offset)
{
	uint32_t word;

	memcpy(&word, r->code + offset, sizeof(word));
	return le32toh(word);
}

static bool is_b(uint32_t w)
{
	return (w & 0xfc000000) == 0x14000000;
}

static bool is_bl(uint32_t w)
{
	return (w & 0xfc000000) == 0x94000000;
}

static bool is_b_cond(uint32_t w)
{
	return (w & 0xff000010) == 0x54000000;
}

static bool is_compare_branch(uint32_t w) /* cbz, cbnz */
{
	return (w & 0x7e000000) == 0x34000000;
}

static bool is_test_branch(uint32_t w) /* tbz, tbnz */
{
	return (w & 0x7e000000) == 0x36000000;
}

static bool is_branch_register(uint32_t w) /* br, blr, ret and their authenticating forms */
{
	return (w & 0xfe000000) == 0xd6000000;
}

static bool is_adr(uint32_t w) /* adr, adrp */
{
	return (w & 0x1f000000) == 0x10000000;
}

static bool is_nop(uint32_t w)
{
	return w == 0xd503201f;
}

static bool is_bti(uint32_t w)
{
	return (w & 0xffffff3f) == 0xd503241f;
}

static int64_t aarch64_sign_extend(uint32_t value, unsigned bits)
{
	uint64_t sign = 1ull << (bits - 1);

	return (int64_t)((value ^ sign) - sign);
}

/* The target of a direct branch at `offset`, as an offset; false: it is not one. */
static bool aarch64_branch_target(uint32_t w, size_t offset, int64_t *target)
{
	int64_t words;

	if (is_b(w) || is_bl(w))
		words = aarch64_sign_extend(w & 0x3ffffff, 26);
	else if (is_b_cond(w) || is_compare_branch(w) ||
		 (w & 0xff000010) == 0x54000010) /* bc.cond */
		words = aarch64_sign_extend((w >> 5) & 0x7ffff, 19);
	else if (is_test_branch(w))
		words = aarch64_sign_extend((w >> 5) & 0x3fff, 14);
	else
		return false;
	*target = (int64_t)offset + words * 4;
	return true;
}

/* The lowest offset > 0 to which a branch goes; 4 when that is unknown. */
static uint64_t aarch64_first_target(const struct place_request *r, const char **unknown)
{
	uint64_t first = UINT64_MAX;
	int64_t target;

	*unknown = NULL;
	if (r->size > MAX_CODE) {
		*unknown = "entry: the function is too large to be searched for branches";
		return 4;
	}
	for (size_t offset = 0; offset + 4 <= r->size; offset += 4) {
		uint32_t w = aarch64_word_at(r, offset);

		if (aarch64_branch_target(w, offset, &target)) {
			if (target > 0 && (uint64_t)target < first)
				first = (uint64_t)target;
		} else if ((w & 0xfee00000) == 0xd6000000) {
			*unknown = "entry: the function has computed jumps"; /* br, braa */
			return 4;
		}
	}
	return first;
}

static enum effect aarch64_classify(uint32_t w, uint32_t kernel)
{
	if (is_b(w) || is_bl(w) || is_b_cond(w) || is_compare_branch(w) || is_test_branch(w) ||
	    is_adr(w))
		return EFFECT_SIMULATED;
	if ((w & 0xff9ffc1f) == 0xd61f0000) /* br, blr, ret without authentication */
		return EFFECT_SIMULATED;
	if (is_nop(w))
		return kernel >= PLACE_KERNEL(6, 13) ? EFFECT_SIMULATED : EFFECT_STEPPED;
	if ((w & 0x3b000000) == 0x18000000) /* literal loads */
		return EFFECT_REFUSED;
	if ((w & 0x3f000000) == 0x08000000) /* exclusive loads and stores */
		return EFFECT_REFUSED;
	/* Exceptions, system instructions; hints are stepped, save those that wait. */
	if ((w & 0xff000000) == 0xd4000000 || is_branch_register(w))
		return EFFECT_REFUSED;
	if ((w & 0xffc00000) == 0xd5000000 && !is_bti(w) && (w & 0xffffffbf) != 0xd503233f)
		return EFFECT_REFUSED;
	return EFFECT_STEPPED;
}

/*
 * The general register that the instruction writes: 31 for none, -1 for sp or an instruction not
 * known here.
 */
static int aarch64_written_register(uint32_t w)
{
	unsigned rd = w & 31;
	bool sets_flags;

	if (is_nop(w) || is_bti(w))
		return REG_31;
	if ((w & 0x1c000000) == 0x10000000) { /* data processing, immediate */
		unsigned class = (w >> 23) & 7;

		/*
		 * Register 31 is sp in add, sub (class 2, 3) and and, orr, eor (4) that set no
		 * flags.
		 */
		sets_flags = class == 4 ? ((w >> 29) & 3) == 3 : (w >> 29) & 1;
		if (rd == REG_31 && (class == 2 || class == 3 || class == 4) && !sets_flags)
			return -1;
		return (int)rd;
	}
	if ((w & 0x0e000000) == 0x0a000000) { /* data processing, register */
		/* add, sub with an extended register: 31 is sp */
		if (rd == REG_31 && (w & 0x1f200000) == 0x0b200000 && !((w >> 29) & 1))
			return -1;
		return (int)rd;
	}
	/*
	 * Loads and stores of one general register without write-back: unsigned offset, unscaled,
	 * register offset.
	 */
	if ((w & 0x3f000000) == 0x39000000 || (w & 0x3f200c00) == 0x38000000 ||
	    (w & 0x3f200c00) == 0x38200800)
		return (w >> 22) & 3 ? (int)rd : (int)REG_31;
	return -1;
}

/* Can the place be behind this instruction? Keeps track of the arguments then. */
static bool aarch64_pass(struct place_args *args, uint32_t w)
{
	int from = -1, to = -1, reg = aarch64_written_register(w);

	if (reg < 0 || reg == (int)REG_FP || reg == (int)REG_LR)
		return false;
	if (reg >= PLACE_ARGS)
		return true;
	if ((w & 0xffe0ffe0) == 0xaa0003e0 && ((w >> 16) & 31) < PLACE_ARGS) { /* mov xN, xM */
		from = (int)((w >> 16) & 31);
		to = reg;
	}
	return place_args_write(args, 1u << reg, from, to);
}

static void aarch64_choose(const struct place_request *r, const struct place_args *args,
			   size_t offset, enum place_cost cost, const char *reason,
			   struct place *out)
{
	cs_insn *insn = NULL;
	csh handle;

	out->offset = (uint32_t)offset;
	out->cost = cost;
	out->reason = reason;
	place_args_store(args, out);
	snprintf(out->instruction, sizeof(out->instruction), ".inst 0x%08x",
		 aarch64_word_at(r, offset));
	if (cs_open(CS_ARCH_ARM64, CS_MODE_ARM, &handle) != CS_ERR_OK)
		return;
	if (cs_disasm(handle, r->code + offset, 4, r->vaddr + offset, 1, &insn) == 1) {
		snprintf(out->instruction, sizeof(out->instruction), "%.15s%s%.30s", insn->mnemonic,
			 insn->op_str[0] ? " " : "", insn->op_str);
		cs_free(insn, 1);
	}
	cs_close(&handle);
}

/* cbz on argument 1 */
static bool is_null_branch(const struct place_request *r, const struct place_args *args, uint32_t w)
{
	unsigned reg = w & 31;

	return r->null_skippable && r->args_read & 1 && (w & 0xff000000) == 0xb4000000 &&
	       reg < PLACE_ARGS && args->in[0] & 1u << reg;
}

void place_find_aarch64(const struct place_request *r, struct place *out)
{
	bool chosen = false, after_null_test = false;
	struct place_args args;
	const char *unknown;
	uint64_t limit;

	*out = (struct place){.cost = PLACE_STEPPED, .reason = "entry: the code cannot be decoded"};
	place_args_init(&args, r);
	place_args_store(&args, out);
	limit = aarch64_first_target(r, &unknown);
	for (size_t offset = 0; offset + 4 <= r->size && (!offset || offset < limit); offset += 4) {
		uint32_t w = aarch64_word_at(r, offset);
		enum effect effect = aarch64_classify(w, r->kernel);

		if (effect == EFFECT_SIMULATED) {
			aarch64_choose(r, &args, offset, PLACE_EMULATED,
				       after_null_test ? "emulated, behind the test for NULL"
				       : offset	       ? "first emulated instruction"
						       : "entry, emulated",
				       out);
			/* A call that jumps here frees nothing. */
			if (after_null_test || !is_null_branch(r, &args, w))
				return;
			chosen = after_null_test = true;
			continue;
		}
		if (!offset && effect == EFFECT_REFUSED)
			aarch64_choose(r, &args, 0, PLACE_STEPPED,
				       "entry: the kernel may refuse a probe here", out);
		if (!chosen && effect == EFFECT_STEPPED) {
			aarch64_choose(r, &args, offset, PLACE_STEPPED,
				       offset ? "the entry cannot be probed"
					      : "entry: no emulated instruction in reach",
				       out);
			chosen = true;
		}
		if (!aarch64_pass(&args, w))
			break;
	}
	if (unknown && out->cost == PLACE_STEPPED)
		out->reason = unknown;
}

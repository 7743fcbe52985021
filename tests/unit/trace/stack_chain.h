/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How much stack a program takes on a kernel before 6.8: newer ones round less up, and take what older
 * ones refuse. The sum that check_max_stack_depth() of kernel/bpf/verifier.c makes there: each
 * function's frame, as a multiple of 32 bytes and 32 at least, along the deepest way through the calls
 * that stand in the code, whether or not the verifier finds that one can get to them.
 *
 * The frames are read off the code as well. The verifier's log has them ("stack depth A+B+..."), but of
 * functions that it leaves out on this kernel, with these options, it has none, and does not say which
 * are left. A verifier counts the lowest byte that it has seen used, and here that is the lowest one
 * that any instruction names: no less.
 */
#ifndef MEMLEAKBPF_TESTS_STACK_CHAIN_H
#define MEMLEAKBPF_TESTS_STACK_CHAIN_H

#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

/* The kernel's: for all frames, and of functions in a program. */
#define STACK_CHAIN_MAX	    512
#define STACK_FUNCTIONS_MAX 256

#define STACK_FRAME_UNIT 32u
#define STACK_ADD_WITHIN 8

struct stack_chain {
	const struct bpf_insn *code;
	size_t starts[STACK_FUNCTIONS_MAX + 1]; /* the last one: the code's end */
	unsigned frames[STACK_FUNCTIONS_MAX];
	unsigned
		sums[STACK_FUNCTIONS_MAX]; /* with the deepest of what it calls; 0: not known yet */
	size_t count;
};

/* The instruction at which a function begins that is called, or handed on, here. -1: none is. */
static inline long stack_chain_callee(const struct bpf_insn *code, size_t at)
{
	const struct bpf_insn *insn = &code[at];
	bool call = insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL;
	bool function =
		insn->code == (BPF_LD | BPF_IMM | BPF_DW) && insn->src_reg == BPF_PSEUDO_FUNC;

	return call || function ? (long)at + insn->imm + 1 : -1;
}

static inline size_t stack_chain_find(const struct stack_chain *chain, size_t start)
{
	size_t i = 0;

	while (i < chain->count && chain->starts[i] != start)
		i++;
	return i;
}

static inline int stack_chain_by_number(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return x < y ? -1 : x > y;
}

static inline void stack_chain_take_functions(struct stack_chain *chain, size_t size)
{
	chain->starts[0] = 0;
	chain->count = 1;
	for (size_t i = 0; i < size; i++) {
		long callee = stack_chain_callee(chain->code, i);

		if (callee < 0 || stack_chain_find(chain, (size_t)callee) < chain->count)
			continue;
		assert_in_range(callee, 1, size - 1);
		assert_true(chain->count < STACK_FUNCTIONS_MAX);
		chain->starts[chain->count++] = (size_t)callee;
	}
	qsort(chain->starts, chain->count, sizeof(chain->starts[0]), stack_chain_by_number);
	chain->starts[chain->count] = size;
}

/*
 * How far down in the frame an instruction reads, writes or takes an address. Register 10 points
 * behind the frame; clang makes an address by copying it and adding, a few instructions later.
 */
static inline unsigned stack_chain_depth(const struct bpf_insn *insn, size_t left)
{
	uint8_t class = BPF_CLASS(insn->code), copy = insn->dst_reg;
	int lowest = 0;

	if ((class == BPF_LDX && insn->src_reg == BPF_REG_10) ||
	    ((class == BPF_ST || class == BPF_STX) && insn->dst_reg == BPF_REG_10))
		lowest = insn->off;
	if (insn->code == (BPF_ALU64 | BPF_MOV | BPF_X) && insn->src_reg == BPF_REG_10) {
		for (size_t i = 1; i < left && i <= STACK_ADD_WITHIN && !lowest; i++) {
			if (insn[i].code == (BPF_ALU64 | BPF_ADD | BPF_K) &&
			    insn[i].dst_reg == copy)
				lowest = insn[i].imm;
		}
		assert_true(lowest < 0);
	}
	return lowest < 0 ? (unsigned)-lowest : 0;
}

static inline void stack_chain_take_frames(struct stack_chain *chain)
{
	for (size_t function = 0; function < chain->count; function++) {
		size_t end = chain->starts[function + 1];

		for (size_t i = chain->starts[function]; i < end; i++) {
			unsigned depth = stack_chain_depth(&chain->code[i], end - i);

			if (depth > chain->frames[function])
				chain->frames[function] = depth;
		}
	}
}

static inline unsigned stack_chain_sum(struct stack_chain *chain, size_t function)
{
	unsigned deepest = 0, own = chain->frames[function] ?: 1;

	if (chain->sums[function])
		return chain->sums[function];
	own = (own + STACK_FRAME_UNIT - 1) / STACK_FRAME_UNIT * STACK_FRAME_UNIT;
	/* What comes back to it is a callback that runs later, on a stack of its own. */
	chain->sums[function] = own;
	for (size_t i = chain->starts[function]; i < chain->starts[function + 1]; i++) {
		long callee = stack_chain_callee(chain->code, i);
		unsigned sum = 0;

		if (callee >= 0)
			sum = stack_chain_sum(chain, stack_chain_find(chain, (size_t)callee));
		deepest = sum > deepest ? sum : deepest;
	}
	return chain->sums[function] = own + deepest;
}

/* In bytes. */
static inline unsigned stack_chain_sum_of(const struct bpf_insn *code, size_t size)
{
	struct stack_chain chain = {.code = code};

	stack_chain_take_functions(&chain, size);
	stack_chain_take_frames(&chain);
	return stack_chain_sum(&chain, 0);
}

/* Of a program that has been loaded: its calls are known only then. */
static inline unsigned stack_chain_of(const struct bpf_program *program)
{
	return stack_chain_sum_of(bpf_program__insns(program), bpf_program__insn_cnt(program));
}

#endif

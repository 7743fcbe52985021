// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Jumps of classic BPF only lead on, so one pass over the program sees all ways through it. Each
 * instruction gets the union of what is known on the ways that come to it; an undecided jump is
 * gone both ways. Where that is too coarse the answer is no.
 */
#include "user/freeze/seccomp_filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdlib.h>

#include "user/base/util.h"

#ifdef __x86_64__
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#endif

#define WORDS (sizeof(struct seccomp_data) / sizeof(uint32_t))

/* The values that a register may hold. */
struct range {
	uint32_t from, to;
};

static const struct range anything = {0, UINT32_MAX};

/* The knowledge before an instruction. */
struct filter_state {
	bool reached;
	struct range a, x, memory[BPF_MEMWORDS];
};

struct filter_run {
	const struct sock_filter *code;
	size_t count;
	struct range data[WORDS]; /* struct seccomp_data */
	struct filter_state *states;
	bool allows;
};

static struct range just(uint32_t value)
{
	return (struct range){value, value};
}

static bool is_known(struct range r)
{
	return r.from == r.to;
}

static struct range both(struct range a, struct range b)
{
	return (struct range){a.from < b.from ? a.from : b.from, a.to > b.to ? a.to : b.to};
}

/* Low half first, on both machines. */
static void filter_set_data(struct range to[2], struct filter_span span)
{
	uint32_t from = (uint32_t)(span.from >> 32), last = (uint32_t)(span.to >> 32);

	to[0] = from == last ? (struct range){(uint32_t)span.from, (uint32_t)span.to} : anything;
	to[1] = (struct range){from, last};
}

static void filter_set_call(struct filter_run *run, const struct filter_call *call)
{
	run->data[offsetof(struct seccomp_data, nr) / 4] = just(call->number);
	run->data[offsetof(struct seccomp_data, arch) / 4] = just(MACHINE);
	filter_set_data(&run->data[offsetof(struct seccomp_data, instruction_pointer) / 4],
			call->instruction);
	for (size_t i = 0; i < CALL_ARGUMENTS; i++)
		filter_set_data(&run->data[offsetof(struct seccomp_data, args) / 4 + 2 * i],
				call->arguments[i]);
}

/* ---- one instruction ---------------------------------------------------------------------- */

/* The program goes on at `to` with that state. */
static void filter_flow(struct filter_run *run, uint64_t to, const struct filter_state *state)
{
	struct filter_state *there;

	/* No way leads beyond the program's end: the kernel has checked. */
	if (to >= run->count) {
		run->allows = false;
		return;
	}
	there = &run->states[to];
	if (!there->reached) {
		*there = *state;
		return;
	}
	there->a = both(there->a, state->a);
	there->x = both(there->x, state->x);
	for (size_t i = 0; i < BPF_MEMWORDS; i++)
		there->memory[i] = both(there->memory[i], state->memory[i]);
}

static uint32_t compute(uint16_t operation, uint32_t a, uint32_t b)
{
	switch (operation) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return a / b;
	case BPF_AND:
		return a & b;
	case BPF_OR:
		return a | b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return a << b;
	case BPF_RSH:
		return a >> b;
	default: /* BPF_NEG */
		return -a;
	}
}

/* False: the operation may end the program, or no filter has it. */
static bool filter_compute(uint16_t operation, struct range *a, struct range b)
{
	bool shifts = operation == BPF_LSH || operation == BPF_RSH;

	/* A division by 0 returns 0, which kills. */
	if (operation == BPF_MOD || operation > BPF_XOR || (operation == BPF_DIV && !b.from))
		return false;
	if (is_known(*a) && (is_known(b) || operation == BPF_NEG) && (!shifts || b.to < 32))
		*a = just(compute(operation, a->from, b.from));
	else if (operation == BPF_AND)
		*a = (struct range){0, a->to < b.to ? a->to : b.to};
	else
		*a = anything;
	return true;
}

/* Is the jump taken? 1, 0; -1: either; -2: there is no such jump. */
static int filter_decide(uint16_t operation, struct range a, struct range b)
{
	switch (operation) {
	case BPF_JEQ:
		if (is_known(a) && is_known(b))
			return a.from == b.from;
		return a.to < b.from || b.to < a.from ? 0 : -1;
	case BPF_JGT:
		return a.from > b.to ? 1 : a.to <= b.from ? 0 : -1;
	case BPF_JGE:
		return a.from >= b.to ? 1 : a.to < b.from ? 0 : -1;
	case BPF_JSET:
		if (is_known(a) && is_known(b))
			return (a.from & b.from) != 0;
		return !a.to || !b.to ? 0 : -1;
	default:
		return -2;
	}
}

static void filter_jump(struct filter_run *run, size_t at, const struct filter_state *state)
{
	const struct sock_filter *one = &run->code[at];
	struct range b = BPF_SRC(one->code) == BPF_X ? state->x : just(one->k);
	int taken;

	if (BPF_OP(one->code) == BPF_JA) {
		filter_flow(run, (uint64_t)at + 1 + one->k, state);
		return;
	}
	taken = filter_decide(BPF_OP(one->code), state->a, b);
	run->allows &= taken != -2;
	if (taken)
		filter_flow(run, (uint64_t)at + 1 + one->jt, state);
	if (taken != 1)
		filter_flow(run, (uint64_t)at + 1 + one->jf, state);
}

static bool filter_is_pass(struct range verdict)
{
	uint32_t action = verdict.from & SECCOMP_RET_ACTION_FULL;

	return is_known(verdict) && (action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG);
}

static bool filter_load(const struct filter_run *run, const struct sock_filter *one,
			const struct filter_state *state, struct range *to)
{
	switch (BPF_MODE(one->code) | BPF_SIZE(one->code)) {
	case BPF_IMM | BPF_W:
		*to = just(one->k);
		return true;
	case BPF_LEN | BPF_W:
		*to = just(sizeof(struct seccomp_data));
		return true;
	case BPF_ABS | BPF_W:
		if (one->k % 4 || one->k / 4 >= WORDS)
			return false;
		*to = run->data[one->k / 4];
		return true;
	case BPF_MEM | BPF_W:
		if (one->k >= BPF_MEMWORDS)
			return false;
		*to = state->memory[one->k];
		return true;
	default:
		return false;
	}
}

static bool filter_store(const struct sock_filter *one, struct range from,
			 struct filter_state *state)
{
	if (one->k >= BPF_MEMWORDS)
		return false;
	state->memory[one->k] = from;
	return true;
}

/* Runs an instruction that neither returns nor jumps. False: its effect is not known. */
static bool filter_change(const struct filter_run *run, const struct sock_filter *one,
			  struct filter_state *state)
{
	switch (BPF_CLASS(one->code)) {
	case BPF_LD:
		return filter_load(run, one, state, &state->a);
	case BPF_LDX:
		return filter_load(run, one, state, &state->x);
	case BPF_ST:
		return filter_store(one, state->a, state);
	case BPF_STX:
		return filter_store(one, state->x, state);
	case BPF_ALU:
		return filter_compute(BPF_OP(one->code), &state->a,
				      BPF_SRC(one->code) == BPF_X ? state->x : just(one->k));
	default: /* BPF_MISC */
		if (BPF_MISCOP(one->code) == BPF_TAX)
			state->x = state->a;
		else
			state->a = state->x;
		return true;
	}
}

static void filter_step(struct filter_run *run, size_t at)
{
	const struct sock_filter *one = &run->code[at];
	struct filter_state state = run->states[at];

	switch (BPF_CLASS(one->code)) {
	case BPF_RET:
		run->allows &=
			filter_is_pass(BPF_RVAL(one->code) == BPF_A ? state.a : just(one->k));
		return;
	case BPF_JMP:
		filter_jump(run, at, &state);
		return;
	default:
		run->allows &= filter_change(run, one, &state);
		filter_flow(run, (uint64_t)at + 1, &state);
	}
}

bool seccomp_filter_allows(const struct sock_filter *code, size_t count,
			   const struct filter_call *call)
{
	_cleanup_free_ struct filter_state *states = NULL;
	struct filter_run run = {.code = code, .count = count, .allows = true};

	if (!count || count > BPF_MAXINSNS)
		return false;
	run.states = states = calloc(count, sizeof(*states));
	if (!states)
		return false;
	filter_set_call(&run, call);
	states[0].reached = true;
	for (size_t i = 0; i < BPF_MEMWORDS; i++)
		states[0].memory[i] = anything;
	for (size_t at = 0; run.allows && at < count; at++) {
		if (states[at].reached)
			filter_step(&run, at);
	}
	return run.allows;
}

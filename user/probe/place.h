/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where in a function a uprobe goes. The kernel emulates some instructions (push, nop, jmp, jcc,
 * call rel32). It single-steps all others, at seven times the price. So the probe sits on the first
 * emulated instruction that still finds the arguments in their registers, and the return address on
 * the stack's top. Rules and measurements: docs/architecture.md.
 */
#ifndef MEMLEAKBPF_PROBE_PLACE_H
#define MEMLEAKBPF_PROBE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum place_cost {
	PLACE_EMULATED, /* one trap */
	PLACE_NOP5,	/* 5-byte nop: a call instead of a trap on kernel 6.18 */
	PLACE_STEPPED,	/* trap and single-step */
};

struct place {
	uint32_t offset; /* from the function's first byte */
	enum place_cost cost;
	char instruction[48]; /* disassembly of the probed instruction, for people */
	const char *reason;   /* why this place: static string, for `doctor` */
	/* argument n is in argument register arg_at[n - 1]; n itself unless args_may_move */
	uint8_t arg_at[6];
};

struct place_request {
	const uint8_t *code; /* the function's bytes */
	size_t size;	     /* of code; the function's size, or as much as there is */
	uint64_t vaddr;	     /* link-time address of code[0] */
	unsigned args_read;  /* bit n-1 set: the handler reads argument n (1 to 6) */
	/* the caller looks at place.arg_at; false: all must be where they were */
	bool args_may_move;
	bool null_skippable; /* free: calls with NULL need not hit the probe */
	/* PLACE_KERNEL(6, 18): the kernel whose emulation counts; 0: the running one */
	uint32_t kernel;
};

#define PLACE_KERNEL(major, minor) ((uint32_t)(major) << 16 | (uint32_t)(minor))

/*
 * Picks the place. Always succeeds: without a better place it is the entry (offset 0). At the place
 * the return address is at [rsp] (x86_64) or in LR (aarch64), and stack and frame pointer are as at
 * the entry. The args_read arguments are in registers.
 */
void place_find(const struct place_request *request, struct place *out);

/*
 * The same for code of a given architecture, whatever this machine's is. request->kernel must be
 * set.
 */
void place_find_x86_64(const struct place_request *request, struct place *out);
void place_find_aarch64(const struct place_request *request, struct place *out);

#endif

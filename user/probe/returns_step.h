/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One instruction's effect on the flow of control. Internal to returns*.c. */
#ifndef MEMLEAKBPF_PROBE_RETURNS_STEP_H
#define MEMLEAKBPF_PROBE_RETURNS_STEP_H

#include <stddef.h>
#include <stdint.h>

enum step_kind {
	STEP_NEXT, /* goes on behind it */
	STEP_NOP,
	STEP_CALL,   /* goes on behind it, unless the called function never returns */
	STEP_BRANCH, /* goes on behind it or at `target` */
	STEP_JUMP,
	STEP_JUMP_THROUGH, /* to the address stored at `target` */
	STEP_RETURN,
	STEP_STOP, /* never executed on purpose: ud2, int3, hlt, udf, brk */
	STEP_JUMP_UNKNOWN,
	STEP_RETURN_UNPROBED, /* a return on which the kernel takes no probe */
	STEP_UNDECODABLE,
};

struct step {
	enum step_kind kind;
	uint8_t size; /* bytes; 0 when undecodable */
	uint64_t target;
};

#define STEP_BYTES 16 /* at least as many as the longest instruction has */

struct decoder; /* x86_64 only */

struct decoder *decoder_new(void); /* NULL: out of memory */
void decoder_free(struct decoder *decoder);

void step_x86_64(struct decoder *decoder, const uint8_t *code, size_t size, uint64_t vaddr,
		 struct step *out);
void step_aarch64(const uint8_t *code, size_t size, uint64_t vaddr, struct step *out);

#endif

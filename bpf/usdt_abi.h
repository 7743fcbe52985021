/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where a USDT probe has its arguments, as user space tells the programs. */
#ifndef MEMLEAKBPF_BPF_USDT_ABI_H
#define MEMLEAKBPF_BPF_USDT_ABI_H

#include "bpf/types.h"

/*
 * An argument of a USDT probe, by its note (user/target/usdt_notes.h). Registers are 64-bit words
 * of the kernel's struct pt_regs, in the order of <asm/ptrace.h>.
 */
enum usdt_arg_kind {
	USDT_CONSTANT = 1, /* `value` */
	USDT_REGISTER,	   /* the contents of `reg` */
	USDT_MEMORY,	   /* the memory at `reg` + (`index` << `shift`) + `value` */
};
#define USDT_NO_REGISTER 0xff

struct usdt_arg {
	int64_t value;
	uint8_t kind; /* enum usdt_arg_kind */
	uint8_t reg, index;
	uint8_t shift;
	uint8_t size; /* bytes: 1, 2, 4, 8 */
	uint8_t is_signed;
	uint8_t pad[2];
};
_Static_assert(sizeof(struct usdt_arg) == 16, "ABI");

/* For one or several probes: a row of `usdt_specs`, whose number is their cookie. */
#define USDT_ARGS  3
#define USDT_SPECS 256
struct usdt_spec {
	struct usdt_arg args[USDT_ARGS];
};
_Static_assert(sizeof(struct usdt_spec) == 48, "ABI");

#endif

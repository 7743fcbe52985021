/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls and jumps through an object's PLT and GOT: whose code they mean. */
#ifndef MEMLEAKBPF_TARGET_PLT_H
#define MEMLEAKBPF_TARGET_PLT_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLT_ENTRY 16 /* bytes of code that tell a PLT entry */

/*
 * The address of the GOT slot through which a PLT entry at `vaddr` jumps; 0 when the code is
 * something else.
 */
uint64_t plt_slot(const uint8_t *code, size_t len, uint64_t vaddr);

struct plt_symbol {
	uint64_t vaddr;	  /* 0: defined by another object */
	const char *name; /* owned by the Elf; never NULL */
};

/* The symbol whose address the dynamic linker stores into a GOT slot. False when there is none. */
bool plt_symbol(Elf *elf, uint64_t slot, struct plt_symbol *out);

#endif

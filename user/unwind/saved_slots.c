// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/unwind/saved_slots.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "user/base/util.h"

/* DWARF's numbers of the general registers: System V ABI, 3.6.2 for x86-64, 4.1 for AArch64. */
#if defined(__x86_64__)
#define GENERAL_REGISTERS 16
#elif defined(__aarch64__)
#define GENERAL_REGISTERS 31
#endif

/* libdw gives a location expression. False: the register is not in the frame. */
static bool saved_slots_add(const Dwarf_Op *ops, size_t count, struct saved_slots *out)
{
	int64_t offset = 0;

	if (!count || ops[0].atom != DW_OP_call_frame_cfa || count > 2)
		return false;
	if (count == 2) {
		if (ops[1].atom != DW_OP_plus_uconst)
			return false;
		offset = (int64_t)ops[1].number;
	}
	if (out->count == SAVED_SLOTS_MAX)
		return false;
	out->offsets[out->count++] = offset;
	return true;
}

static int saved_slots_read(Dwarf_Frame *frame, struct saved_slots *out)
{
	for (int reg = 0; reg < GENERAL_REGISTERS; reg++) {
		Dwarf_Op memory[3], *ops;
		size_t count;

		if (dwarf_frame_register(frame, reg, memory, &ops, &count))
			return -ENOENT;
		/*
		 * No slot: undefined, or as the caller has it. The stack pointer is the CFA itself.
		 */
		if (!count || (count > 1 && ops[count - 1].atom == DW_OP_stack_value))
			continue;
		if (!saved_slots_add(ops, count, out))
			return -ENOENT;
	}
	return 0;
}

int saved_slots_find(const struct object *object, uint64_t vaddr, struct saved_slots *out)
{
	Dwarf_Frame *frame = NULL;
	Dwarf_CFI *cfi;
	int err = -ENOENT;
	Elf *elf;

	out->count = 0;
	elf = object_elf(object, ELF_FOR_FRAMES);
	cfi = elf ? dwarf_getcfi_elf(elf) : NULL;
	if (cfi && !dwarf_cfi_addrframe(cfi, vaddr, &frame))
		err = saved_slots_read(frame, out);
	free(frame);
	/* dwarf_getcfi_elf() made it for us alone. */
	if (cfi)
		dwarf_cfi_end(cfi);
	elf_end(elf);
	return err;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The builder against an independent reader of the same data: every row of real objects must say
 * what libdw's dwarf_cfi_addrframe() says at its first and its last address. Ways in which they may
 * differ are named one by one and counted; anything else fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/util.h"
#include "user/unwind/table.h"

#define LEAST_OBJECTS 10
#define MAX_REPORTED  20

/* A foreign machine's libraries, where a cross compiler is installed, are checked as well. */
static const char *const folders[] = {
	"/usr/lib/x86_64-linux-gnu",
	"/usr/lib/aarch64-linux-gnu",
	"/usr/aarch64-linux-gnu/lib",
	"/usr/lib64",
	"/usr/lib",
	"/usr/bin",
	"/usr/sbin",
};

static const char *const objects[] = {
	"libc.so.6",
	"ld-linux-x86-64.so.2",
	"ld-linux-aarch64.so.1",
	"libm.so.6",
	"libstdc++.so.6",
	"libgcc_s.so.1",
	"libcrypto.so.3",
	"libssl.so.3",
	"libdw.so.1",
	"libelf.so.1",
	"libz.so.1",
	"libpython3.11.so.1.0",
	"libLLVM-14.so.1",
	"libclang-cpp.so.14",
	"libbpf.so.1",
	"libcapstone.so.4",
	"libglib-2.0.so.0",
	"bash",
	"perl",
	"git",
	"gdb",
	"node",
	"redis-server",
	"nginx",
	"make",
};

/* Ways to differ that are understood. */
enum difference {
	/* libdw knows nothing, we added the stack's end at an entry point or a signal trampoline */
	ADDED,
	LOST_BY_DW, /* libdw finds no function though there is one: its search table skips some */
	DIFFERENCES,
};

struct tally {
	uint64_t rows, equal, differ[DIFFERENCES], unsupported, wrong;
};

static uint64_t sp_of(uint16_t machine)
{
	return machine == EM_X86_64 ? 7 : 31;
}

static uint64_t fp_of(uint16_t machine)
{
	return machine == EM_X86_64 ? 6 : 29;
}

/* A register and an offset, from DW_OP_bregx or DW_OP_bregN. */
static bool breg(const Dwarf_Op *op, uint64_t *reg, int64_t *offset)
{
	if (op->atom == DW_OP_bregx) {
		*reg = op->number;
		*offset = (int64_t)op->number2;
		return true;
	}
	if (op->atom < DW_OP_breg0 || op->atom > DW_OP_breg31)
		return false;
	*reg = op->atom - DW_OP_breg0;
	*offset = (int64_t)op->number;
	return true;
}

/* Where a register was saved, relative to the CFA. */
static bool cfa_offset(const Dwarf_Op *ops, size_t count, int64_t *offset)
{
	if (count < 1 || ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	*offset = 0;
	if (count == 1)
		return true;
	*offset = (int64_t)ops[1].number;
	return count == 2 && ops[1].atom == DW_OP_plus_uconst;
}

static bool check_cfa(uint16_t machine, Dwarf_Frame *frame, const struct unwind_rule *rule,
		      bool *expressible)
{
	Dwarf_Op *ops;
	size_t count;
	uint64_t reg = 0;
	int64_t offset = 0;

	*expressible = false;
	if (dwarf_frame_cfa(frame, &ops, &count) || !count)
		return false;
	if (count >= 1 && ops[0].atom == DW_OP_call_frame_cfa)
		return false;
	if (!breg(&ops[0], &reg, &offset))
		return false;
	*expressible = reg == sp_of(machine) || reg == fp_of(machine);
	switch (rule->cfa) {
	case UNWIND_CFA_SP:
		return count == 1 && reg == sp_of(machine) && offset == rule->cfa_off;
	case UNWIND_CFA_FP:
		return count == 1 && reg == fp_of(machine) && offset == rule->cfa_off;
	case UNWIND_CFA_SP_DEREF:
	case UNWIND_CFA_FP_DEREF:
		if (reg != (rule->cfa == UNWIND_CFA_SP_DEREF ? sp_of(machine) : fp_of(machine)))
			return false;
		return count >= 2 && ops[1].atom == DW_OP_deref && offset == rule->cfa_off &&
		       (count == 2 ? rule->cfa_add == 0
				   : count == 3 && ops[2].atom == DW_OP_plus_uconst &&
					     (int64_t)ops[2].number == rule->cfa_add);
	case UNWIND_CFA_PLT:
		return count == 9 && reg == 7 && offset == 8 &&
		       ops[4].atom == (unsigned int)DW_OP_lit0 + (unsigned int)rule->cfa_add &&
		       ops[5].atom == DW_OP_ge;
	case UNWIND_CFA_SIGNAL:
		return machine == EM_X86_64 ? count == 2 && offset == 160 : reg == 29;
	default:
		return false;
	}
}

static bool check_fp(uint16_t machine, Dwarf_Frame *frame, const struct unwind_rule *rule)
{
	Dwarf_Op memory[3], *ops;
	size_t count;
	uint64_t reg;
	int64_t offset;

	if (rule->cfa == UNWIND_CFA_SIGNAL)
		return true;
	if (dwarf_frame_register(frame, (int)fp_of(machine), memory, &ops, &count))
		return false;
	if (count == 0)
		return rule->fp == (ops ? UNWIND_FP_LOST : UNWIND_FP_SAME);
	if (cfa_offset(ops, count, &offset))
		return rule->fp == UNWIND_FP_CFA && rule->fp_off == offset;
	/* An expression starts with the CFA on its stack, which libdw spells out. */
	if (count == 2 && ops[0].atom == DW_OP_call_frame_cfa) {
		ops++;
		count--;
	}
	if (count == 1 && breg(&ops[0], &reg, &offset) && reg == fp_of(machine))
		return rule->fp == UNWIND_FP_FP && rule->fp_off == offset;
	return rule->fp == UNWIND_FP_LOST;
}

static bool check_ra(uint16_t machine, Dwarf_Frame *frame, const struct unwind_rule *rule)
{
	Dwarf_Op memory[3], *ops;
	size_t count;
	int64_t offset;

	if (rule->cfa == UNWIND_CFA_SIGNAL)
		return true;
	if (dwarf_frame_register(frame, machine == EM_X86_64 ? 16 : 30, memory, &ops, &count))
		return false;
	if (count == 0)
		return ops ? rule->cfa == UNWIND_CFA_END : rule->ra == UNWIND_RA_LR;
	return cfa_offset(ops, count, &offset) && rule->ra == UNWIND_RA_CFA &&
	       rule->ra_off == offset;
}

static bool ra_undefined(uint16_t machine, Dwarf_Frame *frame)
{
	Dwarf_Op memory[3], *ops;
	size_t count;

	return !dwarf_frame_register(frame, machine == EM_X86_64 ? 16 : 30, memory, &ops, &count) &&
	       count == 0 && ops;
}

/* Is the return address in some register? */
static bool ra_elsewhere(uint16_t machine, Dwarf_Frame *frame)
{
	Dwarf_Op memory[3], *ops;
	size_t count;

	if (dwarf_frame_info(frame, NULL, NULL, NULL) != (machine == EM_X86_64 ? 16 : 30))
		return true; /* AArch64's vfork: the column is x15 */
	return !dwarf_frame_register(frame, machine == EM_X86_64 ? 16 : 30, memory, &ops, &count) &&
	       count == 1 &&
	       (ops[0].atom == DW_OP_regx ||
		(ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31));
}

static void wrong(const char *path, uint64_t vaddr, const struct unwind_rule *rule,
		  const char *what, struct tally *tally)
{
	if (++tally->wrong <= MAX_REPORTED)
		print_message("%s: 0x%" PRIx64 ": %s (cfa %d %d %d, fp %d %d, ra %d %d)\n", path,
			      vaddr, what, rule->cfa, rule->cfa_off, rule->cfa_add, rule->fp,
			      rule->fp_off, rule->ra, rule->ra_off);
}

static void check_address(const char *path, uint16_t machine, Dwarf_CFI *cfi, uint64_t vaddr,
			  const struct unwind_rule *rule, struct tally *tally)
{
	_cleanup_free_ Dwarf_Frame *frame = NULL;
	bool expressible;

	tally->rows++;
	if (dwarf_cfi_addrframe(cfi, vaddr, &frame)) {
		if (rule->cfa == UNWIND_CFA_NONE)
			tally->equal++;
		else if (rule->cfa == UNWIND_CFA_END || rule->cfa == UNWIND_CFA_SIGNAL)
			tally->differ[ADDED]++;
		else
			tally->differ[LOST_BY_DW]++;
		return;
	}
	if (rule->cfa == UNWIND_CFA_NONE) {
		wrong(path, vaddr, rule, "rows lost", tally);
		return;
	}
	if (ra_undefined(machine, frame)) {
		if (rule->cfa == UNWIND_CFA_END)
			tally->equal++;
		else
			wrong(path, vaddr, rule, "end of stack missed", tally);
		return;
	}
	if (check_cfa(machine, frame, rule, &expressible) && check_fp(machine, frame, rule) &&
	    check_ra(machine, frame, rule)) {
		tally->equal++;
		return;
	}
	/* A CFA or a return address (vfork) in a register that we do not follow. */
	if (rule->cfa == UNWIND_CFA_UNSUPPORTED && (!expressible || ra_elsewhere(machine, frame)))
		tally->unsupported++;
	else
		wrong(path, vaddr, rule, "differs", tally);
}

static void check_object(const char *path, struct tally *tally)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct unwind_table *table;
	const struct cfi_rules *rules;
	Dwarf_CFI *cfi;
	Elf *elf;

	assert_true(fd >= 0);
	assert_int_equal(unwind_table_read(fd, -1, (char[REASON_MAX]){0}, &table), 0);
	rules = unwind_table_rules(table);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	assert_non_null(elf);
	cfi = dwarf_getcfi_elf(elf);
	assert_non_null(cfi);
	for (size_t i = 0; i < unwind_table_segments(table); i++) {
		const struct unwind_segment *s = unwind_table_segment(table, i);

		for (size_t k = 0; k < s->row_count; k++) {
			uint64_t end =
				k + 1 < s->row_count ? s->rows[k + 1].vaddr : s->vaddr + s->size;
			const struct unwind_rule *rule = cfi_rules_at(rules, s->rows[k].rule);

			assert_true(end > s->rows[k].vaddr);
			check_address(path, unwind_table_machine(table), cfi, s->rows[k].vaddr,
				      rule, tally);
			check_address(path, unwind_table_machine(table), cfi, end - 1, rule, tally);
		}
	}
	dwarf_cfi_end(cfi);
	elf_end(elf);
	unwind_table_free(table);
}

static void test_system_objects(void **unused)
{
	size_t found = 0;

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(folders); k++) {
			struct tally tally = {0};
			struct stat st;
			char path[256];

			snprintf(path, sizeof(path), "%s/%s", folders[k], objects[i]);
			if (stat(path, &st) || !S_ISREG(st.st_mode))
				continue;
			check_object(path, &tally);
			print_message("%s: %" PRIu64 " places, %" PRIu64 " equal, %" PRIu64
				      " added by us, %" PRIu64 " unknown to libdw, %" PRIu64
				      " in another register, %" PRIu64 " wrong\n",
				      path, tally.rows, tally.equal, tally.differ[ADDED],
				      tally.differ[LOST_BY_DW], tally.unsupported, tally.wrong);
			assert_true(tally.rows > 0);
			assert_int_equal(tally.wrong, 0);
			found++;
		}
	}
	assert_true(found >= LEAST_OBJECTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_system_objects)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

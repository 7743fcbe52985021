// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Where stacks begin in musl on AArch64, of which a machine of the other kind has no library: code as Debian's 1.2.5 for arm64 has it
 * around these calls, in a file made here. That of x86-64 is tried by real programs, in tests/integration/unwind.bats.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/base/util.h"
#include "user/unwind/table.h"

#define CODE 0x10000u

#define BL(at, to) (0x94000000u | (((to) - (at)) & 0x3ffffffu))

/* By number of the instruction. */
enum {
	EXIT = 0,
	MAIN_RETURNS = 6, /* to the call of exit() */
	START_MAIN = 8,
	WARNS = 13, /* exit(status), as musl's err() has it */
	RESTORE = 16,
	THREAD_EXIT = 24,
	CANCELLED = 29, /* pthread_exit(PTHREAD_CANCELED) */
	THREAD_RETURNS = 33,
	C11_RETURNS = 38,
	CREATE = 44,
	WORDS = 52,
};

static const uint32_t words[WORDS] = {
	[EXIT] = 0xd503233f, /* paciasp */
	[2] = 0x91002262,    /* add x2, x19, #8 */
	[3] = 0xaa1503e1,    /* mov x1, x21 */
	[4] = 0x2a1403e0,    /* mov w0, w20 */
	[5] = 0xd63f02c0,    /* blr x22 */
	[MAIN_RETURNS] = BL(MAIN_RETURNS, EXIT),
	[7] = 0xd503201f,	   /* nop */
	[START_MAIN] = 0xd503233f, /* paciasp */
	[11] = BL(11, WORDS),
	[12] = 0x2a1303e0, /* mov w0, w19 */
	[WARNS] = BL(WARNS, EXIT),
	[14] = 0xd503201f,
	[RESTORE] = 0xd2801168,	    /* mov x8, #139 */
	[RESTORE + 1] = 0xd4000001, /* svc #0 */
	[THREAD_EXIT] = 0xd503233f,
	[27] = 0x92800000, /* mov x0, #-1 */
	[28] = 0xd503201f,
	[CANCELLED] = BL(CANCELLED, THREAD_EXIT),
	[31] = 0xa9400261, /* ldp x1, x0, [x19] */
	[32] = 0xd63f0020, /* blr x1 */
	[THREAD_RETURNS] = BL(THREAD_RETURNS, THREAD_EXIT),
	[36] = 0xa9400001,
	[37] = 0xd63f0020,
	[C11_RETURNS] = 0x93407c00, /* sxtw x0, w0 */
	[39] = BL(39, THREAD_EXIT),
	[CREATE] = 0xd503233f,
};

static const char names[] = "\0__libc_start_main\0exit\0pthread_create\0pthread_exit";

struct file {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	Elf64_Shdr shdrs[3];
	Elf64_Sym symbols[5];
	char names[sizeof(names)];
	uint32_t words[WORDS];
};

static Elf64_Sym symbol(const char *name, unsigned word)
{
	const char *at = memmem(names, sizeof(names), name, strlen(name) + 1);

	assert_non_null(at);
	return (Elf64_Sym){.st_name = (uint32_t)(at - names),
			   .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			   .st_shndx = 1,
			   .st_value = CODE + 4 * word,
			   .st_size = 4};
}

/*
 * `type`: of the symbol table; a static program has no dynamic one. `entry`: where it begins; 0: a library. `signals`: it has what
 * handlers return to.
 */
static struct unwind_table *table_of(uint16_t machine, uint32_t type, unsigned entry, bool signals)
{
	struct file f = {
		.ehdr = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT},
			 .e_type = ET_DYN,
			 .e_machine = machine,
			 .e_version = EV_CURRENT,
			 .e_entry = entry,
			 .e_phoff = offsetof(struct file, phdr),
			 .e_shoff = offsetof(struct file, shdrs),
			 .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 1,
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 3,
			 .e_shstrndx = 2},
		.phdr = {.p_type = PT_LOAD,
			 .p_flags = PF_R | PF_X,
			 .p_offset = offsetof(struct file, words),
			 .p_vaddr = CODE,
			 .p_filesz = sizeof(words),
			 .p_memsz = sizeof(words)},
		.shdrs = {{.sh_type = SHT_NULL},
			  {.sh_type = type,
			   .sh_offset = offsetof(struct file, symbols),
			   .sh_size = sizeof(f.symbols),
			   .sh_link = 2,
			   .sh_entsize = sizeof(Elf64_Sym),
			   .sh_addralign = 8},
			  {.sh_type = SHT_STRTAB,
			   .sh_offset = offsetof(struct file, names),
			   .sh_size = sizeof(names),
			   .sh_addralign = 1}},
	};
	struct unwind_table *table = NULL;
	char reason[REASON_MAX];
	int fd = memfd_create("musl", MFD_CLOEXEC);

	assert_true(fd >= 0);
	f.symbols[1] = symbol("__libc_start_main", START_MAIN);
	f.symbols[2] = symbol("exit", EXIT);
	f.symbols[3] = symbol("pthread_create", CREATE);
	f.symbols[4] = symbol("pthread_exit", THREAD_EXIT);
	memcpy(f.names, names, sizeof(names));
	memcpy(f.words, words, sizeof(words));
	if (!signals)
		f.words[RESTORE] = 0xd503201f;
	assert_int_equal(write(fd, &f, sizeof(f)), sizeof(f));
	assert_int_equal(unwind_table_read(fd, -1, reason, &table), 0);
	close(fd);
	return table;
}

/* As the unwinder looks up what is returned to. */
static uint32_t returned_to(const struct unwind_table *table, unsigned word)
{
	return unwind_table_find(table, CODE + 4 * word - 1);
}

static void has_ends(struct unwind_table *table)
{
	const unsigned ends[] = {MAIN_RETURNS, THREAD_RETURNS, C11_RETURNS};
	size_t found = 0;

	for (unsigned i = 1; i < WORDS; i++) {
		bool wanted = false;

		for (size_t k = 0; k < ARRAY_SIZE(ends); k++)
			wanted |= i == ends[k];
		if (wanted)
			assert_int_equal(returned_to(table, i), UNWIND_RULE_END);
		found += wanted;
	}
	assert_int_equal(found, ARRAY_SIZE(ends));
	assert_int_equal(returned_to(table, WARNS), UNWIND_RULE_NONE);
	assert_int_equal(returned_to(table, 12), UNWIND_RULE_NONE);
	assert_int_equal(returned_to(table, CANCELLED), UNWIND_RULE_NONE);
	assert_int_equal(returned_to(table, CANCELLED + 1), UNWIND_RULE_NONE);
	assert_int_equal(returned_to(table, 32), UNWIND_RULE_NONE);
	assert_int_equal(returned_to(table, CREATE), UNWIND_RULE_NONE);
	unwind_table_free(table);
}

static void stacks_begin_in_a_library(void **state)
{
	(void)state;
	has_ends(table_of(EM_AARCH64, SHT_DYNSYM, 0, true));
}

static void stacks_begin_in_a_static_program(void **state)
{
	(void)state;
	has_ends(table_of(EM_AARCH64, SHT_SYMTAB, CODE + 4 * (CREATE + 1), true));
	/* One that handles no signal. */
	has_ends(table_of(EM_AARCH64, SHT_SYMTAB, CODE + 4 * (CREATE + 1), false));
}

/* The same bytes are no calls there. */
static void not_on_another_machine(void **state)
{
	struct unwind_table *table = table_of(EM_X86_64, SHT_DYNSYM, 0, true);

	(void)state;
	for (unsigned i = 1; i < WORDS; i++)
		assert_int_equal(returned_to(table, i), UNWIND_RULE_NONE);
	unwind_table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_begin_in_a_library),
		cmocka_unit_test(stacks_begin_in_a_static_program),
		cmocka_unit_test(not_on_another_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

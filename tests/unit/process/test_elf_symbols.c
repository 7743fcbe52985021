// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The symbols of this program's own file. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/process/elf_open.h"
#include "user/process/elf_symbols.h"

#define ENDED 7

extern int elf_symbols_seen;
int elf_symbols_seen = 1;

struct wanted {
	const char *name;
	unsigned times;
	GElf_Sym sym;
	int answer;
};

static int look_at(void *ctx, const char *name, const GElf_Sym *sym)
{
	struct wanted *w = ctx;

	assert_int_not_equal(sym->st_shndx, SHN_UNDEF);
	if (strcmp(name, w->name))
		return 0;
	w->times++;
	w->sym = *sym;
	return w->answer;
}

static Elf *own_file(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char why[REASON_MAX];
	Elf *elf = NULL;

	assert_true(fd >= 0);
	assert_int_equal(elf_open(fd, ELF_FOR_SYMBOLS, why, &elf), 0);
	/* libelf has read what it needs. */
	assert_int_equal(elf_cntl(elf, ELF_C_FDREAD), 0);
	close(fd);
	return elf;
}

static void defined(void **state)
{
	struct wanted w = {.name = "elf_symbols_seen"};
	_cleanup_elf_ Elf *elf = own_file();

	(void)state;
	assert_int_equal(elf_symbols(elf, SHT_SYMTAB, look_at, &w), 0);
	assert_int_equal(w.times, 1);
	assert_int_equal(w.sym.st_size, sizeof(elf_symbols_seen));
	assert_int_equal(GELF_ST_TYPE(w.sym.st_info), STT_OBJECT);
}

static void ended(void **state)
{
	struct wanted w = {.name = "main", .answer = ENDED};
	_cleanup_elf_ Elf *elf = own_file();

	(void)state;
	assert_int_equal(elf_symbols(elf, SHT_SYMTAB, look_at, &w), ENDED);
	assert_int_equal(w.times, 1);
}

/* close() is the C library's. */
static void undefined(void **state)
{
	struct wanted w = {.name = "close"};
	_cleanup_elf_ Elf *elf = own_file();

	(void)state;
	assert_int_equal(elf_symbols(elf, SHT_DYNSYM, look_at, &w), 0);
	assert_int_equal(w.times, 0);
}

static void no_table(void **state)
{
	struct wanted w = {.name = "main"};
	_cleanup_elf_ Elf *elf = own_file();

	(void)state;
	assert_int_equal(elf_symbols(elf, SHT_GROUP, look_at, &w), -ENOENT);
	assert_int_equal(w.times, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defined),
		cmocka_unit_test(ended),
		cmocka_unit_test(undefined),
		cmocka_unit_test(no_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

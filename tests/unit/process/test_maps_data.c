// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Where the data of objects ends, on maps and program headers made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "user/process/maps_data.h"

#define BASE 0x7f0000000000ull

static const char some_maps[] = "7f0000000000-7f0000001000 r--p 00000000 08:01 9 /lib/libx.so\n"
				"7f0000001000-7f0000003000 rw-p 00001000 08:01 9 /lib/libx.so\n"
				"7f0000003000-7f0000203000 rw-p 00000000 00:00 0 \n";

struct fake_object {
	Elf64_Ehdr header;
	Elf64_Phdr headers[2];
};

static size_t fake_read(void *ctx, uint64_t address, void *to, size_t size)
{
	uint64_t at = address - BASE;

	if (at >= sizeof(struct fake_object))
		return 0;
	size = size < sizeof(struct fake_object) - at ? size : sizeof(struct fake_object) - at;
	memcpy(to, (const char *)ctx + at, size);
	return size;
}

static struct fake_object fake_object(uint64_t vaddr, uint64_t memsz)
{
	struct fake_object o = {.header = {.e_phoff = sizeof(Elf64_Ehdr),
					   .e_phentsize = sizeof(Elf64_Phdr),
					   .e_phnum = 2},
				.headers = {{.p_type = PT_LOAD, .p_flags = PF_R, .p_memsz = 0x800},
					    {.p_type = PT_LOAD,
					     .p_flags = PF_R | PF_W,
					     .p_offset = 0x1000,
					     .p_vaddr = vaddr,
					     .p_memsz = memsz}}};

	memcpy(o.header.e_ident, ELFMAG, SELFMAG);
	o.header.e_ident[EI_CLASS] = ELFCLASS64;
	o.header.e_ident[EI_DATA] = ELFDATA2LSB;
	return o;
}

/* How many mappings there are then, where the last one begins, and whether it is apart. */
static void cut(struct fake_object o, size_t count, uint64_t last, bool apart)
{
	const struct mapping *m;
	struct maps *maps;

	assert_int_equal(maps_parse(some_maps, strlen(some_maps), &maps), 0);
	assert_int_equal(maps_cut_data(maps, fake_read, &o), 0);
	assert_int_equal(maps_count(maps), count);
	m = maps_at(maps, count - 1);
	assert_int_equal(m->start, last);
	assert_int_equal(m->end, 0x7f0000203000);
	assert_int_equal(m->apart, apart);
	if (count == 4) {
		assert_int_equal(maps_at(maps, 2)->end, last);
		assert_false(maps_at(maps, 2)->apart);
		assert_ptr_equal(maps_find(maps, last), m);
		assert_ptr_equal(maps_find(maps, last - 1), maps_at(maps, 2));
	}
	maps_free(maps);
}

static void ends(void **state)
{
	(void)state;
	cut(fake_object(0x1000, 0x2001), 4, 0x7f0000004000, true); /* one byte of the next page */
	cut(fake_object(0x1000, 0x12000), 4, 0x7f0000013000, true);
	cut(fake_object(0x1000, 0x2000), 3, 0x7f0000003000, true);    /* it ends before */
	cut(fake_object(0x1000, 0x202000), 3, 0x7f0000003000, false); /* all of it is the data */
}

/* What makes no sense leaves the mapping as it is. */
static void forged(void **state)
{
	struct fake_object o = fake_object(0x1000, 0x12000);

	(void)state;
	o.header.e_phnum = 3;
	cut(o, 3, 0x7f0000003000, false);
	o.header.e_phnum = 0xffff;
	cut(o, 3, 0x7f0000003000, false);
	o.header.e_phnum = 2;
	o.header.e_phoff = UINT64_MAX - 8;
	cut(o, 3, 0x7f0000003000, false);
	cut(fake_object(UINT64_MAX - 0x1000, 0x12000), 3, 0x7f0000003000,
	    true); /* no data at all */
	cut(fake_object(0x1000, UINT64_MAX - 0x2000), 3, 0x7f0000003000, false);
	o = fake_object(0x1000, 0x12000);
	o.header.e_ident[EI_CLASS] = ELFCLASS32;
	cut(o, 3, 0x7f0000003000, false);
	o.header.e_ident[0] = 'x'; /* a file of something else has no variables */
	cut(o, 3, 0x7f0000003000, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends),
		cmocka_unit_test(forged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Damaged files: whatever the bytes say, the builder ends, the rows keep their promises and the
 * unwinder finds what the table says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unwind/memory.h"
#include "user/base/util.h"
#include "user/unwind/pages.h"
#include "user/unwind/table.h"

#define ROUNDS 400
#define PROBES 200

struct file {
	uint8_t *bytes;
	size_t size;
	uint64_t frames_at, frames_size; /* .eh_frame */
	int fd;				 /* of the copy that is damaged */
};

/* xorshift64*: the same damage on every run. */
static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * 0x2545f4914f6cdd1dull;
}

static void find_frames(struct file *file)
{
	size_t strings;
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_memory((char *)file->bytes, file->size);
	assert_non_null(elf);
	assert_int_equal(elf_getshdrstrndx(elf, &strings), 0);
	while ((scn = elf_nextscn(elf, scn))) {
		assert_non_null(gelf_getshdr(scn, &shdr));
		if (strcmp(elf_strptr(elf, strings, shdr.sh_name), ".eh_frame") == 0) {
			file->frames_at = shdr.sh_offset;
			file->frames_size = shdr.sh_size;
		}
	}
	elf_end(elf);
	assert_true(file->frames_size > 0);
}

/* libc's dynamic loader: small, and with most kinds of rows. */
static int set_up(void **state)
{
	static struct file file;
	struct stat st;
	int fd = -1;

	for (size_t i = 0; fd < 0 && i < 2; i++) {
		static const char *const paths[] = {"/lib64/ld-linux-x86-64.so.2",
						    "/lib/ld-linux-aarch64.so.1"};

		fd = open(paths[i], O_RDONLY | O_CLOEXEC);
	}
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	file.size = (size_t)st.st_size;
	file.bytes = malloc(file.size);
	assert_non_null(file.bytes);
	assert_int_equal(read(fd, file.bytes, file.size), file.size);
	close(fd);
	file.fd = memfd_create("damaged", MFD_CLOEXEC);
	assert_true(file.fd >= 0);
	find_frames(&file);
	*state = &file;
	return 0;
}

static int tear_down(void **state)
{
	struct file *file = *state;

	close(file->fd);
	free(file->bytes);
	return 0;
}

static int no_stack(void *to, uint32_t size, uint64_t address)
{
	(void)to;
	(void)size;
	(void)address;
	return -EFAULT;
}

/* Rows ascend and stay in their segment, and pages say the same as rows. */
static void check_segment(const struct unwind_table *table, const struct unwind_segment *segment,
			  struct unwind_memory *memory, struct unwind_space *space, uint64_t *seed)
{
	static uint16_t numbers[UNWIND_MAX_RULES];
	struct unwind_state state = {.memory = memory};
	struct unwind_pages pages;
	int err;

	assert_true(segment->row_count > 0);
	assert_int_equal(segment->rows[0].vaddr, segment->vaddr);
	for (size_t i = 1; i < segment->row_count; i++)
		assert_true(segment->rows[i].vaddr > segment->rows[i - 1].vaddr);
	assert_true(segment->rows[segment->row_count - 1].vaddr - segment->vaddr < segment->size);
	for (size_t i = 0; i < UNWIND_MAX_RULES; i++)
		numbers[i] = (uint16_t)i;
	err = unwind_pages_write(space, segment, numbers, &pages);
	assert_int_equal(err, 0);
	state.directory = pages.directory;
	state.pages = pages.pages;
	state.map_base = pages.base;
	for (size_t i = 0; i < PROBES; i++) {
		uint64_t vaddr = segment->vaddr + next_random(seed) % segment->size;

		if (i % 2) {
			vaddr = segment->rows[next_random(seed) % segment->row_count].vaddr;
			vaddr -= i % 4 == 1 && vaddr > segment->vaddr;
		}
		assert_int_equal(unwind_find_rule(&state, vaddr), unwind_table_find(table, vaddr));
	}
	unwind_pages_free(space, &pages);
}

static void check_file(int fd, uint64_t *seed)
{
	struct unwind_memory *memory = calloc(1, sizeof(*memory));
	struct unwind_table *table = NULL;
	struct unwind_backend backend;
	struct unwind_space *space;

	assert_non_null(memory);
	memory->read = no_stack;
	backend = memory_backend(memory);
	space = unwind_space_new(&backend.chunks);
	assert_non_null(space);
	if (unwind_table_read(fd, -1, (char[REASON_MAX]){0}, &table) == 0) {
		for (size_t i = 0; i < unwind_table_segments(table); i++)
			check_segment(table, unwind_table_segment(table, i), memory, space, seed);
		unwind_table_free(table);
	}
	assert_int_equal(unwind_space_used(space), 0);
	unwind_space_free(space);
	free(memory);
}

static void write_copy(const struct file *file, const uint8_t *bytes)
{
	assert_int_equal(pwrite(file->fd, bytes, file->size, 0), file->size);
}

static void test_intact(void **state)
{
	const struct file *file = *state;
	uint64_t seed = 1;

	write_copy(file, file->bytes);
	check_file(file->fd, &seed);
}

static void damage(const struct file *file, uint64_t at, uint64_t size, uint64_t seed)
{
	_cleanup_free_ uint8_t *bytes = malloc(file->size);

	assert_non_null(bytes);
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t count = 1 + next_random(&seed) % 30;

		memcpy(bytes, file->bytes, file->size);
		while (count--)
			bytes[at + next_random(&seed) % size] = (uint8_t)next_random(&seed);
		write_copy(file, bytes);
		check_file(file->fd, &seed);
	}
}

static void test_damaged_frames(void **state)
{
	const struct file *file = *state;

	damage(file, file->frames_at, file->frames_size, 2);
	damage(file, file->frames_at, 200, 3); /* the CIEs */
}

static void test_damaged_headers(void **state)
{
	const struct file *file = *state;
	const Elf64_Ehdr *ehdr = (const void *)file->bytes;

	damage(file, 0, sizeof(Elf64_Ehdr) + (uint64_t)ehdr->e_phnum * ehdr->e_phentsize, 4);
	damage(file, ehdr->e_shoff, (uint64_t)ehdr->e_shnum * ehdr->e_shentsize, 5);
}

static void test_cut_short(void **state)
{
	const struct file *file = *state;
	uint64_t seed = 6;

	write_copy(file, file->bytes);
	for (size_t size = file->size; size > 0; size -= size / 8 + 1) {
		assert_int_equal(ftruncate(file->fd, (off_t)size), 0);
		check_file(file->fd, &seed);
	}
	assert_int_equal(ftruncate(file->fd, (off_t)file->size), 0);
}

/* Extents come and go in a random order; none may overlap another, and in the end all is free. */
static void test_space(void **unused)
{
	enum { EXTENTS = 500 };
	struct unwind_memory *memory = calloc(1, sizeof(*memory));
	struct unwind_backend backend;
	struct unwind_space *space;
	uint32_t first[EXTENTS] = {0}, size[EXTENTS];
	uint64_t seed = 7;
	size_t adds;

	(void)unused;
	assert_non_null(memory);
	backend = memory_backend(memory);
	space = unwind_space_new(&backend.chunks);
	assert_non_null(space);
	for (int round = 0; round < 20000; round++) {
		uint32_t i = (uint32_t)(next_random(&seed) % EXTENTS);

		if (first[i]) {
			for (uint32_t k = 0; k < size[i]; k++)
				assert_int_equal(unwind_space_at(space, first[i])[k], i);
			unwind_space_give(space, first[i], size[i]);
			first[i] = 0;
			continue;
		}
		size[i] = 1 + (uint32_t)(next_random(&seed) % (round % 50 ? 900 : 60000));
		assert_int_equal(unwind_space_take(space, size[i], &first[i]), 0);
		assert_true(first[i] % UNWIND_CHUNK_WORDS + size[i] <= UNWIND_CHUNK_WORDS);
		for (uint32_t k = 0; k < size[i]; k++)
			unwind_space_at(space, first[i])[k] = i;
	}
	adds = memory->adds;
	assert_int_equal(unwind_space_take(space, UNWIND_CHUNK_WORDS, &first[0]), -E2BIG);
	for (uint32_t i = 0; i < EXTENTS; i++) {
		if (first[i])
			unwind_space_give(space, first[i], size[i]);
	}
	assert_int_equal(unwind_space_used(space), 0);
	unwind_space_trim(space);
	assert_int_equal(unwind_space_chunks(space), 1); /* the first is kept */
	assert_int_equal(unwind_space_reserve(space, 5 * UNWIND_CHUNK_WORDS), 0);
	assert_int_equal(unwind_space_chunks(space), 5);
	assert_int_equal(memory->adds, adds + 1);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(unwind_space_take(space, UNWIND_CHUNK_WORDS - 8, &first[i]), 0);
	assert_int_equal(memory->adds, adds + 1);
	unwind_space_free(space);
	assert_int_equal(memory->chunk_count, 0);
	free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_intact),		cmocka_unit_test(test_damaged_frames),
		cmocka_unit_test(test_damaged_headers), cmocka_unit_test(test_cut_short),
		cmocka_unit_test(test_space),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Go's table of functions in each of its layouts, and the rows that are made of it: of files made here, so that versions
 * can be tested that no package has. Those of a real compiler are in tests/integration/managed.bats.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unwind/go_file.h"
#include "user/process/elf_open.h"
#include "user/process/go_functions.h"
#include "user/unwind/table.h"

#define MAGIC_1_16 0xfffffffau
#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u

#define BYTES(...) \
	.code = (const uint8_t[]){__VA_ARGS__}, .size = sizeof((const uint8_t[]){__VA_ARGS__})

struct function {
	const char *name;
	const uint8_t *code;
	size_t size;
	uint8_t flags;
};

/*
 * What the code of Go's runtime does around its calls, as its assembler writes it; to 1.20 and from 1.21 on. The call of C
 * that has changed stacks comes first, then the one that had not to.
 */
#define CALL_1_20                                                                                 \
	BYTES(0x48, 0x89, 0xe2, 0x48, 0x83, 0xec, 0x40, 0x48, 0x83, 0xe4, 0xf0, 0xff,             \
	      0xd0, /* 11 */                                                                      \
	      0x48, 0xc7, 0xc1, 0xf8, 0xff, 0xff, 0xff, 0x48, 0x8b, 0x7c, 0x24, 0x30, 0x48, 0x8b, \
	      0x77, 0x08, 0x48, 0x2b, 0x74, 0x24, 0x28, 0x48, 0x89, 0xf4, 0xc3, 0xff,             \
	      0xd0, /* 38 */                                                                      \
	      0x48, 0x8b, 0x74, 0x24, 0x28, 0x48, 0x89, 0xf4, 0xc3)
#define BACK_1_20                                                                     \
	BYTES(0x48, 0x83, 0xec, 0x20, 0x48, 0x89, 0x6c, 0x24, 0x18, 0xff, 0xd0, 0xff, \
	      0xd0, /* 11 */                                                          \
	      0x48, 0x8d, 0x44, 0x24, 0x28, 0x48, 0x29, 0xe0, 0xc3)
#define CALL_1_21                                                                                 \
	BYTES(0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xe2, 0x48, 0x83, 0xec, 0x10, 0x48, 0x83, 0xe4, \
	      0xf0, 0xe8, 0, 0, 0, 0, /* 15 */                                                    \
	      0x48, 0x8b, 0x7c, 0x24, 0x08, 0x48, 0x8b, 0x77, 0x08, 0x48, 0x2b, 0x34, 0x24, 0x48, \
	      0x89, 0xf4, 0x5d, 0xc3, 0xe8, 0, 0, 0, 0, /* 38 */                                  \
	      0x48, 0x8b, 0x34, 0x24, 0x48, 0x89, 0xf4, 0x5d, 0xc3)
#define BACK_1_21                                                                     \
	BYTES(0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x18, 0xff, 0xd0, 0x90, 0xff, \
	      0xd0, /* 11 */                                                          \
	      0x48, 0x8d, 0x44, 0x24, 0x30, 0x48, 0x29, 0xe0, 0x5d, 0xc3)

/* Places of the calls in these. */
#define CHANGED_1_20 11
#define CHANGED_1_21 15
#define THERE	     38
#define CALLED_GO    11

#define PLAIN 24 /* bytes of each function below: sp 16 lower from the 5th to the last but one */
#define NOPS                                                                                      \
	BYTES(0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, \
	      0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xc3)

enum { CALL, BACK, MAIN, EXIT, SWITCHES, WRAPPER, FUNCTIONS };

static const struct function to_1_20[FUNCTIONS] = {
	{"runtime.asmcgocall", CALL_1_20, 6},
	{"runtime.cgocallback", BACK_1_20, 6},
	{"main.main", NOPS, 0},
	{"runtime.goexit", NOPS, 5},
	{"runtime.systemstack", NOPS, 6},
	{"runtime.asmcgocall", NOPS, 0},
};

static const struct function from_1_21[FUNCTIONS] = {
	{"runtime.asmcgocall", CALL_1_21, 6},
	{"runtime.cgocallback", BACK_1_21, 6},
	{"main.main", NOPS, 0},
	{"runtime.goexit", NOPS, 5},
	{"runtime.systemstack", NOPS, 6},
	{"runtime.asmcgocall", NOPS, 0},
};

/* ---- making the table --------------------------------------------------------------------- */

struct bytes {
	uint8_t data[4096];
	size_t size;
};

static void put(struct bytes *to, const void *from, size_t size)
{
	assert_true(to->size + size <= sizeof(to->data));
	memcpy(to->data + to->size, from, size);
	to->size += size;
}

static void put_u32(struct bytes *to, uint32_t value)
{
	put(to, &value, sizeof(value));
}

static void put_u64(struct bytes *to, uint64_t value)
{
	put(to, &value, sizeof(value));
}

/* A step of the value and how many bytes it holds for: one byte each, as they are small here. */
static void put_step(struct bytes *to, int step, uint8_t length)
{
	uint8_t pair[] = {(uint8_t)(step < 0 ? -step * 2 - 1 : step * 2), length};

	put(to, pair, sizeof(pair));
}

struct table {
	struct bytes code, names, values, bytes;
	uint64_t starts[FUNCTIONS + 1];
};

static void put_function(struct table *t, struct bytes *described, const struct function *f,
			 uint32_t magic)
{
	uint8_t last[] = {0, f->flags, 0, 0};
	uint32_t name = (uint32_t)t->names.size, sp, file, line;

	put(&t->names, f->name, strlen(f->name) + 1);
	sp = (uint32_t)t->values.size;
	put_step(&t->values, 1, 4);
	put_step(&t->values, 16, (uint8_t)(f->size - 5));
	put_step(&t->values, -16, 1);
	put(&t->values, "", 1);
	file = (uint32_t)t->values.size;
	put_step(&t->values, 2, (uint8_t)f->size);
	put(&t->values, "", 1);
	line = (uint32_t)t->values.size;
	put_step(&t->values, 31, 10);
	put_step(&t->values, 2, (uint8_t)(f->size - 10));
	put(&t->values, "", 1);
	if (magic == MAGIC_1_16)
		put_u64(described, GO_FILE_CODE + t->code.size);
	else
		put_u32(described, (uint32_t)t->code.size);
	put_u32(described, name);
	put_u32(described, 0);
	put_u32(described, 0);
	put_u32(described, sp);
	put_u32(described, file);
	put_u32(described, line);
	put_u32(described, 0);
	put_u32(described, 1); /* its unit's files begin with the second */
	if (magic == MAGIC_1_20)
		put_u32(described, 7);
	put(described, last, sizeof(last));
	put(&t->code, f->code, f->size);
}

static void make_table(struct table *t, const struct function *functions, uint32_t magic)
{
	static const char files[] = "no.go\0none.go\0/src/main.go";
	static const uint32_t units[] = {0, 0, 14};
	static const uint8_t head[] = {0, 0, 1, 8};
	struct bytes described = {0}, entries = {0};
	size_t entry = magic == MAGIC_1_16 ? 16 : 8;
	uint64_t at;

	*t = (struct table){0};
	put(&t->values, "", 1);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		uint64_t place = FUNCTIONS * entry + 8 + described.size;

		t->starts[i] = GO_FILE_CODE + t->code.size;
		if (magic == MAGIC_1_16) {
			put_u64(&entries, t->starts[i]);
			put_u64(&entries, place);
		} else {
			put_u32(&entries, (uint32_t)t->code.size);
			put_u32(&entries, (uint32_t)place);
		}
		put_function(t, &described, &functions[i], magic);
	}
	t->starts[FUNCTIONS] = GO_FILE_CODE + t->code.size;
	put_u64(&entries, magic == MAGIC_1_16 ? t->starts[FUNCTIONS] : t->code.size);
	put_u32(&t->bytes, magic);
	put(&t->bytes, head, sizeof(head));
	put_u64(&t->bytes, FUNCTIONS);
	put_u64(&t->bytes, 3);
	if (magic != MAGIC_1_16)
		put_u64(&t->bytes, GO_FILE_CODE);
	at = t->bytes.size + 5 * 8;
	put_u64(&t->bytes, at);
	put_u64(&t->bytes, at += t->names.size);
	put_u64(&t->bytes, at += sizeof(units));
	put_u64(&t->bytes, at += sizeof(files));
	put_u64(&t->bytes, at += t->values.size);
	put(&t->bytes, t->names.data, t->names.size);
	put(&t->bytes, units, sizeof(units));
	put(&t->bytes, files, sizeof(files));
	put(&t->bytes, t->values.data, t->values.size);
	put(&t->bytes, entries.data, entries.size);
	put(&t->bytes, described.data, described.size);
}

/* ---- looking at it ------------------------------------------------------------------------ */

static void expect_functions(int fd, const struct table *t, const struct function *functions)
{
	char reason[REASON_MAX] = "";
	struct go_functions *go;
	struct go_function f;
	const char *file;
	uint32_t line;
	Elf *elf;

	assert_int_equal(elf_open(fd, ELF_FOR_FRAMES, reason, &elf), 0);
	assert_int_equal(go_functions_read(elf, fd, &go), 0);
	assert_int_equal(go_functions_count(go), FUNCTIONS);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		assert_true(go_functions_at(go, i, &f));
		assert_string_equal(f.name, functions[i].name);
		assert_int_equal(f.start, t->starts[i]);
		assert_int_equal(f.end, t->starts[i + 1]);
		assert_int_equal(f.flags, functions[i].flags);
		assert_true(go_functions_find(go, t->starts[i + 1] - 1, &f));
		assert_int_equal(f.start, t->starts[i]);
		assert_true(go_functions_line(go, &f, f.start + 9, &file, &line));
		assert_string_equal(file, "/src/main.go");
		assert_int_equal(line, 30);
		assert_true(go_functions_line(go, &f, f.start + 10, &file, &line));
		assert_int_equal(line, 32);
	}
	assert_false(go_functions_find(go, t->starts[0] - 1, &f));
	assert_false(go_functions_find(go, t->starts[FUNCTIONS], &f));
	assert_false(go_functions_at(go, FUNCTIONS, &f));
	go_functions_free(go);
	elf_end(elf);
}

static const struct unwind_rule *rule_at(const struct unwind_table *table, uint64_t vaddr)
{
	return cfi_rules_at(unwind_table_rules(table), unwind_table_find(table, vaddr));
}

static void expect_plain(const struct unwind_table *table, uint64_t start)
{
	assert_int_equal(rule_at(table, start)->cfa, UNWIND_CFA_SP);
	assert_int_equal(rule_at(table, start)->cfa_off, 8);
	assert_int_equal(rule_at(table, start + 4)->cfa_off, 24);
	assert_int_equal(rule_at(table, start + PLAIN - 2)->cfa_off, 24);
	assert_int_equal(rule_at(table, start + PLAIN - 1)->cfa_off, 8);
	assert_int_equal(rule_at(table, start + 4)->ra_off, -8);
	assert_int_equal(rule_at(table, start + 4)->fp, UNWIND_FP_LOST);
}

/* A return address is looked up one byte before. */
static void expect_rows(int fd, const struct table *t, bool pushed, bool by_name)
{
	char reason[REASON_MAX] = "";
	uint64_t call = t->starts[CALL], back = t->starts[BACK],
		 changed = call + (pushed ? CHANGED_1_21 : CHANGED_1_20);
	const struct unwind_rule *rule;
	struct unwind_table *table;

	assert_int_equal(unwind_table_read(fd, -1, reason, &table), 0);
	rule = rule_at(table, changed + (pushed ? 4 : 1));
	assert_int_equal(rule->cfa, UNWIND_CFA_GO_CALL);
	assert_int_equal(rule->cfa_off, pushed ? 8 : 48);
	assert_int_equal(rule->cfa_add, 8);
	assert_int_equal(rule->ra_off, pushed ? 0 : 40);
	assert_int_equal(rule->fp_off, pushed ? 8 : 0);
	rule = rule_at(table, call + THERE + (pushed ? 4 : 1));
	assert_int_equal(rule->cfa, UNWIND_CFA_SP_DEREF);
	assert_int_equal(rule->cfa_off, pushed ? 0 : 40);
	assert_int_equal(rule->cfa_add, pushed ? 16 : 8);
	rule = rule_at(table, back + CALLED_GO + 1);
	assert_int_equal(rule->cfa, UNWIND_CFA_GO_CALLBACK);
	assert_int_equal(rule->cfa_off, pushed ? 16 : 64);
	assert_int_equal(rule->fp_off, 24);
	assert_int_equal(rule->ra_off, 32);
	/* Elsewhere in these nobody knows on which stack it is. */
	assert_int_equal(rule_at(table, call)->cfa, UNWIND_CFA_UNSUPPORTED);
	assert_int_equal(rule_at(table, changed + 6)->cfa, UNWIND_CFA_UNSUPPORTED);
	assert_int_equal(rule_at(table, back + 8)->cfa, UNWIND_CFA_UNSUPPORTED);
	assert_int_equal(rule_at(table, t->starts[SWITCHES] + 8)->cfa, UNWIND_CFA_UNSUPPORTED);
	assert_int_equal(rule_at(table, t->starts[EXIT])->cfa, UNWIND_CFA_END);
	expect_plain(table, t->starts[MAIN]);
	if (by_name)
		assert_int_equal(rule_at(table, t->starts[WRAPPER] + 8)->cfa,
				 UNWIND_CFA_UNSUPPORTED);
	else
		expect_plain(table, t->starts[WRAPPER]);
	unwind_table_free(table);
}

static void layout(const struct function *functions, uint32_t magic)
{
	struct table t;
	int fd;

	elf_version(EV_CURRENT);
	make_table(&t, functions, magic);
	fd = go_file_make(t.code.data, t.code.size, t.bytes.data, t.bytes.size);
	assert_true(fd >= 0);
	expect_functions(fd, &t, functions);
	expect_rows(fd, &t, functions == from_1_21, magic == MAGIC_1_16);
	close(fd);
}

static void of_1_16(void **state)
{
	(void)state;
	layout(to_1_20, MAGIC_1_16);
}

static void of_1_18(void **state)
{
	(void)state;
	layout(to_1_20, MAGIC_1_18);
}

static void of_1_20(void **state)
{
	(void)state;
	layout(to_1_20, MAGIC_1_20);
}

static void of_1_21(void **state)
{
	(void)state;
	layout(from_1_21, MAGIC_1_20);
}

/* Cut anywhere it is read as far as it goes, or is none. */
static void cut(void **state)
{
	struct table t;

	(void)state;
	elf_version(EV_CURRENT);
	make_table(&t, from_1_21, MAGIC_1_20);
	for (size_t size = 0; size < t.bytes.size; size++) {
		int fd = go_file_make(t.code.data, t.code.size, t.bytes.data, size);
		char reason[REASON_MAX] = "";
		struct unwind_table *table;

		assert_true(fd >= 0);
		assert_int_equal(unwind_table_read(fd, -1, reason, &table), 0);
		unwind_table_free(table);
		close(fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_1_16), cmocka_unit_test(of_1_18), cmocka_unit_test(of_1_20),
		cmocka_unit_test(of_1_21), cmocka_unit_test(cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

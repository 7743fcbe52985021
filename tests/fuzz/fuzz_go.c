// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * libFuzzer: the table of functions of a Go program, and the code of those that change stacks. The input: two bytes that
 * say how much of what follows is code, that, and the table. A file is made around them.
 */
#include "tests/fuzz/fuzz.h"

#include "tests/unit/unwind/go_file.h"
#include "user/process/elf_open.h"
#include "user/process/go_functions.h"
#include "user/unwind/table.h"

static void check_function(const struct go_functions *go, const struct go_function *f)
{
	struct go_values v = go_values_of(go, f, f->sp_values);
	const char *file = NULL;
	uint64_t last = 0;
	uint32_t line;

	MUST(f->start < f->end && f->name);
	for (int i = 0; i < 1000 && go_values_next(&v); i++) {
		MUST(v.pc < v.end && v.pc >= last);
		last = v.pc;
	}
	if (go_functions_line(go, f, f->start, &file, &line))
		MUST(file && line);
}

static void check_functions(int fd)
{
	struct go_functions *go;
	struct go_function f;
	char reason[REASON_MAX];
	Elf *elf;

	if (elf_open(fd, ELF_FOR_FRAMES, reason, &elf))
		return;
	if (!go_functions_read(elf, fd, &go)) {
		for (size_t i = 0; i < go_functions_count(go) && i < 1000; i++) {
			if (go_functions_at(go, i, &f))
				check_function(go, &f);
		}
		if (go_functions_find(go, GO_FILE_CODE + 16, &f))
			MUST(f.start <= GO_FILE_CODE + 16 && f.end > GO_FILE_CODE + 16);
		go_functions_free(go);
	}
	elf_end(elf);
}

static void check_table(int fd)
{
	char reason[REASON_MAX];
	struct unwind_table *table;

	if (unwind_table_read(fd, -1, reason, &table))
		return;
	for (size_t i = 0; i < unwind_table_segments(table); i++) {
		const struct unwind_segment *s = unwind_table_segment(table, i);

		for (size_t r = 0; r < s->row_count; r++) {
			MUST(s->rows[r].rule < cfi_rules_count(unwind_table_rules(table)));
			MUST(s->rows[r].vaddr - s->vaddr < s->size);
			MUST(!r || s->rows[r].vaddr > s->rows[r - 1].vaddr);
		}
	}
	unwind_table_free(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t code_size;
	int fd;

	if (size < 2)
		return 0;
	elf_version(EV_CURRENT);
	code_size = (size_t)(data[0] | data[1] << 8) % (size - 1);
	fd = go_file_make(data + 2, code_size, data + 2 + code_size, size - 2 - code_size);
	check_functions(fd);
	check_table(fd);
	close(fd);
	return 0;
}

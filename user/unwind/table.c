// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/unwind/table.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/process/elf_open.h"
#include "user/unwind/cfa.h"
#include "user/unwind/go_rows.h"
#include "user/unwind/musl_ends.h"

#define MAX_SEGMENTS	64
#define MAX_SECTION	(1ull << 30) /* bytes of call frame information that we are ready to read */
#define MAX_ENTRY_BYTES 4096u	     /* longest entry point without rows */

/* Who wins where functions overlap. */
enum rank { RANK_EH_FRAME, RANK_GO, RANK_DEBUG_FRAME, RANK_ADDED };

struct unwind_table {
	uint16_t machine;
	struct cfi_rules *rules;
	struct unwind_segment segments[MAX_SEGMENTS];
	size_t segment_count;
	struct cfi_row *rows; /* of all segments */
	size_t row_count, row_room;
};

struct builder {
	struct unwind_table *table;
	int fd;
	Elf *elf;
	Elf *debug; /* or NULL */
	GElf_Ehdr ehdr;
	uint64_t file_size;
	uint64_t allowance; /* of bytes read by a program header */
	struct cfi cfi;
};

static int table_read_segments(struct builder *b)
{
	struct unwind_table *table = b->table;
	size_t count;

	if (elf_getphdrnum(b->elf, &count))
		return -ENOEXEC;
	for (size_t i = 0; i < count && table->segment_count < MAX_SEGMENTS; i++) {
		struct unwind_segment *segment = &table->segments[table->segment_count];
		GElf_Phdr phdr;

		if (!gelf_getphdr(b->elf, (int)i, &phdr))
			return -ENOEXEC;
		if (phdr.p_type != PT_LOAD || !(phdr.p_flags & PF_X) || !phdr.p_filesz)
			continue;
		/* Code must be in the file; that also bounds what a hostile header makes us do. */
		if (phdr.p_offset > b->file_size || phdr.p_filesz > b->file_size - phdr.p_offset ||
		    phdr.p_vaddr + phdr.p_filesz < phdr.p_vaddr)
			continue;
		if (table->segment_count && phdr.p_vaddr < segment[-1].vaddr + segment[-1].size)
			continue; /* the format wants them ascending */
		segment->vaddr = phdr.p_vaddr;
		segment->size = phdr.p_filesz;
		segment->offset = phdr.p_offset;
		table->segment_count++;
	}
	return 0;
}

static bool table_decompress(Elf_Scn *scn)
{
	GElf_Chdr chdr;

	return gelf_getchdr(scn, &chdr) && chdr.ch_size <= MAX_SECTION &&
	       elf_compress(scn, 0, 0) >= 0;
}

/* Reads every section of a name; the rest of the file stays on disk. */
static int table_read_named(struct builder *b, Elf *elf, const char *wanted, uint32_t rank)
{
	struct cfi_section section = {.eh_frame = strcmp(wanted, ".eh_frame") == 0, .rank = rank};
	const unsigned char *ident = (const unsigned char *)elf_getident(elf, NULL);
	Elf_Scn *scn = NULL;
	size_t strings;
	int err;

	if (!ident || elf_getshdrstrndx(elf, &strings))
		return 0; /* no section headers: stripped to the bone */
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;
		const char *name;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS ||
		    shdr.sh_size > MAX_SECTION)
			continue;
		name = elf_strptr(elf, strings, shdr.sh_name);
		if (!name || strcmp(name, wanted) != 0)
			continue;
		if ((shdr.sh_flags & SHF_COMPRESSED) && !table_decompress(scn))
			continue;
		section.data = shdr.sh_flags & SHF_COMPRESSED ? elf_getdata(scn, NULL)
							      : elf_rawdata(scn, NULL);
		section.vaddr = shdr.sh_addr;
		if (!section.data || !section.data->d_buf || section.data->d_size > MAX_SECTION)
			continue;
		err = cfi_read(&b->cfi, ident, &section);
		if (err)
			return err;
	}
	return 0;
}

/*
 * The file's bytes from a link-time address to the end of its segment. NULL when there are none, or
 * more than a file of this size may have.
 */
static Elf_Data *data_at(struct builder *b, uint64_t vaddr)
{
	size_t count;

	if (elf_getphdrnum(b->elf, &count))
		return NULL;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr load;
		uint64_t skip, size;

		if (!gelf_getphdr(b->elf, (int)i, &load) || load.p_type != PT_LOAD ||
		    vaddr < load.p_vaddr || vaddr - load.p_vaddr >= load.p_filesz)
			continue;
		skip = vaddr - load.p_vaddr;
		size = load.p_filesz - skip;
		if (load.p_offset > b->file_size || skip > b->file_size - load.p_offset ||
		    size > b->file_size - load.p_offset - skip || size > b->allowance)
			return NULL;
		return elf_getdata_rawchunk(b->elf, (int64_t)(load.p_offset + skip), size,
					    ELF_T_BYTE);
	}
	return NULL;
}

/* .eh_frame by the program header, for a file without sections. Layout: LSB 5, section 10.6.2. */
static int table_read_by_header(struct builder *b)
{
	const unsigned char *ident = (const unsigned char *)elf_getident(b->elf, NULL);
	size_t count;

	if (!ident || elf_getphdrnum(b->elf, &count))
		return 0;
	for (size_t i = 0; i < count; i++) {
		struct cfi_section section = {.eh_frame = true, .rank = RANK_EH_FRAME};
		struct bytes_reader r;
		uint8_t encoding;
		GElf_Phdr phdr;
		Elf_Data *header;

		if (!gelf_getphdr(b->elf, (int)i, &phdr) || phdr.p_type != PT_GNU_EH_FRAME)
			continue;
		header = data_at(b, phdr.p_vaddr);
		if (!header || header->d_size < 4)
			return 0;
		r.p = (const uint8_t *)header->d_buf + 4;
		r.end = (const uint8_t *)header->d_buf + header->d_size;
		r.bad = ((const uint8_t *)header->d_buf)[0] != 1; /* version */
		encoding = ((const uint8_t *)header->d_buf)[1];
		section.vaddr = cfa_read_encoded(&r, encoding, phdr.p_vaddr + 4);
		if (r.bad)
			return 0;
		section.data = data_at(b, section.vaddr);
		return section.data ? cfi_read(&b->cfi, ident, &section) : 0;
	}
	return 0;
}

static int table_compare_functions(const void *a, const void *b)
{
	const struct cfi_function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

static void table_sort_functions(struct cfi *cfi)
{
	for (size_t i = 1; i < cfi->function_count; i++) {
		if (table_compare_functions(&cfi->functions[i - 1], &cfi->functions[i]) > 0) {
			qsort(cfi->functions, cfi->function_count, sizeof(*cfi->functions),
			      table_compare_functions);
			return;
		}
	}
}

/* Ends each function where one of a better rank begins. */
static void table_cut_functions(struct cfi *cfi)
{
	uint64_t next[RANK_ADDED + 1] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};

	for (size_t i = cfi->function_count; i-- > 0;) {
		struct cfi_function *f = &cfi->functions[i];

		for (uint32_t rank = 0; rank < f->rank; rank++) {
			if (next[rank] < f->end && next[rank] > f->start)
				f->end = next[rank];
		}
		next[f->rank] = f->start;
	}
}

/* Does any function cover this address? Functions are sorted. */
static bool table_is_covered(const struct cfi *cfi, uint64_t vaddr)
{
	size_t low = BISECT(i, 0, cfi->function_count, cfi->functions[i].start <= vaddr);

	return low && vaddr < cfi->functions[low - 1].end;
}

/*
 * The first instructions of a program or of the dynamic loader often have no rows, and end every
 * main thread's stack. The code up to the next function with rows belongs to them (the loader calls
 * constructors from there).
 */
static int table_add_entry(struct builder *b)
{
	uint64_t entry = b->ehdr.e_entry;

	if (!entry) /* none, says the ELF specification: shared libraries, AArch64's vdso */
		return 0;
	for (size_t i = 0; i < b->table->segment_count; i++) {
		const struct unwind_segment *segment = &b->table->segments[i];
		uint64_t room;

		if (entry < segment->vaddr || entry - segment->vaddr >= segment->size)
			continue;
		if (table_is_covered(&b->cfi, entry))
			return 0;
		room = segment->size - (entry - segment->vaddr);
		if (room > MAX_ENTRY_BYTES)
			room = MAX_ENTRY_BYTES;
		return cfi_add(&b->cfi, entry, entry + room, UNWIND_RULE_END, RANK_ADDED);
	}
	return 0;
}

/* Signal handlers return to this code: known by its system call, rt_sigreturn. */
struct trampoline {
	uint16_t machine;
	uint8_t size;
	uint8_t code[9];
};

static const struct trampoline trampolines[] = {
	{EM_X86_64, 9, {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}}, /* mov $15,%rax; syscall */
	{EM_X86_64, 7, {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05}},	       /* mov $15,%eax; syscall */
	{EM_AARCH64, 8, {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4}},   /* mov x8,#139; svc #0 */
};

#define SCAN_WINDOW  65536u
#define SCAN_OVERLAP 16u
#define SCAN_LEAST   16u	   /* less than that between two functions is padding */
#define SCAN_MOST    (16ull << 20) /* in all; a browser of 250 MB without rows is no C library */

struct scan {
	struct builder *b;
	uint8_t *window;
	uint64_t at, size; /* file offset and length of what the window holds */
	uint64_t scanned;
	uint64_t found[8];
	uint64_t found_size[8];
	size_t count;
};

static bool table_scan_load(struct scan *scan, uint64_t offset, uint64_t size)
{
	ssize_t n;

	if (offset >= scan->at && offset + size <= scan->at + scan->size)
		return true;
	n = pread(scan->b->fd, scan->window, SCAN_WINDOW, (off_t)offset);
	scan->at = offset;
	scan->size = n > 0 ? (uint64_t)n : 0;
	return scan->size >= size;
}

static void table_scan_piece(struct scan *scan, uint64_t offset, uint64_t size, uint64_t vaddr)
{
	const uint8_t *p = scan->window + (offset - scan->at);

	for (size_t i = 0; i < ARRAY_SIZE(trampolines); i++) {
		const struct trampoline *t = &trampolines[i];
		const uint8_t *hit;

		if (t->machine != scan->b->table->machine)
			continue;
		hit = memmem(p, size, t->code, t->size);
		if (!hit || scan->count == ARRAY_SIZE(scan->found))
			continue;
		scan->found[scan->count] = vaddr + (uint64_t)(hit - p);
		scan->found_size[scan->count++] = t->size;
	}
}

static void table_scan_gap(struct scan *scan, const struct unwind_segment *segment, uint64_t start,
			   uint64_t end)
{
	uint64_t offset = segment->offset + (start - segment->vaddr);

	if (end - start < SCAN_LEAST)
		return;
	while (start < end) {
		uint64_t size = end - start;

		if (size > SCAN_WINDOW)
			size = SCAN_WINDOW;
		if (scan->scanned >= SCAN_MOST || !table_scan_load(scan, offset, size))
			return;
		scan->scanned += size;
		table_scan_piece(scan, offset, size, start);
		if (size < SCAN_WINDOW)
			return;
		start += size - SCAN_OVERLAP; /* a trampoline may lie across the border */
		offset += size - SCAN_OVERLAP;
	}
}

/*
 * Adds signal trampolines without rows (musl's, and the kernel's own on AArch64), in the gaps
 * between functions.
 */
static int table_add_trampolines(struct builder *b)
{
	_cleanup_free_ uint8_t *window = malloc(SCAN_WINDOW);
	struct scan scan = {.b = b, .window = window};
	size_t next = 0;
	int err = 0;

	if (!window)
		return -ENOMEM;
	for (size_t i = 0; i < b->table->segment_count; i++) {
		const struct unwind_segment *segment = &b->table->segments[i];
		uint64_t at = segment->vaddr, end = segment->vaddr + segment->size;

		for (; next < b->cfi.function_count && b->cfi.functions[next].start < end; next++) {
			const struct cfi_function *f = &b->cfi.functions[next];

			if (f->start > at)
				table_scan_gap(&scan, segment, at, f->start);
			if (f->end > at)
				at = f->end;
		}
		if (at < end)
			table_scan_gap(&scan, segment, at, end);
	}
	/*
	 * A handler returns to the trampoline's first byte. Like any return address that is looked
	 * up one byte earlier, so that byte must belong to the trampoline.
	 */
	for (size_t i = 0; !err && i < scan.count; i++)
		err = cfi_add(&b->cfi, scan.found[i] - 1, scan.found[i] + scan.found_size[i],
			      UNWIND_RULE_SIGNAL, RANK_EH_FRAME);
	if (err || (!scan.count && !b->ehdr.e_entry))
		return err;
	return musl_ends_add(&b->cfi, b->fd, scan.count != 0, RANK_ADDED);
}

static int table_put_row(struct unwind_table *table, const struct unwind_segment *segment,
			 size_t first, uint64_t vaddr, uint32_t rule)
{
	if (table->row_count > first && table->rows[table->row_count - 1].rule == rule)
		return 0;
	if (vaddr >= segment->vaddr + segment->size)
		return 0;
	if (table->row_count == table->row_room) {
		size_t room = table->row_room ? table->row_room * 2 : 4096;
		struct cfi_row *rows = reallocarray(table->rows, room, sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		table->rows = rows;
		table->row_room = room;
	}
	table->rows[table->row_count++] = (struct cfi_row){.vaddr = vaddr, .rule = rule};
	return 0;
}

/*
 * Appends one function's rows from `at` on, clipped to the segment. Moves *at to where the function
 * ends.
 */
static int table_put_function(struct builder *b, const struct unwind_segment *segment, size_t first,
			      const struct cfi_function *f, uint64_t *at)
{
	uint64_t limit = segment->vaddr + segment->size;
	uint64_t start = f->start > *at ? f->start : *at;
	uint64_t end = f->end < limit ? f->end : limit;
	const struct cfi_row *rows = &b->cfi.rows[f->first];
	size_t i = 0;

	if (start >= end)
		return 0;
	/*
	 * A function without a caller that a return enters (makecontext's start) is looked up one
	 * byte earlier, like any return address.
	 */
	if (start > *at && start == f->start && rows[0].rule == UNWIND_RULE_END)
		start--;
	if (start > *at && table_put_row(b->table, segment, first, *at, UNWIND_RULE_NONE))
		return -ENOMEM;
	while (i + 1 < f->count && rows[i + 1].vaddr <= start)
		i++;
	for (; i < f->count && rows[i].vaddr < end; i++) {
		uint64_t vaddr = i && rows[i].vaddr > start ? rows[i].vaddr : start;

		if (table_put_row(b->table, segment, first, vaddr, rows[i].rule))
			return -ENOMEM;
	}
	*at = end;
	return 0;
}

/* Makes rows without gaps from functions. */
static int table_flatten(struct builder *b)
{
	struct unwind_table *table = b->table;
	size_t next = 0;

	for (size_t i = 0; i < table->segment_count; i++) {
		struct unwind_segment *segment = &table->segments[i];
		uint64_t at = segment->vaddr, end = segment->vaddr + segment->size;
		size_t first = table->row_count;

		for (; next < b->cfi.function_count && b->cfi.functions[next].start < end; next++) {
			if (table_put_function(b, segment, first, &b->cfi.functions[next], &at))
				return -ENOMEM;
		}
		if (at < end && table_put_row(table, segment, first, at, UNWIND_RULE_NONE))
			return -ENOMEM;
		segment->row_count = table->row_count - first;
	}
	return 0;
}

static int table_read_frames(struct builder *b)
{
	int err = table_read_named(b, b->elf, ".eh_frame", RANK_EH_FRAME);

	if (!err && !b->cfi.function_count)
		err = table_read_by_header(b);
	if (!err)
		err = go_rows_read(&b->cfi, b->elf, b->fd, RANK_GO);
	if (!err)
		err = table_read_named(b, b->elf, ".debug_frame", RANK_DEBUG_FRAME);
	if (!err && !b->cfi.function_count && b->debug)
		err = table_read_named(b, b->debug, ".debug_frame", RANK_DEBUG_FRAME);
	return err;
}

static int table_build(struct builder *b)
{
	const struct cfi_row *rows;
	int err = table_read_segments(b);

	if (!err)
		err = table_read_frames(b);
	if (err)
		return err;
	table_sort_functions(&b->cfi);
	err = table_add_entry(b);
	if (!err)
		err = table_add_trampolines(b);
	if (err)
		return err;
	table_sort_functions(&b->cfi);
	table_cut_functions(&b->cfi);
	err = table_flatten(b);
	if (err)
		return err;
	rows = b->table->rows;
	for (size_t i = 0; i < b->table->segment_count; i++) {
		b->table->segments[i].rows = rows;
		rows += b->table->segments[i].row_count;
	}
	return 0;
}

static int table_open_elf(int fd, Elf **out, GElf_Ehdr *ehdr, char reason[static REASON_MAX])
{
	int err = elf_open(fd, ELF_FOR_FRAMES, reason, out);

	if (err)
		return err;
	if (!gelf_getehdr(*out, ehdr) || ehdr->e_ident[EI_CLASS] != ELFCLASS64 ||
	    ehdr->e_ident[EI_DATA] != ELFDATA2LSB ||
	    (ehdr->e_machine != EM_X86_64 && ehdr->e_machine != EM_AARCH64))
		return -ENOEXEC;
	return 0;
}

int unwind_table_read(int fd, int debug_fd, char reason[static REASON_MAX],
		      struct unwind_table **out)
{
	struct builder b = {.fd = fd};
	char ignored[REASON_MAX];
	GElf_Ehdr debug_ehdr;
	struct stat st;
	int err = -ENOMEM;

	b.table = calloc(1, sizeof(*b.table));
	if (b.table)
		b.table->rules = cfi_rules_new();
	if (!b.table || !b.table->rules)
		goto out;
	err = -EIO;
	if (fstat(fd, &st))
		goto out;
	b.file_size = (uint64_t)st.st_size;
	b.allowance = elf_read_allowance(fd);
	err = table_open_elf(fd, &b.elf, &b.ehdr, reason);
	if (err)
		goto out;
	/* An unusable debug file is as good as none. */
	if (debug_fd >= 0 && (table_open_elf(debug_fd, &b.debug, &debug_ehdr, ignored) ||
			      debug_ehdr.e_machine != b.ehdr.e_machine)) {
		elf_end(b.debug);
		b.debug = NULL;
	}
	b.table->machine = b.ehdr.e_machine;
	b.cfi.machine = b.ehdr.e_machine;
	b.cfi.rules = b.table->rules;
	err = table_build(&b);
out:
	cfi_clear(&b.cfi);
	elf_end(b.debug);
	elf_end(b.elf);
	if (err)
		unwind_table_free(b.table);
	else
		*out = b.table;
	return err;
}

void unwind_table_free(struct unwind_table *table)
{
	if (!table)
		return;
	cfi_rules_free(table->rules);
	free(table->rows);
	free(table);
}

size_t unwind_table_segments(const struct unwind_table *table)
{
	return table->segment_count;
}

const struct unwind_segment *unwind_table_segment(const struct unwind_table *table, size_t index)
{
	return &table->segments[index];
}

const struct cfi_rules *unwind_table_rules(const struct unwind_table *table)
{
	return table->rules;
}

uint16_t unwind_table_machine(const struct unwind_table *table)
{
	return table->machine;
}

uint32_t unwind_table_find(const struct unwind_table *table, uint64_t vaddr)
{
	for (size_t i = 0; i < table->segment_count; i++) {
		const struct unwind_segment *s = &table->segments[i];
		size_t low = 0, high = s->row_count;

		if (vaddr < s->vaddr || vaddr - s->vaddr >= s->size)
			continue;
		while (high - low > 1) {
			size_t middle = low + (high - low) / 2;

			if (s->rows[middle].vaddr <= vaddr)
				low = middle;
			else
				high = middle;
		}
		return s->rows[low].rule;
	}
	return UNWIND_RULE_NONE;
}

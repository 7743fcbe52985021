// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/symbol/elfsyms.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <gelf.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/symbol/ranges.h"

struct symbol {
	uint64_t start, end; /* end == start until a zero-sized one gets its bound */
	uint64_t section_end;
	const char *name;
	uint32_t name_len; /* without "@VERSION" */
	uint16_t underscores;
	bool sized, local, weak, hidden_version, function;
};

struct elf_symbols {
	struct symbol *symbols;
	size_t count, capacity;
	struct range_index index;
};

/* One file that symbols come from: main, debug or minidebuginfo. */
struct source {
	Elf *elf;
	bool usable;   /* string tables end in NUL, so names end within them */
	bool complete; /* has .symtab, not only .dynsym */
};

static struct source look_at_source(Elf *elf)
{
	struct source source = {.elf = elf, .usable = true};
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		Elf_Data *strings;
		const char *text;

		if (!gelf_getshdr(section, &header) ||
		    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
			continue;
		strings = elf_getdata(elf_getscn(elf, header.sh_link), NULL);
		/* A separate debug file has .dynsym by name only, without contents. */
		if (!strings || !strings->d_buf || !strings->d_size) {
			source.usable &= header.sh_type == SHT_DYNSYM;
			continue;
		}
		text = strings->d_buf;
		if (text[strings->d_size - 1] != '\0')
			source.usable = false;
		source.complete |= header.sh_type == SHT_SYMTAB;
	}
	return source;
}

static bool wanted_type(enum elf_symbol_kind kind, const GElf_Sym *symbol)
{
	int type = GELF_ST_TYPE(symbol->st_info);

	if (kind == ELF_FUNCTIONS)
		return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
	return type == (kind == ELF_VARIABLES ? STT_OBJECT : STT_TLS);
}

static bool wanted_symbol(enum elf_symbol_kind kind, const GElf_Sym *symbol, GElf_Word section,
			  const char *name)
{
	if (!wanted_type(kind, symbol))
		return false;
	if (section == SHN_UNDEF || section == SHN_ABS || section == SHN_COMMON)
		return false;
	/* "$x" and "$d" mark code and data on aarch64; ".L" is an assembler's own label. */
	return name[0] && name[0] != '$' && strncmp(name, ".L", 2) != 0;
}

static int add_symbol(struct elf_symbols *table, const struct symbol *symbol)
{
	if (!RESERVE_ITEM(table->symbols, table->count, table->capacity, 1024))
		return -ENOMEM;
	table->symbols[table->count++] = *symbol;
	return 0;
}

/* Sets the members that rank it among names for the same address. */
static void fill_rank(struct symbol *out, const GElf_Sym *symbol)
{
	const char *version = strchr(out->name, '@');

	out->local = GELF_ST_BIND(symbol->st_info) == STB_LOCAL;
	out->weak = GELF_ST_BIND(symbol->st_info) == STB_WEAK;
	out->function = GELF_ST_TYPE(symbol->st_info) != STT_NOTYPE;
	/* "name@VERSION" is an old one for old binaries, "name@@VERSION" the current one. */
	out->hidden_version = version && version > out->name && version[1] != '@';
	out->name_len = (uint32_t)(version && version > out->name ? (size_t)(version - out->name)
								  : strlen(out->name));
	out->underscores = (uint16_t)strspn(out->name, "_");
}

/* Fills the bounds and the rank of a symbol; false when it is not in executable memory. */
static bool fill_symbol(struct symbol *out, const GElf_Sym *symbol, GElf_Addr address, Elf *elf,
			GElf_Word section_index, Dwarf_Addr bias)
{
	Elf_Scn *section = elf_getscn(elf, section_index);
	GElf_Shdr header;

	if (!section || !gelf_getshdr(section, &header) || !(header.sh_flags & SHF_EXECINSTR))
		return false;
	out->start = address;
	out->section_end = header.sh_addr + header.sh_size + bias;
	if (address < header.sh_addr + bias || address >= out->section_end)
		return false;
	out->sized = symbol->st_size != 0;
	out->end = symbol->st_size < out->section_end - address ? address + symbol->st_size
								: out->section_end;
	fill_rank(out, symbol);
	return true;
}

/* The same for a variable, which always has a size. */
static bool fill_variable(struct symbol *out, const GElf_Sym *symbol, uint64_t start)
{
	out->start = start;
	out->end = start + symbol->st_size;
	out->sized = true;
	fill_rank(out, symbol);
	return out->end > start;
}

static int read_symbols(struct elf_symbols *table, enum elf_symbol_kind kind, Dwfl_Module *module,
			bool *complete)
{
	int count = dwfl_module_getsymtab(module);
	struct source source = {0};

	for (int i = 1; i < count; i++) {
		struct symbol symbol = {0};
		GElf_Sym raw;
		GElf_Addr address;
		GElf_Word section;
		Dwarf_Addr bias;
		Elf *elf = NULL;

		symbol.name =
			dwfl_module_getsym_info(module, i, &raw, &address, &section, &elf, &bias);
		if (!symbol.name || !elf)
			continue;
		if (elf != source.elf) {
			source = look_at_source(elf);
			*complete |= source.complete;
		}
		if (!source.usable || !wanted_symbol(kind, &raw, section, symbol.name))
			continue;
		if (kind == ELF_FUNCTIONS
			    ? !fill_symbol(&symbol, &raw, address, elf, section, bias)
			    : !fill_variable(&symbol, &raw,
					     kind == ELF_VARIABLES ? address : raw.st_value))
			continue;
		if (add_symbol(table, &symbol))
			return -ENOMEM;
	}
	return 0;
}

/* The name that people know comes first: malloc before __libc_malloc, write before __write. */
static int compare_names(const struct symbol *x, const struct symbol *y)
{
	size_t shorter = x->name_len < y->name_len ? x->name_len : y->name_len;

	if (x->local != y->local)
		return x->local ? 1 : -1;
	if (x->function != y->function)
		return x->function ? -1 : 1;
	if (x->hidden_version != y->hidden_version)
		return x->hidden_version ? 1 : -1;
	if (x->underscores != y->underscores)
		return x->underscores < y->underscores ? -1 : 1;
	if (x->weak != y->weak)
		return x->weak ? 1 : -1;
	if (x->name_len != y->name_len)
		return x->name_len < y->name_len ? -1 : 1;
	return memcmp(x->name, y->name, shorter);
}

/*
 * The best answer first. Symbols with a size come before those without. Of nested ones the inner
 * comes first, which starts later or else ends earlier; of aliases the better name.
 */
static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a;
	const struct symbol *y = b;

	if (x->sized != y->sized)
		return x->sized ? -1 : 1;
	if (x->start != y->start)
		return x->start > y->start ? -1 : 1;
	/* Aliases that differ in size by an alignment are still aliases: the names decide. */
	return compare_names(x, y);
}

static int compare_starts(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/*
 * A symbol without a size (assembler code) reaches to the next symbol or its section's end. If only
 * exported symbols are known, the next one says nothing about the code between: then the symbol
 * covers nothing.
 */
static int bound_unsized(struct elf_symbols *table, bool complete)
{
	_cleanup_free_ uint64_t *starts = NULL;

	if (!complete)
		return 0;
	starts = malloc((table->count + 1) * sizeof(*starts));
	if (!starts)
		return -ENOMEM;
	for (size_t i = 0; i < table->count; i++)
		starts[i] = table->symbols[i].start;
	qsort(starts, table->count, sizeof(*starts), compare_starts);
	for (size_t i = 0; i < table->count; i++) {
		struct symbol *symbol = &table->symbols[i];
		size_t low;

		if (symbol->sized)
			continue;
		low = BISECT(k, 0, table->count, starts[k] <= symbol->start);
		symbol->end = low < table->count && starts[low] < symbol->section_end
				      ? starts[low]
				      : symbol->section_end;
	}
	return 0;
}

static int index_symbols(struct elf_symbols *table)
{
	_cleanup_free_ struct range *ranges = malloc((table->count + 1) * sizeof(*ranges));

	if (!ranges)
		return -ENOMEM;
	qsort(table->symbols, table->count, sizeof(*table->symbols), compare_symbols);
	for (size_t i = 0; i < table->count; i++) {
		ranges[i].start = table->symbols[i].start;
		ranges[i].end = table->symbols[i].end;
	}
	return range_index_build(&table->index, ranges, table->count);
}

struct elf_symbols *elf_symbols_new(Dwfl_Module *module, enum elf_symbol_kind kind)
{
	struct elf_symbols *table = calloc(1, sizeof(*table));
	bool complete = false;

	if (!table)
		return NULL;
	if (read_symbols(table, kind, module, &complete) || !table->count ||
	    bound_unsized(table, complete) || index_symbols(table)) {
		elf_symbols_free(table);
		return NULL;
	}
	return table;
}

void elf_symbols_free(struct elf_symbols *symbols)
{
	if (!symbols)
		return;
	range_index_release(&symbols->index);
	free(symbols->symbols);
	free(symbols);
}

const char *elf_symbols_find(const struct elf_symbols *symbols, uint64_t address, size_t *len,
			     uint64_t *start)
{
	uint32_t at = range_index_find(&symbols->index, address);

	if (at == RANGE_NONE)
		return NULL;
	*len = symbols->symbols[at].name_len;
	*start = symbols->symbols[at].start;
	return symbols->symbols[at].name;
}

int elf_symbols_each(const struct elf_symbols *symbols,
		     int (*fn)(void *ctx, const char *name, size_t len, uint64_t start,
			       uint64_t end),
		     void *ctx)
{
	int err = 0;

	for (size_t i = 0; symbols && i < symbols->count && !err; i++) {
		const struct symbol *symbol = &symbols->symbols[i];

		if (symbol->function)
			err = fn(ctx, symbol->name, symbol->name_len, symbol->start, symbol->end);
	}
	return err;
}

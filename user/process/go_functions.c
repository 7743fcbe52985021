// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/process/go_functions.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/process/elf_open.h"

#define MAGIC_1_16 0xfffffffau
#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u

/* A longer name counts as none: we look no further for its end. */
#define NAME_MAX_BYTES 8192u

/* What a function takes of the table at least: an entry and its description. */
#define FUNCTION_BYTES 48

/* Of one function that are looked at for a line: more than any has. */
#define VALUES_MAX (1u << 20)

/* Words of struct moduledata before `text`: a pointer, six slices, findfunctab, minpc, maxpc. */
#define MODULE_TEXT (1 + 6 * 3 + 3)

/* Parts of the table, each up to its end: their order is not relied upon. */
struct go_part {
	uint64_t at;
};

struct go_functions {
	const uint8_t *bytes;
	uint64_t size;
	uint64_t text; /* the base of entries; 0 before 1.18, where entries are addresses */
	uint8_t quantum;
	bool narrow;	     /* 1.18: entries are 32 bits */
	bool has_start_line; /* 1.20 */
	uint64_t count;
	struct go_part names, units, files, values, functions;
};

/* ---- reading, each access checked --------------------------------------------------------- */

static bool go_bytes(const struct go_functions *go, uint64_t at, void *to, size_t size)
{
	if (at > go->size || size > go->size - at)
		return false;
	memcpy(to, go->bytes + at, size);
	return true;
}

static bool go_u32(const struct go_functions *go, uint64_t at, uint32_t *out)
{
	return go_bytes(go, at, out, sizeof(*out));
}

/* Reads a word of the header, 8 bytes, by its number. */
static bool go_header_word(const struct go_functions *go, unsigned number, uint64_t *out)
{
	return go_bytes(go, 8 + 8ull * number, out, sizeof(*out));
}

static const char *go_string(const struct go_functions *go, uint64_t at)
{
	uint64_t left = at < go->size ? go->size - at : 0;

	if (!left || !memchr(go->bytes + at, 0, left < NAME_MAX_BYTES ? left : NAME_MAX_BYTES))
		return NULL;
	return (const char *)go->bytes + at;
}

/* ---- the header --------------------------------------------------------------------------- */

/* The bytes from the table to its section's end, and the address where they are loaded. */
struct go_place {
	const uint8_t *bytes;
	uint64_t size, address;
};

/* The table's first 8 bytes: magic, zeros, quantum, bytes of a pointer. */
static bool go_is_header(const uint8_t *p)
{
	uint32_t magic;

	memcpy(&magic, p, sizeof(magic));
	return (magic == MAGIC_1_16 || magic == MAGIC_1_18 || magic == MAGIC_1_20) && !p[4] &&
	       !p[5] && (p[6] == 1 || p[6] == 4) && p[7] == 8;
}

/*
 * Finds the table by its section. In position-independent files the C linker may have put it into
 * .data.rel.ro with others: there we know it by its first bytes.
 */
static bool go_find(Elf *elf, struct go_place *place)
{
	Elf_Scn *scn = NULL, *mixed = NULL;
	bool is_go = false, own = false;
	GElf_Shdr shdr;
	Elf_Data *data;
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings))
		return false;
	while (!own && (scn = elf_nextscn(elf, scn))) {
		const char *name;

		if (!gelf_getshdr(scn, &shdr) || !(name = elf_strptr(elf, strings, shdr.sh_name)))
			continue;
		is_go = is_go || !strcmp(name, ".note.go.buildid") ||
			!strcmp(name, ".go.buildinfo");
		own = !strcmp(name, ".gopclntab") || !strcmp(name, ".data.rel.ro.gopclntab");
		if (own || !strcmp(name, ".data.rel.ro"))
			mixed = scn;
	}
	if (!mixed || !(own || is_go) || !gelf_getshdr(mixed, &shdr) ||
	    shdr.sh_type != SHT_PROGBITS || shdr.sh_flags & SHF_COMPRESSED)
		return false;
	data = elf_rawdata(mixed, NULL);
	if (!data || !data->d_buf)
		return false;
	for (uint64_t at = 0; at + 8 <= data->d_size; at += 8) {
		const uint8_t *p = (const uint8_t *)data->d_buf + at;

		if (!go_is_header(p)) {
			if (own)
				return false;
			continue;
		}
		*place = (struct go_place){p, data->d_size - at, shdr.sh_addr + at};
		return true;
	}
	return false;
}

/*
 * What the loader will write to that address. A position-independent file gives the address of its
 * text by a relocation.
 */
static uint64_t go_relocated(Elf *elf, uint64_t address)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;
		Elf_Data *data;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_RELA ||
		    !(shdr.sh_flags & SHF_ALLOC) || !(data = elf_getdata(scn, NULL)))
			continue;
		for (int i = 0; i < (int)(data->d_size / sizeof(GElf_Rela)); i++) {
			GElf_Rela rela;

			if (gelf_getrela(data, i, &rela) && rela.r_offset == address)
				return (uint64_t)rela.r_addend;
		}
	}
	return 0;
}

/*
 * From 1.26 on the table does not have the text's address. struct moduledata
 * (src/runtime/symtab.go) has it, in a section of its own that begins with the table's address.
 */
static uint64_t go_text_of_module(Elf *elf, uint64_t table)
{
	Elf_Scn *scn = NULL;
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings))
		return 0;
	while ((scn = elf_nextscn(elf, scn))) {
		uint64_t words[MODULE_TEXT + 1];
		const char *name;
		GElf_Shdr shdr;
		Elf_Data *data;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_PROGBITS ||
		    !(name = elf_strptr(elf, strings, shdr.sh_name)) ||
		    strcmp(name, ".go.module") != 0 || shdr.sh_size < sizeof(words) ||
		    !(data = elf_getdata_rawchunk(elf, (int64_t)shdr.sh_offset, sizeof(words),
						  ELF_T_BYTE)))
			continue;
		memcpy(words, data->d_buf, sizeof(words));
		words[0] = words[0] ?: go_relocated(elf, shdr.sh_addr);
		words[MODULE_TEXT] =
			words[MODULE_TEXT] ?: go_relocated(elf, shdr.sh_addr + 8 * MODULE_TEXT);
		return words[0] == table ? words[MODULE_TEXT] : 0;
	}
	return 0;
}

/*
 * The address of the symbol runtime.text in the table, whose strings are `names`; 0: it has none.
 */
static uint64_t go_text_in(Elf_Data *symbols, const Elf_Data *names)
{
	static const char wanted[] = "runtime.text";

	for (int i = 0; i < (int)(symbols->d_size / sizeof(GElf_Sym)); i++) {
		GElf_Sym sym;

		if (gelf_getsym(symbols, i, &sym) && sym.st_name < names->d_size &&
		    names->d_size - sym.st_name >= sizeof(wanted) &&
		    !memcmp((const char *)names->d_buf + sym.st_name, wanted, sizeof(wanted)))
			return sym.st_value;
	}
	return 0;
}

/* Where Go's text begins; in a file that is linked with C other text comes before it. */
static uint64_t go_text_symbol(Elf *elf)
{
	Elf_Scn *scn = NULL, *strings;

	while ((scn = elf_nextscn(elf, scn))) {
		Elf_Data *symbols, *names;
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_SYMTAB ||
		    !(symbols = elf_getdata(scn, NULL)) ||
		    !(strings = elf_getscn(elf, shdr.sh_link)) ||
		    !(names = elf_getdata(strings, NULL)) || !names->d_buf)
			continue;
		return go_text_in(symbols, names);
	}
	return 0;
}

static bool go_read_header(struct go_functions *go, Elf *elf, uint64_t address)
{
	struct go_part *parts[] = {&go->names, &go->units, &go->files, &go->values, &go->functions};
	unsigned word = 2;
	uint32_t magic;

	if (!go_u32(go, 0, &magic) || !go_bytes(go, 6, &go->quantum, 1) ||
	    !go_header_word(go, 0, &go->count))
		return false;
	go->narrow = magic != MAGIC_1_16;
	go->has_start_line = magic == MAGIC_1_20;
	if (go->narrow) {
		if (!go_header_word(go, word++, &go->text))
			return false;
		go->text = go->text ?: go_relocated(elf, address + 24);
		go->text = go->text ?: go_text_of_module(elf, address);
		go->text = go->text ?: go_text_symbol(elf);
		if (!go->text)
			return false;
	}
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!go_header_word(go, word++, &parts[i]->at) || parts[i]->at > go->size)
			return false;
	}
	return go->count && go->count <= (go->size - go->functions.at) / FUNCTION_BYTES;
}

int go_functions_read(Elf *elf, int fd, struct go_functions **out)
{
	char ignored[REASON_MAX];
	struct go_functions *go;
	struct go_place place;

	if (!go_find(elf, &place))
		return -ENOENT;
	/* Relocations and symbols, which we search for one word. */
	if (elf_check(elf, fd, ELF_FOR_SYMBOLS, ignored))
		return -ENOENT;
	go = calloc(1, sizeof(*go));
	if (!go)
		return -ENOMEM;
	go->bytes = place.bytes;
	go->size = place.size;
	if (!go_read_header(go, elf, place.address)) {
		free(go);
		return -ENOENT;
	}
	*out = go;
	return 0;
}

void go_functions_free(struct go_functions *go)
{
	free(go);
}

/* ---- functions ---------------------------------------------------------------------------- */

size_t go_functions_count(const struct go_functions *go)
{
	return go->count;
}

uint64_t go_functions_text(const struct go_functions *go)
{
	return go->text;
}

uint64_t go_functions_bytes(const struct go_functions *go)
{
	return go->size;
}

/*
 * Reads entry `number` of the table of functions: its address, and where the function is described.
 */
static bool go_entry(const struct go_functions *go, size_t number, uint64_t *start, uint64_t *at)
{
	uint32_t narrow[2];
	uint64_t wide[2];

	if (go->narrow) {
		if (!go_bytes(go, go->functions.at + 8 * number, narrow, sizeof(narrow)))
			return false;
		*start = go->text + narrow[0];
		*at = go->functions.at + narrow[1];
		return true;
	}
	/* The last entry is an address alone. */
	if (!go_bytes(go, go->functions.at + 16 * number, wide, number < go->count ? 16 : 8))
		return false;
	*start = wide[0];
	*at = number < go->count && wide[1] < go->size ? go->functions.at + wide[1] : go->size;
	return true;
}

bool go_functions_at(const struct go_functions *go, size_t number, struct go_function *out)
{
	uint64_t at = 0, behind;
	uint32_t name, words[7];

	*out = (struct go_function){0};
	if (number >= go->count || !go_entry(go, number, &out->start, &at))
		return false;
	/* The last function ends at an entry without a description. */
	if (number + 1 == go->count && go->narrow) {
		uint32_t end;

		if (!go_u32(go, go->functions.at + 8 * go->count, &end))
			return false;
		out->end = go->text + end;
	} else if (!go_entry(go, number + 1, &out->end, &behind)) {
		return false;
	}
	at += go->narrow ? 4 : 8;
	if (out->end <= out->start || !go_u32(go, at, &name) ||
	    !go_bytes(go, at + 4, words, sizeof(words)) ||
	    !go_bytes(go, at + 32 + (go->has_start_line ? 4 : 0) + 1, &out->flags, 1))
		return false;
	out->name = go_string(go, go->names.at + name);
	/* args, deferreturn, pcsp, pcfile, pcln, npcdata, cuOffset */
	out->sp_values = words[2];
	out->file_values = words[3];
	out->line_values = words[4];
	out->unit = words[6];
	out->flags_known = go->narrow;
	return out->name != NULL;
}

bool go_functions_find(const struct go_functions *go, uint64_t vaddr, struct go_function *out)
{
	uint64_t low = 0, high = go->count, start, at;

	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (!go_entry(go, middle, &start, &at))
			return false;
		if (start <= vaddr)
			low = middle;
		else
			high = middle;
	}
	return go_functions_at(go, low, out) && vaddr >= out->start && vaddr < out->end;
}

/* ---- values ------------------------------------------------------------------------------- */

struct go_values go_values_of(const struct go_functions *go, const struct go_function *function,
			      uint32_t values)
{
	return (struct go_values){
		.go = go,
		.at = values ? go->values.at + values : go->size,
		.pc = function->start,
		.end = function->start,
		.value = -1,
		.first = true,
	};
}

static bool go_varint(struct go_values *v, uint32_t *out)
{
	uint8_t byte;

	*out = 0;
	for (unsigned shift = 0; shift < 35; shift += 7) {
		if (!go_bytes(v->go, v->at++, &byte, 1))
			return false;
		*out |= shift < 32 ? (uint32_t)(byte & 0x7f) << shift : 0;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

bool go_values_next(struct go_values *v)
{
	uint32_t step, length;

	/* A step of 0 ends the table, unless it is the first step. */
	if (!go_varint(v, &step) || (!step && !v->first) || !go_varint(v, &length) || !length)
		return false;
	if (v->end + (uint64_t)length * v->go->quantum < v->end)
		return false;
	v->first = false;
	v->value += (int64_t)(step >> 1) ^ -(int64_t)(step & 1);
	v->pc = v->end;
	v->end += (uint64_t)length * v->go->quantum;
	return true;
}

static bool go_value_at(const struct go_functions *go, const struct go_function *function,
			uint32_t values, uint64_t vaddr, int64_t *out)
{
	struct go_values v = go_values_of(go, function, values);
	uint32_t left = VALUES_MAX;

	while (left-- && go_values_next(&v) && v.pc < function->end) {
		if (vaddr >= v.pc && vaddr < v.end) {
			*out = v.value;
			return true;
		}
	}
	return false;
}

bool go_functions_line(const struct go_functions *go, const struct go_function *function,
		       uint64_t vaddr, const char **file, uint32_t *line)
{
	int64_t file_number, number;
	uint32_t at;

	if (!go_value_at(go, function, function->file_values, vaddr, &file_number) ||
	    !go_value_at(go, function, function->line_values, vaddr, &number) || file_number < 0 ||
	    number <= 0 || number > UINT32_MAX ||
	    !go_u32(go, go->units.at + 4 * (uint64_t)function->unit + 4 * (uint64_t)file_number,
		    &at) ||
	    at == UINT32_MAX)
		return false;
	*file = go_string(go, go->files.at + at);
	*line = (uint32_t)number;
	return *file != NULL;
}

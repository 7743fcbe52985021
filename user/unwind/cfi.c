// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/unwind/cfi.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/hash.h"
#include "user/unwind/cfa.h"

/* Distinct rules: an open-addressing hash over at most UNWIND_MAX_RULES entries. */
#define RULE_HASH_SIZE (UNWIND_MAX_RULES * 2)

struct cfi_rules {
	uint16_t hash[RULE_HASH_SIZE]; /* number of the rule + 1 */
	size_t count;
	struct unwind_rule rules[UNWIND_MAX_RULES];
};

struct cfi_rules *cfi_rules_new(void)
{
	static const struct unwind_rule fixed[] = {
		[UNWIND_RULE_NONE] = {.cfa = UNWIND_CFA_NONE},
		[UNWIND_RULE_END] = {.cfa = UNWIND_CFA_END},
		[UNWIND_RULE_UNSUPPORTED] = {.cfa = UNWIND_CFA_UNSUPPORTED},
		[UNWIND_RULE_SIGNAL] = {.cfa = UNWIND_CFA_SIGNAL},
	};
	struct cfi_rules *rules = calloc(1, sizeof(*rules));

	if (!rules)
		return NULL;
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		cfi_rules_add(rules, &fixed[i]);
	return rules;
}

void cfi_rules_free(struct cfi_rules *rules)
{
	free(rules);
}

int cfi_rules_add(struct cfi_rules *rules, const struct unwind_rule *rule)
{
	uint64_t words[2], hash;

	memcpy(words, rule, sizeof(words));
	hash = (words[0] * 0x9e3779b97f4a7c15ull) ^ (words[1] * 0xc2b2ae3d27d4eb4full);
	hash ^= hash >> 29;
	for (uint32_t i = (uint32_t)hash % RULE_HASH_SIZE;; i = (i + 1) % RULE_HASH_SIZE) {
		uint16_t slot = rules->hash[i];

		if (slot) {
			if (memcmp(&rules->rules[slot - 1], rule, sizeof(*rule)) == 0)
				return slot - 1;
			continue;
		}
		if (rules->count == UNWIND_MAX_RULES)
			return UNWIND_RULE_UNSUPPORTED;
		rules->rules[rules->count] = *rule;
		rules->hash[i] = (uint16_t)++rules->count;
		return (int)rules->count - 1;
	}
}

size_t cfi_rules_count(const struct cfi_rules *rules)
{
	return rules->count;
}

const struct unwind_rule *cfi_rules_at(const struct cfi_rules *rules, size_t index)
{
	return &rules->rules[index];
}

void cfi_clear(struct cfi *cfi)
{
	free(cfi->rows);
	free(cfi->functions);
	*cfi = (struct cfi){0};
}

/* Makes room for one more element. */
static int cfi_grow(void **array, size_t *room, size_t count, size_t size)
{
	size_t want = *room ? *room * 2 : 1024;
	void *bigger;

	if (count < *room)
		return 0;
	bigger = reallocarray(*array, want, size);
	if (!bigger)
		return -ENOMEM;
	*array = bigger;
	*room = want;
	return 0;
}

int cfi_add_row(struct cfi *cfi, uint64_t vaddr, uint32_t rule)
{
	if (cfi_grow((void **)&cfi->rows, &cfi->row_room, cfi->row_count, sizeof(*cfi->rows)))
		return -ENOMEM;
	cfi->rows[cfi->row_count++] = (struct cfi_row){.vaddr = vaddr, .rule = rule};
	return 0;
}

int cfi_add_function(struct cfi *cfi, const struct cfi_function *function)
{
	if (cfi_grow((void **)&cfi->functions, &cfi->function_room, cfi->function_count,
		     sizeof(*cfi->functions)))
		return -ENOMEM;
	cfi->functions[cfi->function_count++] = *function;
	return 0;
}

int cfi_add(struct cfi *cfi, uint64_t start, uint64_t end, uint32_t rule, uint32_t rank)
{
	struct cfi_function function = {
		.start = start, .end = end, .first = cfi->row_count, .count = 1, .rank = rank};

	if (cfi_add_row(cfi, start, rule))
		return -ENOMEM;
	return cfi_add_function(cfi, &function);
}

/* A CIE in our form; kept, as many functions share one. */
struct cie {
	uint64_t offset; /* in the section: the key */
	struct cfa_context context;
	struct cfa_state initial;
	bool sized; /* 'z': functions carry the length of their augmentation data */
	bool usable;
	UT_hash_handle hh;
};

struct reader {
	struct cfi *cfi;
	const unsigned char *e_ident;
	const struct cfi_section *section;
	struct cie *cies;
	struct cie *last; /* most functions have the CIE of the one before */
};

static uint64_t cfi_place_of(const struct cfi_section *section, const uint8_t *p)
{
	return section->vaddr + (uint64_t)(p - (const uint8_t *)section->data->d_buf);
}

/* Reads the letters after 'z'. False when one is unknown: the rest cannot be understood then. */
static bool cfi_read_augmentation(const struct cfi_section *section, const Dwarf_CIE *raw,
				  struct cie *cie)
{
	struct bytes_reader r = {.p = raw->augmentation_data,
				 .end = raw->augmentation_data + raw->augmentation_data_size};
	const char *letter = raw->augmentation;

	cie->context.encoding = DW_EH_PE_absptr;
	if (*letter != 'z')
		return *letter == '\0';
	cie->sized = true;
	if (!raw->augmentation_data)
		r.p = r.end = raw->initial_instructions;
	while (*++letter) {
		uint8_t encoding;

		switch (*letter) {
		case 'R':
			cie->context.encoding = (uint8_t)bytes_get_number(&r, 1);
			break;
		case 'L':
			bytes_get_number(&r, 1);
			break;
		case 'P':
			encoding = (uint8_t)bytes_get_number(&r, 1);
			/* Only its size matters: where it points does not. */
			cfa_read_encoded(&r, encoding & 0x0f, cfi_place_of(section, r.p));
			break;
		case 'S':
			cie->context.signal_frame = true;
			break;
		case 'B': /* return addresses signed with the B key */
		case 'G': /* memory tagging */
			break;
		default:
			return false;
		}
	}
	return !r.bad;
}

static void cfi_read_cie(struct reader *reader, const Dwarf_CIE *raw, struct cie *cie)
{
	const struct cfi_section *section = reader->section;

	cie->context.machine = reader->cfi->machine;
	cie->context.code_align = raw->code_alignment_factor;
	cie->context.data_align = raw->data_alignment_factor;
	cie->context.ra_column = raw->return_address_register;
	if (!cfi_read_augmentation(section, raw, cie))
		return;
	/*
	 * The initial instructions have no place in the code: nothing advances, and one address is
	 * enough.
	 */
	if (cfa_run(&cie->context, &cie->initial, raw->initial_instructions,
		    raw->initial_instructions_end, cfi_place_of(section, raw->initial_instructions),
		    0, 1, NULL, NULL))
		return;
	cie->context.initial = &cie->initial;
	cie->usable = true;
}

/* NULL when the offset holds no CIE or memory is short. */
static struct cie *cfi_find_cie(struct reader *reader, uint64_t offset)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;
	struct cie *cie;

	if (reader->last && reader->last->offset == offset)
		return reader->last;
	HASH_FIND(hh, reader->cies, &offset, sizeof(offset), cie);
	if (!cie) {
		if (offset >= reader->section->data->d_size ||
		    dwarf_next_cfi(reader->e_ident, reader->section->data,
				   reader->section->eh_frame, offset, &next, &entry) != 0 ||
		    !dwarf_cfi_cie_p(&entry))
			return NULL;
		cie = calloc(1, sizeof(*cie));
		if (!cie)
			return NULL;
		cie->offset = offset;
		cfi_read_cie(reader, &entry.cie, cie);
		HASH_ADD(hh, reader->cies, offset, sizeof(cie->offset), cie);
		if (!cie->hh.tbl) {
			free(cie);
			return NULL;
		}
	}
	reader->last = cie;
	return cie;
}

struct emit_arg {
	struct cfi *cfi;
	const struct cfa_context *context;
	size_t first; /* row of this function */
};

static int cfi_emit_row(void *arg, uint64_t pc, const struct cfa_state *state)
{
	struct emit_arg *emit = arg;
	struct cfi *cfi = emit->cfi;
	struct unwind_rule rule = cfa_compact(emit->context, state);
	int number = cfi_rules_add(cfi->rules, &rule);

	if (number < 0)
		return number;
	if (cfi->row_count > emit->first && cfi->rows[cfi->row_count - 1].rule == (uint32_t)number)
		return 0;
	return cfi_add_row(cfi, pc, (uint32_t)number);
}

static int cfi_read_function(struct reader *reader, const Dwarf_FDE *fde)
{
	const struct cfi_section *section = reader->section;
	struct cie *cie = cfi_find_cie(reader, fde->CIE_pointer);
	struct bytes_reader r = {.p = fde->start, .end = fde->end};
	struct emit_arg emit = {.cfi = reader->cfi, .first = reader->cfi->row_count};
	struct cfi_function function = {.first = emit.first, .rank = section->rank};
	struct cfa_state state;
	uint64_t skip;
	int err;

	if (!cie || !cie->usable)
		return 0;
	function.start = cfa_read_encoded(&r, cie->context.encoding, cfi_place_of(section, r.p));
	function.end = cfa_read_encoded(&r, cie->context.encoding & 0x07, 0);
	if (__builtin_add_overflow(function.start, function.end, &function.end))
		return 0;
	if (cie->sized) {
		skip = cfa_read_uleb(&r);
		if (skip > (uint64_t)(r.end - r.p))
			return 0;
		r.p += skip;
	}
	if (r.bad || function.start >= function.end)
		return 0;
	state = cie->initial;
	emit.context = &cie->context;
	err = cfa_run(&cie->context, &state, r.p, r.end, cfi_place_of(section, r.p), function.start,
		      function.end, cfi_emit_row, &emit);
	if (err == -ENOMEM)
		return err;
	function.count = reader->cfi->row_count - function.first;
	return function.count ? cfi_add_function(reader->cfi, &function) : 0;
}

int cfi_read(struct cfi *cfi, const unsigned char *e_ident, const struct cfi_section *section)
{
	struct reader reader = {.cfi = cfi, .e_ident = e_ident, .section = section};
	Dwarf_Off offset = 0, next = 0;
	struct cie *cie, *tmp;
	int err = 0;

	while (!err && offset < section->data->d_size) {
		Dwarf_CFI_Entry entry;
		int got = dwarf_next_cfi(e_ident, section->data, section->eh_frame, offset, &next,
					 &entry);

		if (got == 1 || next <= offset) /* the end, or damage that cannot be skipped */
			break;
		offset = next;
		if (got == 0 && !dwarf_cfi_cie_p(&entry))
			err = cfi_read_function(&reader, &entry.fde);
	}
	HASH_ITER (hh, reader.cies, cie, tmp) {
		HASH_DEL(reader.cies, cie);
		free(cie);
	}
	return err;
}

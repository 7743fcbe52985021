// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Finds compilation units by the ranges of their own entries: clang and rustc write no
 * .debug_aranges. Lists the functions of a unit when the first address in it is asked for.
 * Everything here is bounded: the file is a target's, and may say anything.
 */
#include "user/symbol/inlines.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <gelf.h>

#include "user/base/util.h"
#include "user/symbol/diename.h"
#include "user/symbol/ranges.h"

#define TREE_DEPTH_MAX 96
#define RANGES_MAX     (1U << 24)

/* Address ranges, each with its owner. */
struct die_ranges {
	struct die_range {
		struct range range;
		/* position of the unit, or offset of the function's entry in .debug_info */
		uint64_t of;
	} * list;
	size_t count, capacity;
	struct range_index index;
};

struct unit {
	bool read;
	Dwarf_Off die;
	struct die_ranges functions;
};

struct debuginfo {
	Dwarf *dwarf;
	uint64_t bias;
	uint64_t code_start; /* no code lies below */
	struct die_ranges units_by_address;
	struct unit *units;
	size_t unit_count, unit_capacity;
};

static int die_ranges_add(struct die_ranges *ranges, uint64_t start, uint64_t end, uint64_t of)
{
	if (ranges->count == ranges->capacity) {
		size_t capacity = ranges->capacity ? 2 * ranges->capacity : 64;
		struct die_range *grown;

		if (capacity > RANGES_MAX)
			return -E2BIG;
		grown = reallocarray(ranges->list, capacity, sizeof(*ranges->list));
		if (!grown)
			return -ENOMEM;
		ranges->list = grown;
		ranges->capacity = capacity;
	}
	ranges->list[ranges->count++] = (struct die_range){{start, end}, of};
	return 0;
}

/* Adds all ranges of one entry. */
static int die_ranges_add_die(const struct debuginfo *info, struct die_ranges *ranges,
			      Dwarf_Die *die, uint64_t of)
{
	Dwarf_Addr base;
	Dwarf_Addr start;
	Dwarf_Addr end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		int err;

		/*
		 * Functions that the linker dropped keep their entries, at address 0 or 1, over the
		 * code that really is there.
		 */
		if (start >= end || start <= 1 || start < info->code_start)
			continue;
		err = die_ranges_add(ranges, start, end, of);
		if (err)
			return err;
	}
	return 0;
}

/* Inner ranges first: those that start later, or else end earlier. */
static int compare_ranges(const void *a, const void *b)
{
	const struct range *x = &((const struct die_range *)a)->range;
	const struct range *y = &((const struct die_range *)b)->range;

	if (x->start != y->start)
		return x->start > y->start ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end);
}

static int die_ranges_index(struct die_ranges *ranges)
{
	_cleanup_free_ struct range *plain = malloc((ranges->count + 1) * sizeof(*plain));

	if (!plain)
		return -ENOMEM;
	if (ranges->count)
		qsort(ranges->list, ranges->count, sizeof(*ranges->list), compare_ranges);
	for (size_t i = 0; i < ranges->count; i++)
		plain[i] = ranges->list[i].range;
	return range_index_build(&ranges->index, plain, ranges->count);
}

static void die_ranges_release(struct die_ranges *ranges)
{
	free(ranges->list);
	range_index_release(&ranges->index);
	*ranges = (struct die_ranges){.count = 0};
}

/* The lowest address of an executable segment. */
static uint64_t find_code_start(Dwarf *dwarf)
{
	Elf *elf = dwarf_getelf(dwarf);
	uint64_t low = UINT64_MAX;
	size_t count = 0;

	if (!elf || elf_getphdrnum(elf, &count))
		return 0;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr phdr;

		if (gelf_getphdr(elf, (int)i, &phdr) && phdr.p_type == PT_LOAD &&
		    (phdr.p_flags & PF_X) && phdr.p_vaddr < low)
			low = phdr.p_vaddr;
	}
	return low == UINT64_MAX ? 0 : low;
}

static int add_unit(struct debuginfo *info, Dwarf_Off die)
{
	if (!RESERVE_ITEM(info->units, info->unit_count, info->unit_capacity, 64))
		return -ENOMEM;
	info->units[info->unit_count++] = (struct unit){.die = die};
	return 0;
}

static int read_units(struct debuginfo *info)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	uint8_t type;
	int err;

	while (dwarf_get_units(info->dwarf, unit, &unit, NULL, &type, &die, NULL) == 0) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		err = die_ranges_add_die(info, &info->units_by_address, &die, info->unit_count);
		if (!err)
			err = add_unit(info, dwarf_dieoffset(&die));
		if (err)
			return err;
	}
	return die_ranges_index(&info->units_by_address);
}

struct debuginfo *debuginfo_new(Dwarf *dwarf, uint64_t bias)
{
	struct debuginfo *info = calloc(1, sizeof(*info));

	if (!info)
		return NULL;
	info->dwarf = dwarf;
	info->bias = bias;
	info->code_start = find_code_start(dwarf);
	if (read_units(info) || !info->units_by_address.count) {
		debuginfo_free(info);
		return NULL;
	}
	return info;
}

void debuginfo_free(struct debuginfo *info)
{
	if (!info)
		return;
	for (size_t i = 0; i < info->unit_count; i++)
		die_ranges_release(&info->units[i].functions);
	free(info->units);
	die_ranges_release(&info->units_by_address);
	free(info);
}

static bool may_hold_functions(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return true;
	default:
		return false;
	}
}

static int collect_functions(const struct debuginfo *info, struct die_ranges *functions,
			     Dwarf_Die *parent, int depth)
{
	Dwarf_Die child;

	if (depth > TREE_DEPTH_MAX || dwarf_child(parent, &child) != 0)
		return 0;
	do {
		int tag = dwarf_tag(&child);
		int err = 0;

		if (tag == DW_TAG_subprogram)
			err = die_ranges_add_die(info, functions, &child, dwarf_dieoffset(&child));
		if (!err && may_hold_functions(tag) && dwarf_haschildren(&child) > 0)
			err = collect_functions(info, functions, &child, depth + 1);
		if (err)
			return err;
	} while (dwarf_siblingof(&child, &child) == 0);
	return 0;
}

/* Finds the function whose code holds the address. */
static bool find_function(struct debuginfo *info, struct unit *unit, Dwarf_Die *unit_die,
			  Dwarf_Addr pc, Dwarf_Die *function)
{
	uint32_t at;

	if (!unit->read) {
		unit->read = true;
		if (collect_functions(info, &unit->functions, unit_die, 0) ||
		    die_ranges_index(&unit->functions))
			die_ranges_release(&unit->functions); /* and leaves it empty */
	}
	at = range_index_find(&unit->functions.index, pc);
	return at != RANGE_NONE &&
	       dwarf_offdie(info->dwarf, unit->functions.list[at].of, function) != NULL;
}

struct inline_chain {
	Dwarf_Die dies[TREE_DEPTH_MAX + 1]; /* outermost first */
	size_t count;
};

/*
 * Follows the inlined calls that hold the address inwards. A block without addresses of its own may
 * have such calls inside. True when a call was found.
 */
static bool follow_inlines(Dwarf_Die *scope, Dwarf_Addr pc, struct inline_chain *chain, int depth)
{
	Dwarf_Die child;

	if (depth > TREE_DEPTH_MAX || dwarf_child(scope, &child) != 0)
		return false;
	do {
		int tag = dwarf_tag(&child);
		bool has_addresses;

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block &&
		    tag != DW_TAG_try_block && tag != DW_TAG_catch_block)
			continue;
		has_addresses =
			dwarf_hasattr(&child, DW_AT_low_pc) || dwarf_hasattr(&child, DW_AT_ranges);
		if (has_addresses ? dwarf_haspc(&child, pc) != 1 : tag == DW_TAG_inlined_subroutine)
			continue;
		if (tag == DW_TAG_inlined_subroutine && chain->count < ARRAY_SIZE(chain->dies)) {
			chain->dies[chain->count++] = child;
			follow_inlines(&child, pc, chain, depth + 1);
			return true;
		}
		if (follow_inlines(&child, pc, chain, depth + 1))
			return true;
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

static void set_line(struct source_frame *frame, Dwarf_Die *unit, Dwarf_Addr pc)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, pc);
	int number = 0;

	if (!line)
		return;
	frame->file = dwarf_linesrc(line, NULL, NULL);
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		frame->line = (uint32_t)number;
}

/* Sets where an inlined call was made: the line of the frame that holds it. */
static void set_call_line(struct source_frame *frame, Dwarf_Die *unit, Dwarf_Die *call)
{
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	Dwarf_Word value;
	size_t count;

	if (dwarf_formudata(dwarf_attr(call, DW_AT_call_file, &attribute), &value) == 0 &&
	    dwarf_getsrcfiles(unit, &files, &count) == 0 && value < count)
		frame->file = dwarf_filesrc(files, value, NULL, NULL);
	if (dwarf_formudata(dwarf_attr(call, DW_AT_call_line, &attribute), &value) == 0 &&
	    value <= INT32_MAX)
		frame->line = (uint32_t)value;
}

static void inlines_fill_stack(struct source_stack *out, Dwarf_Die *unit, Dwarf_Die *function,
			       Dwarf_Addr pc)
{
	struct inline_chain chain = {.count = 0};
	Dwarf_Addr entry;

	follow_inlines(function, pc, &chain, 0);
	set_line(&out->frames[0], unit, pc);
	out->count = 1;
	for (size_t i = chain.count; i-- > 0;) {
		struct source_frame *frame = &out->frames[out->count - 1];

		/* If the chain is too long, its middle is left out, not the real function. */
		if (out->count < ARRAY_SIZE(out->frames)) {
			frame->function = die_function_name(&chain.dies[i]);
			out->count++;
		}
		frame = &out->frames[out->count - 1];
		frame->file = NULL;
		frame->line = 0;
		set_call_line(frame, unit, &chain.dies[i]);
	}
	out->frames[out->count - 1].function = die_function_name(function);
	if (dwarf_lowpc(function, &entry) != 0 && dwarf_entrypc(function, &entry) != 0)
		entry = pc;
	out->entry = entry;
}

static void set_directories(struct source_stack *stack, Dwarf_Die *unit)
{
	Dwarf_Attribute attribute;
	const char *directory = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));

	for (size_t i = 0; i < stack->count; i++)
		stack->frames[i].directory = directory;
}

void debuginfo_find(struct debuginfo *info, uint64_t vaddr, struct source_stack *out)
{
	Dwarf_Addr pc = vaddr + info->bias;
	uint32_t at = range_index_find(&info->units_by_address.index, pc);
	struct unit *unit;
	Dwarf_Die unit_die;
	Dwarf_Die function;

	*out = (struct source_stack){.count = 0};
	if (at == RANGE_NONE)
		return;
	unit = &info->units[info->units_by_address.list[at].of];
	if (!dwarf_offdie(info->dwarf, unit->die, &unit_die))
		return;
	if (find_function(info, unit, &unit_die, pc, &function)) {
		inlines_fill_stack(out, &unit_die, &function, pc);
		out->entry -= info->bias;
	} else {
		set_line(&out->frames[0], &unit_die, pc);
		out->count = out->frames[0].file != NULL;
	}
	set_directories(out, &unit_die);
}

void source_stack_release(struct source_stack *stack)
{
	for (size_t i = 0; i < stack->count; i++) {
		free(stack->frames[i].function);
		if (stack->owned) {
			free((char *)stack->frames[i].file);
			free((char *)stack->frames[i].directory);
		}
	}
	stack->count = 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * All builds of CPython export its variables and types, shared or not, stripped or not: _PyRuntime,
 * PyCode_Type and so on. The look of its structures depends on the version. From 3.11 on Py_Version
 * has it, before that the functions that are there tell it. From 3.13 on _PyRuntime begins with a
 * struct _Py_DebugOffsets, which says the offsets as well
 * (Include/internal/pycore_debug_offsets.h). The table here is checked by it.
 */
#include "user/runtime/python/cpython.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/process/elf_open.h"
#include "user/process/elf_symbols.h"
#include "user/target/bounds.h"

/* Who runs a frame: enum _frameowner (pycore_frame.h). */
#define OWNED_BY_GENERATOR 1
#define OWNED_BY_CSTACK	   3 /* from 3.14 on OWNED_BY_INTERPRETER */
#define OWNED_BY_LAST	   4

/*
 * The compiler has made these numbers from the headers of each version:
 *
 * - _PyInterpreterFrame and _PyCFrame: pycore_frame.h, of 3.14 pycore_interpframe_structs.h
 * - PyFrameObject, before 3.11: cpython/frameobject.h
 * - PyThreadState: cpython/pystate.h
 * - PyCodeObject: cpython/code.h
 * - PyASCIIObject: cpython/unicodeobject.h
 *
 * Before 3.11 each frame is a call of the evaluating function, and a code object has only its short
 * name. In 3.11 the byte is is_entry, which is 1 in the first frame of each call of that function.
 * From 3.12 on each call begins with a frame of its own.
 */
static const struct python_layout {
	uint32_t first, last; /* versions, major << 8 | minor */
	struct python_row row;
} python_layouts[] = {
	{0x308,
	 0x309,
	 {.state_frame = 24,
	  .cframe_frame = PYTHON_NOWHERE,
	  .frame_bytes = 112,
	  .code_bytes = 128,
	  .frame_code = 32,
	  .frame_back = 24,
	  .frame_place = 104,
	  .place_form = PYTHON_PLACE_BYTES,
	  .owner_last = UINT8_MAX,
	  .code_bytecode = 48,
	  .code_line = 40,
	  .code_file = 104,
	  .code_name = 112,
	  .code_qualname = 112,
	  .code_table = 120,
	  .text_ascii = 48,
	  .text_other = 72}},
	{0x30a,
	 0x30a,
	 {.state_frame = 24,
	  .cframe_frame = PYTHON_NOWHERE,
	  .frame_bytes = 104,
	  .code_bytes = 128,
	  .frame_code = 32,
	  .frame_back = 24,
	  .frame_place = 96,
	  .place_form = PYTHON_PLACE_UNITS,
	  .owner_last = UINT8_MAX,
	  .code_bytecode = 48,
	  .code_line = 40,
	  .code_file = 104,
	  .code_name = 112,
	  .code_qualname = 112,
	  .code_table = 120,
	  .text_ascii = 48,
	  .text_other = 72}},
	{0x30b,
	 0x30b,
	 {.state_frame = 56,
	  .cframe_frame = 8,
	  .frame_bytes = 72,
	  .code_bytes = 144,
	  .frame_code = 32,
	  .frame_back = 48,
	  .frame_place = 56,
	  .frame_owner = 68,
	  .owner_first = 1,
	  .owner_last = 1,
	  .code_line = 72,
	  .code_file = 112,
	  .code_name = 120,
	  .code_qualname = 128,
	  .code_table = 136,
	  .code_first = 184,
	  .text_ascii = 48,
	  .text_other = 72}},
	{0x30c,
	 0x30c,
	 {.state_frame = 56,
	  .cframe_frame = 0,
	  .frame_bytes = 72,
	  .code_bytes = 184,
	  .frame_code = 0,
	  .frame_back = 8,
	  .frame_place = 56,
	  .frame_owner = 70,
	  .owner_first = OWNED_BY_CSTACK,
	  .owner_last = OWNED_BY_CSTACK,
	  .owner_bare = 1,
	  .code_line = 68,
	  .code_file = 112,
	  .code_name = 120,
	  .code_qualname = 128,
	  .code_table = 136,
	  .code_version = 92,
	  .code_traceable = 176,
	  .owner_generator = OWNED_BY_GENERATOR,
	  .code_first = 192,
	  .text_ascii = 40,
	  .text_other = 56}},
	{0x30d,
	 0x30d,
	 {.state_frame = 72,
	  .cframe_frame = PYTHON_NOWHERE,
	  .frame_bytes = 72,
	  .code_bytes = 192,
	  .frame_code = 0,
	  .frame_back = 8,
	  .frame_place = 56,
	  .frame_owner = 70,
	  .owner_first = OWNED_BY_CSTACK,
	  .owner_last = OWNED_BY_CSTACK,
	  .owner_bare = 1,
	  .code_line = 68,
	  .code_file = 112,
	  .code_name = 120,
	  .code_qualname = 128,
	  .code_table = 136,
	  .code_version = 92,
	  .code_traceable = 184,
	  .owner_generator = OWNED_BY_GENERATOR,
	  .code_first = 200,
	  .text_ascii = 40,
	  .text_other = 56}},
	{0x30e,
	 0x30e,
	 {.state_frame = 72,
	  .cframe_frame = PYTHON_NOWHERE,
	  .frame_bytes = 80,
	  .code_bytes = 200,
	  .frame_code = 0,
	  .frame_back = 8,
	  .frame_place = 56,
	  .frame_owner = 74,
	  .owner_first = OWNED_BY_CSTACK,
	  .owner_last = OWNED_BY_LAST,
	  .owner_bare = 1,
	  .code_line = 68,
	  .code_file = 112,
	  .code_name = 120,
	  .code_qualname = 128,
	  .code_table = 136,
	  .code_version = 92,
	  .code_traceable = 192,
	  .owner_generator = OWNED_BY_GENERATOR,
	  .code_first = 208,
	  .text_ascii = 40,
	  .text_other = 56}},
};

/* Words of struct _Py_DebugOffsets, and where the next of its parts are. */
enum debug_word {
	DEBUG_COOKIE,
	DEBUG_VERSION,
	DEBUG_FREE_THREADED,
	DEBUG_WORDS = 64,
};
#define DEBUG_COOKIE_TEXT "xdebugpy"

/* Its parts begin with the size of what they are about; words from there on. */
enum debug_part_word {
	DEBUG_STATE_FRAME = 4,
	DEBUG_FRAME_BACK = 1,
	DEBUG_FRAME_CODE = 2,
	DEBUG_FRAME_PLACE = 3,
	DEBUG_FRAME_OWNER = 5,
	DEBUG_CODE_FILE = 1,
	DEBUG_CODE_NAME = 2,
	DEBUG_CODE_QUALNAME = 3,
	DEBUG_CODE_TABLE = 4,
	DEBUG_CODE_LINE = 5,
	DEBUG_CODE_FIRST = 9,
};

static const struct debug_layout {
	uint32_t version; /* major << 8 | minor */
	uint8_t state, frame, code;
} debug_layouts[] = {
	{0x30d, .state = 19, .frame = 28, .code = 34},
	{0x30e, .state = 22, .frame = 31, .code = 39},
};

enum python_symbol {
	PYTHON_RUNTIME,
	PYTHON_CODE_TYPE,
	PYTHON_TEXT_TYPE,
	PYTHON_BYTES_TYPE,
	PYTHON_VERSION,
	PYTHON_SINCE_3_8, /* functions of the interface that came with these versions */
	PYTHON_SINCE_3_9,
	PYTHON_SINCE_3_10,
	PYTHON_STATE_FUNCTION,
	PYTHON_EVAL,
	PYTHON_EVAL_COLD,
	PYTHON_SYMBOLS,
};

static const char *const python_symbols[PYTHON_SYMBOLS] = {
	[PYTHON_RUNTIME] = "_PyRuntime",
	[PYTHON_CODE_TYPE] = "PyCode_Type",
	[PYTHON_TEXT_TYPE] = "PyUnicode_Type",
	[PYTHON_BYTES_TYPE] = "PyBytes_Type",
	[PYTHON_VERSION] = "Py_Version",
	[PYTHON_SINCE_3_8] = "PyCode_NewWithPosOnlyArgs",
	[PYTHON_SINCE_3_9] = "PyFrame_GetBack",
	[PYTHON_SINCE_3_10] = "Py_NewRef",
	[PYTHON_STATE_FUNCTION] = "PyGILState_GetThisThreadState",
	[PYTHON_EVAL] = "_PyEval_EvalFrameDefault",
	[PYTHON_EVAL_COLD] = "_PyEval_EvalFrameDefault.cold",
};

struct python_search {
	struct object *object;
	struct {
		uint64_t vaddr, size;
	} found[PYTHON_SYMBOLS];
};

static int python_look_at(void *ctx, const char *name, const GElf_Sym *sym)
{
	struct python_search *s = ctx;

	if (strncmp(name, "Py", 2) && strncmp(name, "_Py", 3))
		return 0;
	for (size_t k = 0; k < PYTHON_SYMBOLS; k++) {
		if (strcmp(name, python_symbols[k]))
			continue;
		s->found[k].vaddr = sym->st_value;
		s->found[k].size = sym->st_size;
	}
	return 0;
}

static bool python_read_file(const struct python_search *s, uint64_t vaddr, void *to, size_t size)
{
	uint64_t offset;

	return !object_vaddr_to_offset(s->object, vaddr, &offset) &&
	       pread(object_fd(s->object), to, size, (off_t)offset) == (ssize_t)size;
}

static struct runtime_range python_range_of(const struct python_search *s, enum python_symbol which)
{
	struct runtime_range range = {0};

	if (s->found[which].vaddr &&
	    !object_vaddr_to_offset(s->object, s->found[which].vaddr, &range.start))
		range.end = range.start + s->found[which].size;
	return range;
}

/*
 * Does an instruction with the key's address begin at code[at]? Compilers write
 * `&_PyRuntime.gilstate.autoTSSkey` in these forms, one of which has _PyRuntime's address in a
 * register. The address may also be that of the key's member `_key`, which is behind the first.
 * Returns the address, 0: none.
 */
static uint64_t python_key_at(const struct python_search *s, const uint8_t *code, size_t at,
			      uint64_t vaddr)
{
	const uint8_t *c = code + at;
	int32_t number;

	if (c[0] == 0x48 && c[1] == 0x8d) {
		memcpy(&number, c + 3, 4);
		if (c[2] == 0x3d) /* lea number(%rip), %rdi */
			return vaddr + at + 7 + (uint64_t)(int64_t)number;
		if (c[2] >> 6 == 2 && (c[2] & 7) != 4 &&
		    (c[2] & 7) != 5) /* lea number(%reg), %reg */
			return s->found[PYTHON_RUNTIME].vaddr + (uint64_t)(int64_t)number;
	}
	if (c[0] == 0x8b && c[1] == 0x3d) { /* mov number(%rip), %edi */
		memcpy(&number, c + 2, 4);
		return vaddr + at + 6 + (uint64_t)(int64_t)number - 4;
	}
	if (c[0] == 0xbf) { /* mov $number, %edi */
		memcpy(&number, c + 1, 4);
		return (uint32_t)number;
	}
	return 0;
}

#define KEY_CODE_BYTES	    64
#define KEY_INSTRUCTION_MAX 7

static uint64_t python_find_key(const struct python_search *s)
{
	uint64_t vaddr = s->found[PYTHON_STATE_FUNCTION].vaddr;
	uint64_t start = s->found[PYTHON_RUNTIME].vaddr, size = s->found[PYTHON_RUNTIME].size;
	uint8_t code[KEY_CODE_BYTES];

	if (!vaddr || !python_read_file(s, vaddr, code, sizeof(code)))
		return 0;
	for (size_t at = 0; at + KEY_INSTRUCTION_MAX <= sizeof(code); at++) {
		uint64_t key = python_key_at(s, code, at, vaddr);

		if (key > start && key - start < size && !(key & 3))
			return key;
	}
	return 0;
}

/* Does what the interpreter says of itself agree with the table? */
static bool python_debug_agrees(const struct python_search *s, const struct debug_layout *layout,
				const struct python_row *row)
{
	uint64_t words[DEBUG_WORDS];
	const uint64_t *state = words + layout->state, *frame = words + layout->frame,
		       *code = words + layout->code;

	if (!python_read_file(s, s->found[PYTHON_RUNTIME].vaddr, words, sizeof(words)) ||
	    memcmp(words, DEBUG_COOKIE_TEXT, sizeof(words[0])))
		return false;
	return !words[DEBUG_FREE_THREADED] && state[DEBUG_STATE_FRAME] == row->state_frame &&
	       frame[DEBUG_FRAME_BACK] == row->frame_back &&
	       frame[DEBUG_FRAME_CODE] == row->frame_code &&
	       frame[DEBUG_FRAME_PLACE] == row->frame_place &&
	       frame[DEBUG_FRAME_OWNER] == row->frame_owner &&
	       code[DEBUG_CODE_FILE] == row->code_file && code[DEBUG_CODE_NAME] == row->code_name &&
	       code[DEBUG_CODE_QUALNAME] == row->code_qualname &&
	       code[DEBUG_CODE_TABLE] == row->code_table &&
	       code[DEBUG_CODE_LINE] == row->code_line && code[DEBUG_CODE_FIRST] == row->code_first;
}

/* Before 3.13 nothing is said. */
static bool python_is_as_known(const struct python_search *s, const struct python_runtime *runtime)
{
	for (size_t i = 0; i < ARRAY_SIZE(debug_layouts); i++) {
		if (debug_layouts[i].version == runtime->version >> 16)
			return python_debug_agrees(s, &debug_layouts[i], &runtime->row);
	}
	return true;
}

/* sys.hexversion, before 3.11 without what comes after the first two numbers; 0: older than 3.8. */
static uint32_t python_version(const struct python_search *s)
{
	uint64_t version = 0;

	if (s->found[PYTHON_VERSION].vaddr)
		return python_read_file(s, s->found[PYTHON_VERSION].vaddr, &version,
					sizeof(version))
			       ? (uint32_t)version
			       : 0;
	return s->found[PYTHON_SINCE_3_10].vaddr  ? 0x030a0000
	       : s->found[PYTHON_SINCE_3_9].vaddr ? 0x03090000
	       : s->found[PYTHON_SINCE_3_8].vaddr ? 0x03080000
						  : 0;
}

static int python_refuse(char reason[static REASON_MAX], const char *why)
{
	snprintf(reason, REASON_MAX, "%s", why);
	return -ENOTSUP;
}

#define EVAL_MOST (1u << 20) /* bytes of its code that are looked at */
#define FDE_BYTES 32

/*
 * Is the code at vaddr a part of a function that begins elsewhere? Then .eh_frame (an FDE with
 * 4-byte addresses) first says that it has a frame: DW_CFA_def_cfa, DW_CFA_def_cfa_offset. A whole
 * function begins with what its CIE says. Returns the size of the part, 0: it is none.
 */
static uint32_t python_part_at(const struct python_search *s, const struct bounds *bounds,
			       uint64_t vaddr)
{
	uint64_t description = bounds_description(bounds, vaddr);
	uint8_t fde[FDE_BYTES];
	uint32_t size;

	/* Length, CIE, start, size; the length of what else there is, and that. */
	if (!description || !python_read_file(s, description, fde, sizeof(fde)) || fde[16] > 8)
		return 0;
	memcpy(&size, fde + 12, sizeof(size));
	return fde[17 + fde[16]] == DW_CFA_def_cfa || fde[17 + fde[16]] == DW_CFA_def_cfa_offset
		       ? size
		       : 0;
}

#define JUMP_MAX 6

/* Where what may be a jump at code[at] leads, by 4 bytes, with a condition or without; 0: it is none. */
static uint64_t python_jump_at(const uint8_t *code, uint64_t at, uint64_t vaddr)
{
	uint32_t head = code[at] == 0xe9 ? 1 : code[at] == 0x0f && code[at + 1] >> 4 == 8 ? 2 : 0;
	int32_t by;

	if (!head)
		return 0;
	memcpy(&by, code + at + head, sizeof(by));
	return vaddr + at + head + sizeof(by) + (uint64_t)(int64_t)by;
}

/*
 * Finds the part of the evaluating function that its compiler has put elsewhere, in a file without
 * a symbol for that part. The function jumps to the part's first instruction.
 */
static struct runtime_range python_find_cold(const struct python_search *s, Elf *elf)
{
	uint64_t vaddr = s->found[PYTHON_EVAL].vaddr, size = s->found[PYTHON_EVAL].size;
	struct bounds *bounds = bounds_new(elf, object_fd(s->object));
	uint8_t *code = size <= EVAL_MOST ? malloc(size + 1) : NULL;
	struct runtime_range range = {0};

	if (bounds && code && python_read_file(s, vaddr, code, size)) {
		for (uint64_t at = 0; at + JUMP_MAX <= size && !range.end; at++) {
			uint64_t to = python_jump_at(code, at, vaddr);
			uint32_t part =
				to && to - vaddr >= size ? python_part_at(s, bounds, to) : 0;

			if (part && !object_vaddr_to_offset(s->object, to, &range.start))
				range.end = range.start + part;
		}
	}
	free(code);
	bounds_free(bounds);
	return range;
}

static int python_choose(const struct python_search *s, Elf *elf, struct python_runtime *out,
			 char reason[static REASON_MAX])
{
	GElf_Ehdr header;

	out->version = python_version(s);
	if (!out->version)
		return python_refuse(reason, "it is older than 3.8");
	if (!gelf_getehdr(elf, &header) || header.e_machine != EM_X86_64)
		return python_refuse(reason, "on this machine that is not done yet");
	for (size_t i = 0; i < ARRAY_SIZE(python_layouts); i++) {
		if (out->version >> 16 >= python_layouts[i].first &&
		    out->version >> 16 <= python_layouts[i].last)
			out->row = python_layouts[i].row;
	}
	if (!out->row.code_bytes)
		return python_refuse(reason, "the layout of this version's frames is not known");
	if (!python_is_as_known(s, out))
		return python_refuse(reason, "it is built otherwise than usual (free-threaded?)");
	out->row.key = python_find_key(s);
	if (!out->row.key)
		return python_refuse(reason, "where it keeps its threads' states is not known");
	out->row.code_type = s->found[PYTHON_CODE_TYPE].vaddr;
	out->row.text_type = s->found[PYTHON_TEXT_TYPE].vaddr;
	out->row.bytes_type = s->found[PYTHON_BYTES_TYPE].vaddr;
	if (!out->row.code_type || !out->row.text_type || !out->row.bytes_type ||
	    !s->found[PYTHON_EVAL].vaddr)
		return python_refuse(reason, "it exports fewer variables than others do");
	out->row.thread_data = GLIBC_THREAD_DATA;
	out->eval = python_range_of(s, PYTHON_EVAL);
	out->eval_cold = python_range_of(s, PYTHON_EVAL_COLD);
	if (!out->eval_cold.end)
		out->eval_cold = python_find_cold(s, elf);
	return 0;
}

/* Where its variables are that have to be at one place for whoever looks from outside. */
static bool python_has_section(Elf *elf)
{
	Elf_Scn *section = NULL;
	size_t names;
	GElf_Shdr sh;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		const char *name =
			gelf_getshdr(section, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;

		if (name && !strcmp(name, ".PyRuntime"))
			return true;
	}
	return false;
}

void python_version_text(uint32_t version, char text[static PYTHON_VERSION_TEXT])
{
	text[0] = '\0';
	if (version & 0xffff)
		snprintf(text, PYTHON_VERSION_TEXT, " %u.%u.%u", version >> 24, version >> 16 & 255,
			 version >> 8 & 255);
	else if (version)
		snprintf(text, PYTHON_VERSION_TEXT, " %u.%u", version >> 24, version >> 16 & 255);
}

int python_find(struct object *object, struct python_runtime *out, char reason[static REASON_MAX])
{
	struct python_search s = {.object = object};
	_cleanup_elf_ Elf *elf = NULL;
	bool dynamic;

	*out = (struct python_runtime){0};
	if (!object_is_elf64(object) || object_is_vdso(object))
		return -ENOENT;
	elf = object_elf(object, ELF_FOR_SYMBOLS);
	if (!elf)
		return -EIO;
	dynamic = elf_symbols(elf, SHT_DYNSYM, python_look_at, &s) != -ENOENT;
	if (s.found[PYTHON_RUNTIME].vaddr) {
		elf_symbols(elf, SHT_SYMTAB, python_look_at, &s);
		return python_choose(&s, elf, out, reason);
	}
	/* Before 3.7 there is no such variable. */
	if (s.found[PYTHON_CODE_TYPE].vaddr && s.found[PYTHON_EVAL].vaddr)
		return python_refuse(reason, "it is older than 3.8");
	if (!dynamic)
		elf_symbols(elf, SHT_SYMTAB, python_look_at, &s);
	if (s.found[PYTHON_RUNTIME].vaddr || python_has_section(elf))
		return python_refuse(reason,
				     "it is linked into a program that exports nothing of it");
	return -ENOENT;
}

struct python_row python_row_at(const struct python_runtime *runtime, uint64_t bias)
{
	struct python_row row = runtime->row;

	row.key += bias;
	row.code_type += bias;
	row.text_type += bias;
	row.bytes_type += bias;
	return row;
}

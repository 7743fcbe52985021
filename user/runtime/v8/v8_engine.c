// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * V8's tools/gen-postmortem-metadata.py makes the constants from its headers. The name of a member
 * ends with its type, which changes. Node 18, 20, 22 and 24 to 26 were looked at (V8 10.2, 11.3,
 * 12.4, 13.6, 14.1, 14.6).
 *
 * Three things no constant tells, and they are the same in all of these:
 *
 * - The first line of a Script stands behind its name.
 * - A ScopeInfo has more behind its variables (bpf/runtime/v8.bpf.c).
 * - The word behind an external string's resource leads to its characters.
 *
 * user/runtime/v8/v8_versions.c says where the calls are.
 */
#include "user/runtime/v8/v8_engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/process/elf_open.h"
#include "user/process/elf_symbols.h"

#define V8_PREFIX    "v8dbg_"
#define V8_CONSTANTS 2048 /* some 500 */

/* Two constants more. */
#define V8_MAJOR "_ZN2v88internal7Version6major_E"
#define V8_MINOR "_ZN2v88internal7Version6minor_E"

/* Functions of a class of their own, as constructors are, have the types behind JS_FUNCTION_TYPE: 16 or 17, the last there are. */
#define V8_FUNCTION_TYPES 20

/* What is written down in bpf/runtime/v8_abi.h has to be so. */
static const struct v8_constant v8_fixed[] = {
	{"HeapObjectTag", 1},
	{"HeapObjectTagMask", 3},
	{"SmiTagMask", 1},
	{"SmiShiftSize", 31},
	{"off_fp_function", -16},
	{"off_fp_context", -8},
	{"StringRepresentationMask", V8_STRING_FORM},
	{"StringEncodingMask", V8_STRING_ONE_BYTE},
	{"OneByteStringTag", V8_STRING_ONE_BYTE},
	{"ConsStringTag", V8_FORM_CONS},
	{"ExternalStringTag", V8_FORM_EXTERNAL},
	{"SlicedStringTag", V8_FORM_SLICED},
	{"ThinStringTag", V8_FORM_THIN},
	{"class_String__length__", V8_STRING_LENGTH},
	{"class_SeqOneByteString__chars__", V8_STRING_BYTES},
	{"class_SeqTwoByteString__chars__", V8_STRING_BYTES},
	{"class_ConsString__first__", V8_STRING_FIRST},
	{"class_ConsString__second__", V8_STRING_SECOND},
	{"class_SlicedString__parent__", V8_STRING_FIRST},
	{"class_SlicedString__offset__", V8_STRING_SECOND},
	{"class_ThinString__actual__", V8_STRING_FIRST},
	{"class_ExternalString__resource__", V8_STRING_DATA - 8},
};

struct v8_set {
	const struct v8_constant *constants;
	size_t count;
};

/* A name that ends with "__" is a member's, without its type. */
static bool v8_is_called(const char *name, const char *wanted)
{
	size_t len = strlen(wanted);

	if (len > 2 && !strcmp(wanted + len - 2, "__"))
		return !strncmp(name, wanted, len);
	return !strcmp(name, wanted);
}

static const struct v8_constant *v8_find(const struct v8_set *set, const char *wanted)
{
	for (size_t i = 0; i < set->count; i++) {
		if (v8_is_called(set->constants[i].name, wanted))
			return &set->constants[i];
	}
	return NULL;
}

/* From `low` to `high`, or it is refused. */
static int v8_get(const struct v8_set *set, const char *wanted, int32_t low, int32_t high,
		  int32_t *out, char reason[static REASON_MAX])
{
	const struct v8_constant *constant = v8_find(set, wanted);

	if (!constant)
		return refuse(reason, -ENOTSUP, "it does not export %s%s", V8_PREFIX, wanted);
	if (constant->value < low || constant->value > high)
		return refuse(reason, -ENOTSUP, "%s%s is %d", V8_PREFIX, wanted, constant->value);
	*out = constant->value;
	return 0;
}

static int v8_check_fixed(const struct v8_set *set, char reason[static REASON_MAX])
{
	int32_t value;
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(v8_fixed) && !err; i++)
		err = v8_get(set, v8_fixed[i].name, v8_fixed[i].value, v8_fixed[i].value, &value,
			     reason);
	return err;
}

/* A member of an object: a word behind its map, none of the last. */
static int v8_member(const struct v8_set *set, const char *wanted, uint8_t *out,
		     char reason[static REASON_MAX])
{
	int32_t value = 0;
	int err = v8_get(set, wanted, 8, 240, &value, reason);

	if (!err && value & 7)
		return refuse(reason, -ENOTSUP, "%s%s is %d", V8_PREFIX, wanted, value);
	*out = (uint8_t)value;
	return err;
}

static int v8_type(const struct v8_set *set, const char *wanted, unsigned more, struct v8_type *out,
		   char reason[static REASON_MAX])
{
	int32_t value = 0;
	int err = v8_get(set, wanted, 1, INT16_MAX, &value, reason);

	*out = (struct v8_type){(uint16_t)value, (uint16_t)(value + (int32_t)more)};
	return err;
}

static int v8_types(const struct v8_set *set, struct v8_row *row, char reason[static REASON_MAX])
{
	int32_t strings = 0, map = 0;
	int err;

	err = v8_type(set, "type_JSFunction__JS_FUNCTION_TYPE", V8_FUNCTION_TYPES - 1,
		      &row->types[V8_FUNCTION], reason);
	err = err
		      ?: v8_type(set, "type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", 0,
				 &row->types[V8_SHARED], reason);
	err = err ?: v8_type(set, "type_Script__SCRIPT_TYPE", 0, &row->types[V8_SCRIPT], reason);
	err = err
		      ?: v8_type(set, "type_ScopeInfo__SCOPE_INFO_TYPE", 0, &row->types[V8_SCOPE],
				 reason);
	err = err ?: v8_get(set, "FirstNonstringType", 32, INT16_MAX, &strings, reason);
	err = err ?: v8_get(set, "class_Map__instance_type__", 8, 30, &map, reason);
	row->strings = (uint16_t)strings;
	row->map_type = (uint8_t)map;
	return err;
}

/* With five words in front of the variables, the last two are where the function is; with three, that is behind them. */
static int v8_scope(const struct v8_set *set, struct v8_row *row, char reason[static REASON_MAX])
{
	int32_t first = 0, count = 0;
	int err = v8_get(set, "scopeinfo_idx_first_vars", 3, 5, &first, reason);

	err = err ?: v8_get(set, "scopeinfo_idx_ncontextlocals", 2, 2, &count, reason);
	if (!err && first == 4)
		err = refuse(reason, -ENOTSUP, "its ScopeInfo has a form that is not known");
	row->scope_first = (uint8_t)first;
	row->scope_count = (uint8_t)count;
	row->scope_place = first == 5 ? 3 : 0;
	return err;
}

/* ---- where calls are: those without which only the line of a function is known ---- */

/* What the table of versions has, as far as it is exported. */
static const struct v8_constant v8_calls_fixed[] = {
	{"off_fp_bytecode_array", -32},
	{"off_fp_bytecode_offset", -40},
	{"class_FixedArrayBase__length__", V8_ARRAY_LENGTH},
	{"class_FixedArray__data__", V8_ARRAY_BYTES},
	{"CodeKindFieldMask", V8_KIND_MASK},
};

static bool v8_has_all(const struct v8_set *set, const struct v8_constant *fixed, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct v8_constant *constant = v8_find(set, fixed[i].name);

		if (!constant || constant->value != fixed[i].value)
			return false;
	}
	return true;
}

/* NULL: it is not known. */
static const struct v8_version *v8_version_of(const struct v8_set *set)
{
	const struct v8_constant *major = v8_find(set, V8_MAJOR), *minor = v8_find(set, V8_MINOR);

	return major && minor ? v8_version_find(major->value, minor->value) : NULL;
}

/* Not exported, or the same. */
static bool v8_agrees(const struct v8_set *set, const char *name, int32_t value)
{
	const struct v8_constant *constant = v8_find(set, name);

	return !constant || constant->value == value;
}

static bool v8_knows(const struct v8_set *set, const struct v8_version *version)
{
	const struct v8_row *row = &version->row;

	return v8_has_all(set, v8_calls_fixed, ARRAY_SIZE(v8_calls_fixed)) &&
	       v8_agrees(set, "class_BytecodeArray__data__", row->bytecodes_first) &&
	       v8_agrees(set, "class_SharedFunctionInfo__function_data__", row->shared_data) &&
	       v8_agrees(set, "class_Code__instruction_start__Address", row->code_start) &&
	       v8_agrees(set, "class_Code__instruction_start__uintptr_t", row->code_own) &&
	       v8_agrees(set, "class_Code__instruction_size__", row->code_size) &&
	       v8_agrees(set, "class_Code__flags__", row->code_kind) &&
	       v8_agrees(set, "class_Code__deoptimization_data__", row->code_deopt) &&
	       v8_agrees(set, "DeoptimizationDataLiteralArrayIndex", row->deopt_literals) &&
	       v8_agrees(set, "DeoptimizationDataOptimizationIdIndex", row->deopt_id);
}

/* Those of one kind are all needed. */
static bool v8_types_of_code(const struct v8_set *set, const struct v8_version *version,
			     struct v8_row *row)
{
	char reason[REASON_MAX];
	int err;

	err = v8_type(set, "type_BytecodeArray__BYTECODE_ARRAY_TYPE", 0, &row->types[V8_BYTECODES],
		      reason);
	err = err ?: v8_type(set, "type_Code__CODE_TYPE", 0, &row->types[V8_CODE], reason);
	for (size_t i = 0; i < V8_KINDS && !err; i++) {
		if (version->types[i])
			err = v8_type(set, version->types[i], 0, &row->types[i], reason);
	}
	return !err;
}

static void v8_calls(const struct v8_set *set, struct v8_row *row)
{
	const struct v8_version *version = v8_version_of(set);
	char reason[REASON_MAX];
	int32_t baseline;
	struct v8_row known;

	if (!version || !v8_knows(set, version) ||
	    v8_get(set, "CodeKindBaseline", 1, V8_KIND_MASK - V8_KINDS_OPTIMISED, &baseline,
		   reason))
		return;
	known = version->row;
	memcpy(known.types, row->types, sizeof(known.types));
	if (!v8_types_of_code(set, version, &known))
		return;
	known.strings = row->strings;
	known.map_type = row->map_type;
	known.function_shared = row->function_shared;
	known.shared_name = row->shared_name;
	known.shared_script = row->shared_script;
	known.script_source = row->script_source;
	known.script_name = row->script_name;
	known.script_line = row->script_line;
	known.scope_count = row->scope_count;
	known.scope_first = row->scope_first;
	known.scope_place = row->scope_place;
	known.shared_words = row->shared_words;
	known.code_baseline = (uint8_t)baseline;
	*row = known;
}

/*
 * Are there the numbers of the script and of the function in it? The script's lies between exported
 * members. The function's is behind the flags: uint16_t length, uint16_t parameters, int16_t token,
 * two bytes, uint32_t flags, int32_t function_literal_id.
 */
static bool v8_has_numbers(const struct v8_set *set, const struct v8_row *row)
{
	const char *behind = "class_Script__eval_from_shared_or_wrapped_arguments__";
	const char *called =
		v8_find(set, behind)
			? behind
			: "class_Script__eval_from_shared_or_wrapped_arguments_or_sfi_table__";
	const struct v8_constant numbers[] = {
		{"class_Script__line_ends__", V8_SCRIPT_NUMBER - 8},
		{called, V8_SCRIPT_NUMBER + 8},
		{"class_SharedFunctionInfo__length__", row->shared_script + 8},
		{"class_SharedFunctionInfo__flags__", row->shared_script + 16},
	};

	return v8_has_all(set, numbers, ARRAY_SIZE(numbers)) &&
	       (row->shared_script == 32 || row->shared_script == 40);
}

int v8_row_from(const struct v8_constant *constants, size_t count, struct v8_row *out,
		char reason[static REASON_MAX])
{
	const struct v8_set set = {constants, count};
	const char *script = "class_SharedFunctionInfo__script__";
	int err = v8_check_fixed(&set, reason);

	*out = (struct v8_row){0};
	/* Until V8 12 it could be a DebugInfo's. */
	if (!v8_find(&set, script))
		script = "class_SharedFunctionInfo__script_or_debug_info__";
	err = err ?: v8_types(&set, out, reason);
	err = err ?: v8_member(&set, "class_JSFunction__shared__", &out->function_shared, reason);
	err = err
		      ?: v8_member(&set, "class_SharedFunctionInfo__name_or_scope_info__",
				   &out->shared_name, reason);
	err = err ?: v8_member(&set, script, &out->shared_script, reason);
	err = err ?: v8_member(&set, "class_Script__source__", &out->script_source, reason);
	err = err ?: v8_member(&set, "class_Script__name__", &out->script_name, reason);
	if (!err && out->script_name != out->script_source + 8)
		err = refuse(reason, -ENOTSUP, "its Script has a form that is not known");
	out->script_line = (uint8_t)(out->script_name + 8);
	err = err ?: v8_scope(&set, out, reason);
	if (err)
		return err;
	if (v8_has_numbers(&set, out))
		out->shared_words = (uint8_t)(out->shared_script / 8 + 3);
	v8_calls(&set, out);
	return 0;
}

/* ---- the file ------------------------------------------------------------------------------ */

struct v8_symbols {
	struct object *object;
	struct v8_constant constants[V8_CONSTANTS];
	size_t count;
};

static int v8_look_at(void *ctx, const char *name, const GElf_Sym *sym)
{
	struct v8_symbols *s = ctx;
	struct v8_constant *constant = &s->constants[s->count];
	uint64_t offset;

	size_t prefix = strlen(V8_PREFIX);

	if (!strcmp(name, V8_MAJOR) || !strcmp(name, V8_MINOR))
		prefix = 0;
	else if (strncmp(name, V8_PREFIX, prefix))
		return 0;
	if (s->count == V8_CONSTANTS)
		return 0;
	/* Those that are 0 are in no file. */
	if (object_vaddr_to_offset(s->object, sym->st_value, &offset) ||
	    pread(object_fd(s->object), &constant->value, sizeof(constant->value), (off_t)offset) !=
		    (ssize_t)sizeof(constant->value))
		return 0;
	constant->name = name + prefix;
	s->count++;
	return 0;
}

int v8_row_of(struct object *object, struct v8_row *out, const struct v8_version **version,
	      char reason[static REASON_MAX])
{
	_cleanup_elf_ Elf *elf = object_elf(object, ELF_FOR_SYMBOLS);
	_cleanup_free_ struct v8_symbols *symbols = calloc(1, sizeof(*symbols));

	*out = (struct v8_row){0};
	*version = NULL;
	if (!symbols)
		return -ENOMEM;
	if (!elf)
		return refuse(reason, -EBADMSG, "its file cannot be read");
	symbols->object = object;
	elf_symbols(elf, SHT_DYNSYM, v8_look_at, symbols);
	*version = v8_version_of(&(struct v8_set){symbols->constants, symbols->count});
	return v8_row_from(symbols->constants, symbols->count, out, reason);
}

/* Bytecodes::kBytecodeSizes: a byte for each, three times. */
#define V8_SIZES "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE"

struct v8_sizes {
	struct object *object;
	struct v8_opcodes *out;
};

static int v8_look_for_sizes(void *ctx, const char *name, const GElf_Sym *sym)
{
	struct v8_sizes *s = ctx;
	size_t count = sym->st_size / 3;
	uint64_t offset;

	if (strcmp(name, V8_SIZES) != 0)
		return 0;
	if (sym->st_size % 3 || count > V8_OPCODES_MAX ||
	    object_vaddr_to_offset(s->object, sym->st_value, &offset))
		return 1;
	for (size_t i = 0; i < 3; i++) {
		if (pread(object_fd(s->object), s->out->sizes[i], count,
			  (off_t)(offset + i * count)) != (ssize_t)count)
			return 1;
	}
	s->out->count = count;
	return 1;
}

static void v8_opcodes_from(const struct v8_version *version, struct v8_opcodes *out)
{
	out->count = strlen(version->opcodes[0]);
	for (size_t i = 0; i < 3; i++) {
		for (size_t k = 0; k < out->count; k++)
			out->sizes[i][k] = (uint8_t)(version->opcodes[i][k] - '0');
	}
}

void v8_opcodes_of(struct object *object, const struct v8_version *version, struct v8_opcodes *out)
{
	_cleanup_elf_ Elf *elf = object_elf(object, ELF_FOR_SYMBOLS);
	struct v8_sizes sizes = {object, out};

	*out = (struct v8_opcodes){0};
	if (elf)
		elf_symbols(elf, SHT_DYNSYM, v8_look_for_sizes, &sizes);
	if (!out->count && version && version->opcodes[0])
		v8_opcodes_from(version, out);
}

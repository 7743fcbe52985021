// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * No V8, but what looks like that of Node 20 from outside. Says "ready PID", and for each line on its standard input allocates from code
 * that it has made, as many bytes as no other, from a frame that has the function named there, and says "done": "right": forged, in
 * line 3 of forged.js; "far": its SharedFunctionInfo is in no memory; "none": is no such thing; "scope": its ScopeInfo has 2^31 variables;
 * "place": ends before it begins; "circle": its name is one string that is another that is the first; "long": a name of 2^31
 * characters; "script": the script's text is in no memory; "left": with bytecodes and a number as of a call, but in code that is not the
 * interpreter's; "baseline": in code that was made of these bytecodes, of which the call is in line 5; "beyond": its code ends before
 * that; "endless": a table of positions that does not end; "kind": its code is of another kind; "huge": a table of 2^31 bytes; "optimised": in optimised
 * code, whose call is in line 5; "inlined": of a function that has been inlined there; and with what leads back from such code "unmapped": in no memory;
 * "typed": no array; "looped": its translations are it itself; "counted": with 2^31 places, and as long; "negative": with less than none; "nested": of 2^20 functions;
 * "cut": that do not end; "stranger": of another function; "nobody": of what is none. "kept": one that lies where the last one of these did, and is it; "other":
 * the same in another script that lies where the first one did, forger.js; "sibling": another function there, which begins in line 5.
 * "twice": right, and the block is freed twice, which is a program's end where nobody guards it. Its argument: the first of these
 * numbers of bytes, without which it is 5001.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT(name, value)            \
	extern const int v8dbg_##name; \
	const int v8dbg_##name __attribute__((used, visibility("default"))) = value

EXPORT(HeapObjectTag, 1);
EXPORT(HeapObjectTagMask, 3);
EXPORT(SmiTagMask, 1);
EXPORT(SmiShiftSize, 31);
EXPORT(off_fp_function, -16);
EXPORT(off_fp_context, -8);
EXPORT(StringRepresentationMask, 7);
EXPORT(StringEncodingMask, 8);
EXPORT(OneByteStringTag, 8);
EXPORT(ConsStringTag, 1);
EXPORT(ExternalStringTag, 2);
EXPORT(SlicedStringTag, 3);
EXPORT(ThinStringTag, 5);
EXPORT(class_String__length__int32_t, 12);
EXPORT(class_SeqOneByteString__chars__char, 16);
EXPORT(class_SeqTwoByteString__chars__char, 16);
EXPORT(class_ConsString__first__String, 16);
EXPORT(class_ConsString__second__String, 24);
EXPORT(class_SlicedString__parent__String, 16);
EXPORT(class_SlicedString__offset__SMI, 24);
EXPORT(class_ThinString__actual__String, 16);
EXPORT(class_ExternalString__resource__Object, 16);
EXPORT(type_JSFunction__JS_FUNCTION_TYPE, 2066);
EXPORT(type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE, 262);
EXPORT(type_Script__SCRIPT_TYPE, 167);
EXPORT(type_ScopeInfo__SCOPE_INFO_TYPE, 261);
EXPORT(FirstNonstringType, 128);
EXPORT(class_Map__instance_type__uint16_t, 12);
EXPORT(scopeinfo_idx_first_vars, 3);
EXPORT(scopeinfo_idx_ncontextlocals, 2);
EXPORT(class_JSFunction__shared__SharedFunctionInfo, 24);
EXPORT(class_SharedFunctionInfo__name_or_scope_info__Object, 16);
EXPORT(class_SharedFunctionInfo__script_or_debug_info__HeapObject, 32);
EXPORT(class_Script__source__Object, 8);
EXPORT(class_Script__name__Object, 16);
EXPORT(class_Script__line_ends__Object, 56);
EXPORT(class_Script__eval_from_shared_or_wrapped_arguments__Object, 72);
EXPORT(class_SharedFunctionInfo__length__uint16_t, 40);
EXPORT(class_SharedFunctionInfo__flags__int, 48);
EXPORT(off_fp_bytecode_array, -32);
EXPORT(off_fp_bytecode_offset, -40);
EXPORT(class_FixedArrayBase__length__SMI, 8);
EXPORT(class_FixedArray__data__uintptr_t, 16);
EXPORT(class_BytecodeArray__data__uintptr_t, 54);
EXPORT(class_SharedFunctionInfo__function_data__Object, 8);
EXPORT(class_Code__bytecode_or_interpreter_data__HeapObject, 16);
EXPORT(class_Code__bytecode_offset_table__ByteArray, 24);
EXPORT(type_BytecodeArray__BYTECODE_ARRAY_TYPE, 191);
EXPORT(type_ByteArray__BYTE_ARRAY_TYPE, 190);
EXPORT(type_Code__CODE_TYPE, 245);
EXPORT(CodeKindFieldMask, 15);
EXPORT(CodeKindBaseline, 11);
EXPORT(type_FixedArray__FIXED_ARRAY_TYPE, 175);
EXPORT(type_WeakFixedArray__WEAK_FIXED_ARRAY_TYPE, 240);

extern const int _ZN2v88internal7Version6major_E, _ZN2v88internal7Version6minor_E;
const int _ZN2v88internal7Version6major_E __attribute__((used, visibility("default"))) = 11;
const int _ZN2v88internal7Version6minor_E __attribute__((used, visibility("default"))) = 3;

/* Of each bytecode two bytes. */
extern const uint8_t _ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE[3 * 200];
const uint8_t _ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE[3 * 200]
	__attribute__((used, visibility("default"))) = {[0 ... 599] = 2};

/* push %rbp; mov %rsp,%rbp; push %rsi; push %rdx; push %rdx; push %r8; push %r9; push %r9; call *%rcx; leave; ret */
static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x56, 0x52, 0x52, 0x41, 0x50,
			       0x41, 0x51, 0x41, 0x51, 0xff, 0xd1, 0xc9, 0xc3};
#define RETURN_AT 15

/* sub $8,%rsp; call *%rcx; add $8,%rsp; ret: CPython's trampolines, which have no frame pointer. */
static const uint8_t trampoline[] = {0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3};
#define TRAMPOLINE_AT 64

/* In front of it a word leads to the Code that it belongs to. */
#define OPTIMISED_AT 128

typedef void *call_fn(size_t size, uint64_t context, uint64_t function, void *(*allocate)(size_t),
		      uint64_t bytecodes, uint64_t offset);

#define FAR	  0x123456780001ull
#define NUMBER(n) ((uint64_t)(n) << 32)

/* An object of that type, of 32 words. */
static uint64_t *object(unsigned type)
{
	uint64_t *words = calloc(32, sizeof(*words)), *map = calloc(4, sizeof(*map));

	map[1] = NUMBER(type);
	words[0] = (uint64_t)map + 1;
	return words;
}

/* The same, with as much memory behind it as is ever read. */
static uint64_t *roomy(unsigned type)
{
	uint64_t *words = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	words[0] = *object(type);
	return words;
}

static uint64_t tagged(const uint64_t *words)
{
	return (uint64_t)words + 1;
}

static uint64_t text(const char *characters)
{
	uint64_t *words = object(8);

	words[1] = NUMBER(strlen(characters));
	strcpy((char *)(words + 2), characters);
	return tagged(words);
}

struct function {
	uint64_t *function, *shared, *scope, *script, *bytecodes, *code, *positions;
};

static void *page; /* with the code */

static uint64_t *bytes(const uint8_t *data, size_t size)
{
	uint64_t *words = object(190);

	words[1] = NUMBER(size);
	memcpy(words + 2, data, size);
	return words;
}

static struct function right(void)
{
	/* Offset -1: character 17, as (17 + 1) * 2; offset 2: character 23; both as steps, with their signs in the lowest bit. */
	static const uint8_t positions[] = {0, 36 * 2, 3 * 2, 12 * 2};
	/* What stands in front of the bytecodes has none of the code; the first one 10 bytes, the second one 90. */
	static const uint8_t offsets[] = {1, 10, 90};
	struct function f = {.function = object(2066),
			     .shared = object(262),
			     .scope = object(261),
			     .script = object(167),
			     .bytecodes = object(191),
			     .code = object(245)};

	f.positions = bytes(positions, sizeof(positions));
	f.bytecodes[1] = NUMBER(4);
	f.bytecodes[4] = tagged(f.positions);
	memcpy((char *)f.bytecodes + 54, "\x10\x10\x10\x10", 4);
	f.code[2] = tagged(f.bytecodes);
	f.code[3] = tagged(bytes(offsets, sizeof(offsets)));
	f.code[5] = (uint64_t)page;
	f.code[6] = 11;
	f.code[7] = 100;
	f.function[3] = tagged(f.shared);
	f.shared[2] = tagged(f.scope);
	f.shared[4] = tagged(f.script);
	f.script[1] = text("\n\nfunction forged() {\n\n+1; }\n");
	f.script[2] = text("/srv/forged.js");
	/* Two variables, then the function's name and where it is. */
	f.scope[3] = NUMBER(2);
	f.scope[8] = text("forged");
	f.scope[10] = text("");
	f.scope[11] = NUMBER(17);
	f.scope[12] = NUMBER(28);
	return f;
}

static uint64_t circle(void)
{
	uint64_t *one = object(5 + 8), *other = object(5 + 8);

	one[1] = other[1] = NUMBER(7);
	one[2] = tagged(other);
	other[2] = tagged(one);
	return tagged(one);
}

static uint64_t two(uint64_t first, uint64_t second)
{
	uint64_t *words = object(1 + 8);

	words[1] = NUMBER(99);
	words[2] = first;
	words[3] = second;
	return tagged(words);
}

/* As an array of what leads back from optimised code has its members. */
#define TRANSLATIONS 2
#define LITERALS     4
#define ID	     7
#define EXITS	     10
#define EAGER	     11
#define PLACES	     12

/* A frame of the function, and one of another that has been inlined; an instruction, then numbers, with their signs in the lowest bit. */
static const uint8_t one_frame[] = {2, 0, 2, 2, 23, 4, 0, 0, 0, 0};
static const uint8_t two_frames[] = {2, 0, 4, 4, 23, 4, 0, 0, 0, 0, 23, 4, 2, 0, 0, 0};

/* The only optimised code there is, each time of another function. */
static void forge_optimised(const char *how, struct function *f)
{
	static uint64_t *own;
	static uint8_t endless[64];
	uint64_t *deopt = roomy(175), *literals = roomy(240), *translations = roomy(190);
	struct function inner = right();

	own = own ?: object(245);
	own[2] = tagged(deopt);
	own[5] = (uint64_t)page + OPTIMISED_AT;
	own[6] = 13;
	own[7] = 100;
	((uint64_t *)((char *)page + OPTIMISED_AT))[-1] = tagged(own);
	f->shared[1] = tagged(f->bytecodes);
	inner.scope[8] = text("inner");
	inner.shared[1] = tagged(inner.bytecodes);
	literals[1] = NUMBER(2);
	literals[2] = tagged(f->shared) | 2;
	literals[3] = tagged(inner.shared) | 2;
	deopt[1] = NUMBER(14);
	translations[1] = NUMBER(sizeof(one_frame));
	memcpy(translations + 2, one_frame, sizeof(one_frame));
	deopt[TRANSLATIONS] = tagged(translations);
	deopt[LITERALS] = tagged(literals);
	deopt[ID] = NUMBER(1);
	deopt[EXITS] = NUMBER(90);
	deopt[PLACES] = NUMBER(1);
	deopt[PLACES + 3] = NUMBER(RETURN_AT);
	memset(endless, 0xff, sizeof(endless));
	if (!strcmp(how, "inlined"))
		deopt[TRANSLATIONS] = tagged(bytes(two_frames, sizeof(two_frames)));
	else if (!strcmp(how, "unmapped"))
		own[2] = FAR;
	else if (!strcmp(how, "typed"))
		own[2] = tagged(f->script);
	else if (!strcmp(how, "looped"))
		deopt[TRANSLATIONS] = deopt[LITERALS] = tagged(deopt);
	else if (!strcmp(how, "counted"))
		deopt[1] = deopt[PLACES] = translations[1] = literals[1] = NUMBER(0x7fffffff);
	else if (!strcmp(how, "negative"))
		deopt[EAGER] = deopt[PLACES] = NUMBER(0xffffffff);
	else if (!strcmp(how, "nested"))
		memcpy(translations + 2, "\x02\x00\x80\x80\x80\x01\x80\x80\x80\x01", 10);
	else if (!strcmp(how, "cut"))
		deopt[TRANSLATIONS] = tagged(bytes(endless, sizeof(endless)));
	else if (!strcmp(how, "stranger"))
		literals[2] = literals[3];
	else if (!strcmp(how, "nobody"))
		literals[2] = FAR;
}

static const char *const optimised[] = {"optimised", "inlined",	 "unmapped", "typed",
					"looped",    "counted",	 "negative", "nested",
					"cut",	     "stranger", "nobody"};

static bool is_optimised(const char *how)
{
	for (size_t i = 0; i < sizeof(optimised) / sizeof(*optimised); i++) {
		if (!strcmp(how, optimised[i]))
			return true;
	}
	return false;
}

static void forge_code(const char *how, struct function *f)
{
	f->shared[1] = tagged(f->code);
	if (!strcmp(how, "beyond"))
		f->code[7] = RETURN_AT - 1;
	else if (!strcmp(how, "endless"))
		memset(f->positions + 2, 0xff, 8);
	else if (!strcmp(how, "kind"))
		f->code[6] = 12;
	else if (!strcmp(how, "huge"))
		f->positions[1] = NUMBER(0x7fffffff);
	else if (!strcmp(how, "left"))
		f->shared[1] = tagged(f->bytecodes);
	else if (strcmp(how, "baseline") != 0)
		f->shared[1] = 0;
}

/* Where one lies, another one does: nothing but the number that V8 has given it, or its script, says so at once. */
static bool forge_kept(const char *how, struct function *f)
{
	static struct function kept;

	if (!kept.function)
		kept = *f;
	if (!strcmp(how, "other")) {
		kept.script[8] = NUMBER(2);
		memcpy((char *)(kept.script[2] - 1 + 16), "/srv/forger.js", 14);
	} else if (!strcmp(how, "sibling")) {
		kept.shared[6] = NUMBER(2);
		kept.scope[8] = text("sibling");
		kept.scope[11] = NUMBER(23);
	} else if (strcmp(how, "kept") != 0) {
		return false;
	}
	*f = kept;
	return true;
}

static struct function forge(const char *how)
{
	struct function f = right();

	if (forge_kept(how, &f))
		return f;
	if (!strcmp(how, "far"))
		f.function[3] = FAR;
	else if (!strcmp(how, "none"))
		f.function[3] = tagged(f.script);
	else if (!strcmp(how, "scope"))
		f.scope[3] = NUMBER(0x7fffffff);
	else if (!strcmp(how, "place"))
		f.scope[12] = NUMBER(3);
	else if (!strcmp(how, "circle"))
		f.scope[8] = circle();
	else if (!strcmp(how, "long"))
		((uint64_t *)(f.scope[8] - 1))[1] = NUMBER(0x7fffffff);
	else if (!strcmp(how, "moved"))
		/* As the collector leaves it. */
		f.shared[0] = (uint64_t)object(262);
	else if (!strcmp(how, "parts"))
		f.scope[8] = two(two(two(text("in"), text(".four")), text(".par")), text("ts"));
	else if (!strcmp(how, "turned"))
		f.scope[8] = two(text("in"), two(text("par"), text("ts")));
	else if (!strcmp(how, "script"))
		f.script[1] = FAR;
	else if (is_optimised(how))
		forge_optimised(how, &f);
	else
		forge_code(how, &f);
	return f;
}

int main(int argc, char **argv)
{
	call_fn *call = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	call_fn *from;
	uint64_t context = tagged(object(300));
	size_t size = argc > 1 ? strtoul(argv[1], NULL, 10) : 5001;
	char line[64];
	struct function f;
	void *volatile block = NULL;

	if (call == MAP_FAILED)
		return 1;
	page = (void *)call;
	memcpy(page, code, sizeof(code));
	memcpy((char *)call + TRAMPOLINE_AT, trampoline, sizeof(trampoline));
	memcpy((char *)call + OPTIMISED_AT, code, sizeof(code));
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strcmp(line, "trampoline"))
			((call_fn *)((char *)call + TRAMPOLINE_AT))(size++, 0, 0, malloc, 0, 0);
		else {
			f = forge(line);
			from = (call_fn *)((char *)call + (is_optimised(line) ? OPTIMISED_AT : 0));
			block = from(size++, context, tagged(f.function), malloc,
				     tagged(f.bytecodes),
				     !strcmp(line, "left") ? NUMBER(55) : context);
		}
		if (!strcmp(line, "twice")) {
			free(block);
			free(block);
		}
		puts("done");
		fflush(stdout);
	}
	return 0;
}

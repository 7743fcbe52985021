// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * No V8, but what looks like that of Node 20 from outside. Says "ready PID", and for each line on its standard input allocates from code
 * that it has made, as many bytes as no other, from a frame that has the function named there, and says "done": "right": forged, in
 * line 3 of forged.js; "far": its SharedFunctionInfo is in no memory; "none": is no such thing; "scope": its ScopeInfo has 2^31 variables;
 * "place": ends before it begins; "circle": its name is one string that is another that is the first; "long": a name of 2^31
 * characters; "script": the script's text is in no memory.
 */
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

/* push %rbp; mov %rsp,%rbp; push %rsi; push %rdx; call *%rcx; leave; ret */
static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x56, 0x52, 0xff, 0xd1, 0xc9, 0xc3};

/* sub $8,%rsp; call *%rcx; add $8,%rsp; ret: CPython's trampolines, which have no frame pointer. */
static const uint8_t trampoline[] = {0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3};
#define TRAMPOLINE_AT 64

typedef void *call_fn(size_t size, uint64_t context, uint64_t function, void *(*allocate)(size_t));

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
	uint64_t *function, *shared, *scope, *script;
};

static struct function right(void)
{
	struct function f = {object(2066), object(262), object(261), object(167)};

	f.function[3] = tagged(f.shared);
	f.shared[2] = tagged(f.scope);
	f.shared[4] = tagged(f.script);
	f.script[1] = text("\n\nfunction forged() {}\n");
	f.script[2] = text("/srv/forged.js");
	/* Two variables, then the function's name and where it is. */
	f.scope[3] = NUMBER(2);
	f.scope[8] = text("forged");
	f.scope[10] = text("");
	f.scope[11] = NUMBER(17);
	f.scope[12] = NUMBER(22);
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

static uint64_t forge(const char *how)
{
	struct function f = right();

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
	return tagged(f.function);
}

int main(void)
{
	call_fn *call = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t context = tagged(object(300));
	size_t size = 5001;
	char line[64];

	if (call == MAP_FAILED)
		return 1;
	memcpy((void *)call, code, sizeof(code));
	memcpy((char *)call + TRAMPOLINE_AT, trampoline, sizeof(trampoline));
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strcmp(line, "trampoline"))
			((call_fn *)((char *)call + TRAMPOLINE_AT))(size++, 0, 0, malloc);
		else
			call(size++, context, forge(line), malloc);
		puts("done");
		fflush(stdout);
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * No interpreter, but what looks like CPython 3.11 (with FORGED_3_10: 3.10) from outside, with a thread's state that
 * leads anywhere. Says "ready PID", and for each line on its standard input allocates and says "done": "circle": a frame
 * that is its own caller; "far": one whose caller is in no memory; "other": one whose code is no code object; "text": one
 * whose name says that it is 2^60 characters long, and whose table is in no memory; "place": one that is outside of its
 * code; "code": one whose code is in no memory; "state": the thread's state is in none; "edge1" and "edge2": one and the
 * same code object, made from a text, with another table, which ends where the memory does; "wide": a name whose state
 * has 16 bits for `interned`; "again": another function whose code object and all that it has are at the same
 * addresses, but whose instructions are more. As a library it is tests/targets/forged_dl.c's.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define KEY_OFFSET 592

typedef struct {
	uint64_t words[64];
} object;

/* What the tool looks for by name. */
struct {
	uint8_t before[KEY_OFFSET];
	struct {
		int initialised, key;
	} key;
	uint8_t after[1024];
} _PyRuntime;
#ifndef FORGED_VERSION
#define FORGED_VERSION 0x030b02f0
#endif
#ifdef FORGED_3_10
enum {
	STATE_FRAME = 24,
	FRAME_BACK = 24,
	FRAME_PLACE = 96,
	CODE_LINE = 40,
	CODE_FILE = 104,
	CODE_NAME = 112,
	CODE_QUALNAME = 112,
	CODE_TABLE = 120,
	CODE_BYTECODE = 48,
};
extern void *Py_NewRef(void);
void *Py_NewRef(void)
{
	return NULL;
}
#else
enum {
	STATE_FRAME = 56,
	FRAME_BACK = 48,
	FRAME_PLACE = 56,
	CODE_LINE = 72,
	CODE_FILE = 112,
	CODE_NAME = 120,
	CODE_QUALNAME = 128,
	CODE_TABLE = 136,
};
const unsigned long Py_Version = FORGED_VERSION;
#endif
object PyCode_Type, PyUnicode_Type, PyBytes_Type;

extern void *PyGILState_GetThisThreadState(void);
__asm__(".globl PyGILState_GetThisThreadState\n"
	".type PyGILState_GetThisThreadState, @function\n"
	"PyGILState_GetThisThreadState:\n"
	"	lea _PyRuntime+592(%rip), %rdi\n"
	"	xor %eax, %eax\n"
	"	ret\n"
	".size PyGILState_GetThisThreadState, . - PyGILState_GetThisThreadState\n");

static object state, frame, code, name, table;
#ifdef FORGED_3_10
static object bytecode, file;
#else
static object cframe;
#endif
static uint64_t *edge; /* its last word is the last of the memory */

/* A bytes object of one entry: 8 units of code, so many lines further on, without columns. */
static void forge_edge(uint8_t lines)
{
	edge[-5] = 1;
	edge[-4] = (uintptr_t)&PyBytes_Type;
	edge[-3] = 2;
	edge[-2] = 0;
	edge[-1] = 0;
	memcpy(&edge[-1], (uint8_t[]){0x80 | 13 << 3 | 7, (uint8_t)(lines << 1)}, 2);
	code.words[CODE_LINE / 8] = 100;
	code.words[CODE_TABLE / 8] = (uintptr_t)&edge[-5];
	strcpy((char *)&name.words[6], "<text>");
}

static void forge(const char *how)
{
	frame.words[32 / 8] = (uintptr_t)&code;
	frame.words[FRAME_BACK / 8] = 0;
#ifdef FORGED_3_10
	frame.words[FRAME_PLACE / 8] = 1;
#else
	frame.words[FRAME_PLACE / 8] = (uintptr_t)&code + 184;
#endif
	code.words[1] = (uintptr_t)&PyCode_Type;
	code.words[CODE_FILE / 8] = (uintptr_t)&name;
	code.words[CODE_NAME / 8] = (uintptr_t)&name;
	code.words[CODE_QUALNAME / 8] = (uintptr_t)&name;
	code.words[CODE_TABLE / 8] = (uintptr_t)&table;
	code.words[CODE_LINE / 8] = 0;
	name.words[1] = (uintptr_t)&PyUnicode_Type;
	name.words[2] = 6;
	name.words[4] = 1 << 2 | 1 << 5 | 1 << 6;
	strcpy((char *)&name.words[6], "for\x1bge");
	table.words[1] = (uintptr_t)&PyBytes_Type;
#ifdef FORGED_3_10
	state.words[STATE_FRAME / 8] = (uintptr_t)&frame;
	code.words[CODE_FILE / 8] = (uintptr_t)&file;
	code.words[CODE_BYTECODE / 8] = (uintptr_t)&bytecode;
	file = name;
	bytecode.words[1] = (uintptr_t)&PyBytes_Type;
	bytecode.words[2] = !strcmp(how, "again\n") ? 40 : 20;
#else
	cframe.words[1] = (uintptr_t)&frame;
	state.words[STATE_FRAME / 8] = (uintptr_t)&cframe;
#endif
	if (!strcmp(how, "circle\n"))
		frame.words[FRAME_BACK / 8] = (uintptr_t)&frame;
	if (!strcmp(how, "far\n"))
		frame.words[FRAME_BACK / 8] = 0x10;
	if (!strcmp(how, "other\n"))
		code.words[1] = (uintptr_t)&PyBytes_Type;
	if (!strcmp(how, "place\n"))
		frame.words[FRAME_PLACE / 8] = (uintptr_t)&code - 4096;
	if (!strcmp(how, "text\n")) {
		name.words[2] = 1ull << 60;
		code.words[CODE_TABLE / 8] = 0x10;
		/* Another code object, for it would be known by now. */
		code.words[CODE_LINE / 8] = 77;
	}
	if (!strcmp(how, "code\n"))
		frame.words[32 / 8] = 0x1000;
	if (!strcmp(how, "state\n"))
		state.words[STATE_FRAME / 8] = 0x10;
	if (!strcmp(how, "wide\n")) {
		name.words[4] = 1 | (1 << 2 | 1 << 5 | 1 << 6) << 14;
		code.words[CODE_LINE / 8] = 78;
	}
	if (!strcmp(how, "again\n"))
		strcpy((char *)&name.words[6], "longer");
	if (!strncmp(how, "edge", 4))
		forge_edge(how[4] == '1' ? 5 : 7);
}

__attribute__((noinline)) void *_PyEval_EvalFrameDefault(size_t size)
{
	void *volatile block = malloc(size);

	return block;
}

/* False: it cannot be done. */
bool forged_begin(void)
{
	if (pthread_key_create((pthread_key_t *)&_PyRuntime.key.key, NULL))
		return false;
	_PyRuntime.key.initialised = 1;
	edge = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (edge == MAP_FAILED || mprotect((char *)edge + 4096, 4096, PROT_NONE))
		return false;
	edge += 4096 / sizeof(*edge);
	return !pthread_setspecific((pthread_key_t)_PyRuntime.key.key, &state) &&
	       !PyGILState_GetThisThreadState();
}

bool forged_call(const char *how, size_t size)
{
	forge(how);
	return _PyEval_EvalFrameDefault(size) != NULL;
}

int main(void)
{
	size_t size = 5001;
	char how[32];

	if (!forged_begin())
		return 1;
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (fgets(how, sizeof(how), stdin)) {
		if (!forged_call(how, size++))
			return 1;
		printf("done\n");
		fflush(stdout);
	}
	return 0;
}

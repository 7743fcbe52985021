// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Plays what tests/golden/python/record.py has taken from the memory of another version of CPython: exports
 * what that exports, has its thread's state and what it leads to at their addresses, and allocates
 * 5001 bytes. Says "ready PID", and for a line on its standard input what stack of Python's that is in.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include IMAGE_FILE

#ifndef IMAGE_OFFSETS
#define IMAGE_OFFSETS ""
#endif

#define KEY_OFFSET 592

typedef struct {
	uint64_t words[64];
} object;

/* What the tool looks for by name. */
struct {
	char before[KEY_OFFSET];
	struct {
		int initialised, key;
	} key;
	char after[1024];
} _PyRuntime = {.before = IMAGE_OFFSETS};
object PyCode_Type, PyUnicode_Type, PyBytes_Type;

#if IMAGE_VERSION >= 0x030b0000
const unsigned long Py_Version = IMAGE_VERSION;
#endif

extern void *PyGILState_GetThisThreadState(void), *PyCode_NewWithPosOnlyArgs(void);
__asm__(".globl PyGILState_GetThisThreadState\n"
	".type PyGILState_GetThisThreadState, @function\n"
	"PyGILState_GetThisThreadState:\n"
	"	lea _PyRuntime+592(%rip), %rdi\n"
	"	xor %eax, %eax\n"
	"	ret\n"
	".size PyGILState_GetThisThreadState, . - PyGILState_GetThisThreadState\n");

void *PyCode_NewWithPosOnlyArgs(void)
{
	return NULL;
}

#if IMAGE_VERSION >= 0x03090000
extern void *PyFrame_GetBack(void);
void *PyFrame_GetBack(void)
{
	return NULL;
}
#endif

#if IMAGE_VERSION >= 0x030a0000
extern void *Py_NewRef(void);
void *Py_NewRef(void)
{
	return NULL;
}
#endif

/* As often on the stack as C had called Python. */
__attribute__((noinline)) void *_PyEval_EvalFrameDefault(int calls)
{
	void *volatile block = calls > 1 ? _PyEval_EvalFrameDefault(calls - 1) : malloc(5001);

	return block;
}

static int load(void)
{
	static const object *const kinds[] = {&PyUnicode_Type, &PyBytes_Type, &PyCode_Type};
	char *base = mmap((void *)IMAGE_BASE, sizeof(image), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (base != (void *)IMAGE_BASE)
		return -1;
	memcpy(base, image, sizeof(image));
	for (size_t i = 0; i < sizeof(image_types) / sizeof(image_types[0]); i++) {
		uintptr_t type = (uintptr_t)kinds[image_types[i].type];

		memcpy(base + image_types[i].offset, &type, sizeof(type));
	}
	return 0;
}

int main(void)
{
	char line[32];

	if (load() || pthread_key_create((pthread_key_t *)&_PyRuntime.key.key, NULL))
		return 1;
	_PyRuntime.key.initialised = 1;
	if (pthread_setspecific((pthread_key_t)_PyRuntime.key.key, (void *)IMAGE_STATE) ||
	    PyGILState_GetThisThreadState())
		return 1;
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!_PyEval_EvalFrameDefault(IMAGE_CALLS))
			return 1;
		printf("%s\n", IMAGE_STACK);
		fflush(stdout);
	}
	return 0;
}

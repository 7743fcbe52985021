// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Where functions lead to, in texts made up for it; test_allocators.c has real ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "user/base/util.h"
#include "user/gate/leads.h"

#ifndef __x86_64__
int main(void)
{
	puts("1..0 # SKIP x86_64 only");
	return 0;
}
#else

#define AT   0x100000ull
#define SLOT (AT + 0x1000) /* the one word that can be read */

/* 0: it cannot be read. */
static bool slot_word(void *data, uint64_t address, uint64_t *out)
{
	*out = *(const uint64_t *)data;
	return address == SLOT && *out;
}

static uint8_t text[256];
static uint64_t slot;
static const struct leads_object object = {text, sizeof(text), AT, slot_word, &slot};

static void code(size_t at, const char *bytes, size_t size)
{
	memcpy(text + at, bytes, size);
}

#define CODE(at, bytes) code(at, bytes, sizeof(bytes) - 1)

static int blank(void **state)
{
	(void)state;
	memset(text, 0x90, sizeof(text));
	slot = 0;
	return 0;
}

/* Where the function at that distance begins; or -1, with the reason. */
static int64_t begins(uint64_t at, const char **why)
{
	uint64_t address = AT + at;

	return leads_beginning(&object, &address, why) ? -1 : (int64_t)(address - AT);
}

static void jumps(void **state)
{
	const char *why;

	(void)state;
	assert_int_equal(begins(0x20, &why), 0x20);
	CODE(0, "\xeb\x0e");		    /* to 0x10 */
	CODE(0x10, "\xe9\x1b\0\0\0");	    /* to 0x30 */
	CODE(0x30, "\xe9\xcb\xff\xff\xff"); /* to 0 */
	assert_int_equal(begins(0, &why), -1);
	assert_string_equal(why, "it is jumps in a circle");
	CODE(0x30, "\x55\xe9\xcb\xff\xff\xff"); /* push %rbp, and the jump is no first one */
	assert_int_equal(begins(0, &why), 0x30);
	assert_int_equal(begins(0x10, &why), 0x30);
	CODE(0x10, "\xe9\0\x10\0\0");
	assert_int_equal(begins(0, &why), -1);
	assert_string_equal(why, "it is a jump to another object");
	CODE(0x10, "\xff\xe0"); /* jmp *%rax */
	assert_int_equal(begins(0, &why), -1);
	assert_string_equal(why, "it is a jump to nobody knows where");
	assert_int_equal(begins(sizeof(text), &why), -1);
	/* endbr64 can stay, and the jump behind it be displaced. */
	CODE(0x40, "\xf3\x0f\x1e\xfa\xe9\0\0\0\0");
	assert_int_equal(begins(0x40, &why), 0x40);
}

static void plt(void **state)
{
	const char *why;

	(void)state;
	CODE(0, "\xe9\x7b\0\0\0"); /* to 0x80 */
	/* jmp *SLOT(%rip); push $1; jmp */
	CODE(0x80, "\xff\x25\x7a\x0f\0\0\x68\x01\0\0\0\xe9\xe0\xff\xff\xff");
	assert_int_equal(begins(0, &why), -1);
	slot = AT + 0x20;
	assert_int_equal(begins(0, &why), 0x20);
	slot = AT + 0x86;
	assert_int_equal(begins(0, &why), -1);
	assert_string_equal(why, "it is a jump to nobody knows where");
	slot = AT + 0x100000;
	assert_int_equal(begins(0, &why), -1);
	assert_string_equal(why, "it is a jump to another object");
	/* endbr64; jmp *SLOT(%rip), which is not bound: endbr64; push $1 */
	CODE(0x80, "\xf3\x0f\x1e\xfa\xff\x25\x76\x0f\0\0");
	CODE(0x90, "\xf3\x0f\x1e\xfa\x68\x01\0\0\0\xe9");
	slot = AT + 0x90;
	assert_int_equal(begins(0, &why), -1);
	slot = AT + 0x20;
	assert_int_equal(begins(0, &why), 0x20);
}

static void calls(void **state)
{
	static const uint64_t entries[] = {AT, AT + 0x40, AT + 0x60};
	const size_t count = ARRAY_SIZE(entries);

	(void)state;
	/* je to 0x30; ret; at 0x30 a call to 0x50, from where one goes to 0x40; back to 0 */
	CODE(0, "\x74\x2e\xc3");
	CODE(0x30, "\xe8\x1b\0\0\0\xeb\xc9");
	CODE(0x50, "\xe8\xeb\xff\xff\xff\xc3");
	assert_false(leads_calls(&object, AT, entries, count));
	assert_true(leads_calls(&object, AT + 0x50, entries, count));
	/* What is behind a return is not the function's. */
	CODE(0x03, "\xe8\x38\0\0\0");
	assert_false(leads_calls(&object, AT, entries, count));
	/* By the PLT at 0x50. */
	CODE(0x50, "\xff\x25\xaa\x0f\0\0");
	assert_false(leads_calls(&object, AT, entries, count));
	slot = AT + 0x60;
	assert_true(leads_calls(&object, AT, entries, count));
	slot = AT;
	assert_false(leads_calls(&object, AT, entries, count));
	slot = 0;
	/* A branch on one path of several: at 0x30 jne to 0x60 */
	CODE(0x30, "\x75\x2e\xc3");
	assert_true(leads_calls(&object, AT, entries, count));
}

static void registers(void **state)
{
	(void)state;
	/* call 0x40; xor %eax,%eax; mov %rdi,%rsi; mov %rdi,%rdx; cmp %r8,%r9; ret */
	CODE(0, "\xe8\x3b\0\0\0\x31\xc0\x48\x89\xfe\x48\x89\xfa\x4d\x39\xc1\xc3");
	/* mov $0,%cl; pop %rdi; pop %r8; pop %r9; pop %r10; ret */
	CODE(0x40, "\xb1\x00\x5f\x41\x58\x41\x59\x41\x5a\xc3");
	assert_false(leads_writes_all(&object, AT));
	/* pop %r11 */
	CODE(0x49, "\x41\x5b\xc3");
	assert_true(leads_writes_all(&object, AT));
	assert_false(leads_writes_all(&object, AT + 0x40));
	/* What is called by a pointer, or is in another object, keeps to the ABI. */
	CODE(0x40, "\xff\xd0\xc3");
	assert_true(leads_writes_all(&object, AT));
	CODE(0x40, "\xe8\0\x10\0\0\xc3");
	assert_true(leads_writes_all(&object, AT));
	/* A switch says nothing. */
	CODE(0x40, "\xff\xe0");
	assert_false(leads_writes_all(&object, AT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(jumps, blank),
		cmocka_unit_test_setup(plt, blank),
		cmocka_unit_test_setup(calls, blank),
		cmocka_unit_test_setup(registers, blank),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The beginnings of functions, elsewhere. What was made of the allocators that are installed here is
 * called: each function must do from its room what it does at its place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "user/base/util.h"
#include "user/gate/displace.h"
#include "tests/unit/gate/in_file.h"

#ifndef __x86_64__
int main(void)
{
	puts("1..0 # SKIP x86_64 only");
	return 0;
}
#else

#define AT 0x100000000000ull

static int plan(const char *bytes, size_t size, unsigned arguments, struct displaced *out,
		const char **why)
{
	const struct displace_request request = {.code = (const uint8_t *)bytes,
						 .size = size,
						 .address = AT,
						 .arguments = arguments};

	return displace_plan(&request, out, why);
}

#define PLAN(bytes, arguments) plan(bytes, sizeof(bytes) - 1, arguments, &d, &why)

static void assert_displaced(const struct displaced *d, uint32_t kept, uint32_t length,
			     uint32_t undo)
{
	assert_int_equal(d->kept, kept);
	assert_int_equal(d->length, length);
	assert_int_equal(d->undo, undo);
}

static void first_instruction(void **state)
{
	struct displaced d;
	const char *why;

	(void)state;
	/* push %r12; mov %rdi,%r12; push %rbp */
	assert_int_equal(PLAN("\x41\x54\x49\x89\xfc\x55\x53\xc3", 1), 0);
	assert_displaced(&d, 2, 5, 8);
	/* endbr64; push %rbp; mov %rsp,%rbp; push %r15 */
	assert_int_equal(PLAN("\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\x41\x57", 1), 0);
	assert_displaced(&d, 4, 6, 0);
	/* sub $0x18,%rsp; mov %rdi,%rax; add %rsi,%rax */
	assert_int_equal(PLAN("\x48\x83\xec\x18\x48\x89\xf8\x48\x01\xf0", 2), 0);
	assert_displaced(&d, 4, 6, 0x18);
	/* test %rdi,%rdi; je +0x10; push %rbp; push %rbx; nop */
	assert_int_equal(PLAN("\x48\x85\xff\x74\x10\x55\x53\x90", 1), 0);
	assert_displaced(&d, 3, 5, 0);
	/* mov 1(%rip),%rax: the register holds nothing at a call */
	assert_int_equal(PLAN("\x48\x8b\x05\x01\0\0\0\x48\x85\xc0\x75\x02\xc3\xc3\xc3", 1), 0);
	assert_displaced(&d, 7, 5, 0);
	/* mov %rsi,%rdx: an argument only where there are three */
	assert_int_equal(PLAN("\x48\x89\xf2\x48\x89\xf8\x48\x89\xf9", 2), 0);
	assert_int_equal(PLAN("\x48\x89\xf2\x48\x89\xf8\x48\x89\xf9", 3), -EOPNOTSUPP);
	/* lea 1(%rax),%rax adds again */
	assert_int_equal(PLAN("\x48\x8d\x40\x01\x48\x89\xf8\x48\x89\xf9", 1), -EOPNOTSUPP);
	/* mov %rdi,%rbx: the caller's */
	assert_int_equal(PLAN("\x48\x89\xfb\x48\x89\xf8\x48\x89\xf9", 1), -EOPNOTSUPP);
	/* add $8,%rsi; jmp; call */
	assert_int_equal(PLAN("\x48\x83\xc6\x08\x48\x89\xf8\x48\x89\xf9", 2), -EOPNOTSUPP);
	assert_string_equal(why, "its first instruction cannot run twice");
	assert_int_equal(PLAN("\xe9\x10\0\0\0\x90\x90\x90\x90\x90", 1), -EOPNOTSUPP);
	assert_int_equal(PLAN("\xe8\x10\0\0\0\x90\x90\x90\x90\x90", 1), -EOPNOTSUPP);
	assert_int_equal(PLAN("\x06", 1), -EOPNOTSUPP);
	assert_int_equal(PLAN("", 1), -EOPNOTSUPP);
}

static void displaced_instructions(void **state)
{
	struct displaced d;
	const char *why;

	(void)state;
	/* push %rbp; xor %eax,%eax; pop %rbp; ret */
	assert_int_equal(PLAN("\x55\x31\xc0\x5d\xc3\x90\x90\x90", 1), -EOPNOTSUPP);
	assert_string_equal(why, "it is shorter than the jump");
	/* The last one may be the end: push %rbx; mov %rdi,%rax; pop %rbx; ret */
	assert_int_equal(PLAN("\x53\x48\x89\xf8\x5b\xc3", 1), 0);
	assert_displaced(&d, 1, 5, 8);
	assert_int_equal(PLAN("\x53\x48\x89\xf8\x5b", 1), -EOPNOTSUPP);
	/* push %rbx; call; push %rbx; call *%rax */
	assert_int_equal(PLAN("\x53\xe8\0\0\0\0\x5b\xc3", 1), 0);
	assert_displaced(&d, 1, 5, 8);
	assert_int_equal(PLAN("\x53\xff\xd0\x90\x90\x90\x5b\xc3", 1), -EOPNOTSUPP);
	/* push %rbx; jrcxz */
	assert_int_equal(PLAN("\x53\xe3\x10\x48\x89\xf8\x5b\xc3", 1), -EOPNOTSUPP);
}

static void written(void **state)
{
	/* push %rbx; je +2; cmp %rdi,0x10(%rip) */
	static const uint8_t code[] = "\x53\x74\x02\x48\x39\x3d\x10\0\0\0\xc3";
	static const uint8_t wanted[] = "\x53\x0f\x84\xfe\xfe\xff\xff" /* AT + 5 */
					"\x48\x39\x3d\x0c\xff\xff\xff" /* AT + 0x1a */
					"\xe9\xf7\xfe\xff\xff";	       /* AT + 10 */
	const struct displace_request request = {code, sizeof(code) - 1, AT, 1};
	uint8_t room[DISPLACE_ROOM_MAX], jump[DISPLACE_JUMP];
	struct displaced d;
	const char *why;

	(void)state;
	assert_int_equal(displace_plan(&request, &d, &why), 0);
	assert_int_equal(displace_write(&request, &d, AT + 0x100, room), 19);
	assert_memory_equal(room, wanted, 19);
	assert_int_equal(displace_write(&request, &d, AT + (1ull << 32), room), -ERANGE);
	assert_int_equal(displace_jump(AT, AT + 5, jump), 0);
	assert_memory_equal(jump, "\xe9\0\0\0\0", 5);
	assert_int_equal(displace_jump(AT, AT + (1ull << 31) + 4, jump), 0);
	assert_int_equal(displace_jump(AT, AT + (1ull << 31) + 5, jump), -ERANGE);
	assert_int_equal(displace_jump(AT, AT - (1ull << 31) + 5, jump), 0);
	assert_int_equal(displace_jump(AT, AT - (1ull << 31) + 4, jump), -ERANGE);
}

/* push %rbx; mov %rdi,%rax; nop; nop; 10 bytes; then what is outside of the function */
#define BEGINNING	       "\x53\x48\x89\xf8\x90\x90"
#define NOPS		       "\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90"

/* Is what the first instruction is followed by gone to, in a function and text of these bytes? */
static bool entered(const char *bytes, size_t size)
{
	const struct displace_request request = {(const uint8_t *)bytes, 16, AT, 1};
	struct displaced d;
	const char *why;

	assert_int_equal(displace_plan(&request, &d, &why), 0);
	return displace_is_entered(&request, &d, request.code, size, AT);
}

/* The same of a text at another address. */
static bool from_elsewhere(const char *text, size_t size, uint64_t address)
{
	const struct displace_request request = {(const uint8_t *)BEGINNING NOPS, 16, AT, 1};
	struct displaced d;
	const char *why;

	assert_int_equal(displace_plan(&request, &d, &why), 0);
	return displace_is_entered(&request, &d, (const uint8_t *)text, size, address);
}

static void branches(void **state)
{
#define ENTERED(rest)	       entered(BEGINNING rest, sizeof(BEGINNING rest) - 1)

	(void)state;
	assert_false(ENTERED("\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90"));
	/* The entry itself, and what is behind: jmp -8 at 6; jne -2 at 6 */
	assert_false(ENTERED("\xeb\xf8\x90\x90\x90\x90\x90\x90\x90\x90"));
	assert_false(ENTERED("\x75\xfe\x90\x90\x90\x90\x90\x90\x90\x90"));
	/* jmp to 1, jne to 4, loop to 5 */
	assert_true(ENTERED("\xeb\xf9\x90\x90\x90\x90\x90\x90\x90\x90"));
	assert_true(ENTERED("\x75\xfc\x90\x90\x90\x90\x90\x90\x90\x90"));
	assert_true(ENTERED("\xe2\xfd\x90\x90\x90\x90\x90\x90\x90\x90"));
	/* From outside: call to 0, to 1; jne to 5, to 6 */
	assert_false(ENTERED("\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\xe8\xeb\xff\xff\xff"));
	assert_true(ENTERED("\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\xe8\xec\xff\xff\xff"));
	assert_true(ENTERED("\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x0f\x85\xef\xff\xff\xff"));
	assert_false(ENTERED("\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x0f\x85\xf0\xff\xff\xff"));
	/* The first and the last byte of a text; and what seems to fit, but for 4 GiB. */
	assert_true(from_elsewhere("\xe8\xfc\x0f\x00\x00", 5, AT - 0x1000));
	assert_true(from_elsewhere("\x0f\x8f\xfb\x0f\x00\x00", 6, AT - 0x1000));
	assert_false(from_elsewhere("\x0e\x8f\xfb\x0f\x00\x00", 6, AT - 0x1000));
	assert_false(from_elsewhere("\xfc\x0f\x00\x00", 4, AT - 0x1000 + 1));
	assert_false(from_elsewhere("\xe8\xfc\x0f\x00\x00", 5, AT - 0x1000 + (1ull << 32)));
	assert_false(from_elsewhere("\xe8\xfc\x0f\x00", 4, AT - 0x1000));
	/* A displaced branch to another displaced instruction: push %rbx; jne +1; 2 nops; pop %rbx */
	assert_true(
		entered("\x53\x75\x01\x90\x90\x5b\xc3\x90\x90\x90\x90\x90\x90\x90\x90\x90", 16));
}

/* ---- the allocators that are here ---------------------------------------------------------- */

static const struct {
	const char *library;
	bool needed;
} libraries[] = {
	{"libc.so.6", true},
	{"libjemalloc.so.2", false},
	{"libtcmalloc_minimal.so.4", false},
	{"libmimalloc.so.2", false},
};

static const struct {
	const char *name;
	unsigned arguments;
} functions[] = {
	{"malloc", 1},	 {"calloc", 2},	       {"realloc", 2},	      {"free", 1},
	{"memalign", 2}, {"aligned_alloc", 2}, {"posix_memalign", 3},
};

/* Room that calls and jumps reach from the function. */
static uint8_t *room_near(const void *function)
{
	uintptr_t at = (uintptr_t)function & ~0xfffull;

	for (uintptr_t hint = at - (64 << 20); hint > at - (1024ull << 20); hint -= 1 << 20) {
		void *room = mmap((void *)hint, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (room != MAP_FAILED)
			return room;
	}
	return NULL;
}

/* The function's beginning in a room of its own; NULL: `why`. */
static void *moved(void *handle, const char *name, unsigned arguments, const char **why)
{
	const void *function = dlsym(handle, name);
	uint8_t bytes[DISPLACE_CODE_MAX];
	struct displace_request request = {.size = sizeof(bytes),
					   .code = bytes,
					   .address = (uintptr_t)function,
					   .arguments = arguments};
	struct displaced d;
	uint8_t *room;
	int length;

	assert_non_null(function);
	read_in_file(function, bytes, sizeof(bytes));
	if (displace_plan(&request, &d, why))
		return NULL;
	assert_in_range(d.length, DISPLACE_JUMP, DISPLACE_JUMP + 14);
	room = room_near(function);
	assert_non_null(room);
	length = displace_write(&request, &d, (uintptr_t)room, room);
	assert_in_range(length, DISPLACE_JUMP + d.kept + d.length, DISPLACE_ROOM_MAX);
	return room;
}

struct allocator {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	void *(*memalign)(size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
};

static void try_allocator(const struct allocator *a)
{
	unsigned char *block[6];
	void *aligned = NULL;

	for (size_t size = 1; size < 1 << 22; size = size * 3 + 1) {
		block[0] = a->malloc(size);
		memset(block[0], 1, size);
		block[1] = a->calloc(size, 2);
		for (size_t i = 0; i < 2 * size; i++)
			assert_int_equal(block[1][i], 0);
		block[2] = a->realloc(NULL, size);
		memset(block[2], 2, size);
		block[2] = a->realloc(block[2], 3 * size);
		assert_int_equal(block[2][0], 2);
		assert_int_equal(block[2][size - 1], 2);
		block[3] = a->memalign(256, size);
		block[4] = a->aligned_alloc(64, size * 64);
		assert_int_equal((uintptr_t)block[3] % 256, 0);
		assert_int_equal((uintptr_t)block[4] % 64, 0);
		assert_int_equal(a->posix_memalign(&aligned, 128, size), 0);
		assert_int_equal((uintptr_t)aligned % 128, 0);
		block[5] = aligned;
		for (size_t i = 0; i < ARRAY_SIZE(block); i++)
			a->free(block[i]);
	}
	a->free(NULL);
	/* volatile: no constant that the compiler would warn of. */
	volatile size_t absurd = SIZE_MAX / 2;
	assert_null(a->malloc(absurd));
	assert_null(a->calloc(absurd, 4));
	assert_int_equal(a->posix_memalign(&aligned, 3, 8), EINVAL);
}

static void allocators(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++) {
		void *handle = dlopen(libraries[i].library, RTLD_NOW | RTLD_LOCAL);
		void *all[ARRAY_SIZE(functions)];
		struct allocator a;
		bool whole = true;

		if (!handle) {
			assert_false(libraries[i].needed);
			print_message("%s: %s\n", libraries[i].library, dlerror());
			continue;
		}
		for (size_t f = 0; f < ARRAY_SIZE(functions); f++) {
			const char *why = NULL;

			all[f] = moved(handle, functions[f].name, functions[f].arguments, &why);
			if (all[f])
				continue;
			whole = false;
			print_message("%s: %s: %s\n", libraries[i].library, functions[f].name, why);
			assert_non_null(why);
			all[f] = dlsym(handle, functions[f].name);
		}
		assert_true(whole || !libraries[i].needed);
		_Static_assert(sizeof(a) == sizeof(all), "a function each");
		memcpy(&a, all, sizeof(a));
		try_allocator(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_instruction), cmocka_unit_test(displaced_instructions),
		cmocka_unit_test(written),	     cmocka_unit_test(branches),
		cmocka_unit_test(allocators),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif

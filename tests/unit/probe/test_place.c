// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/base/util.h"
#include "user/probe/place.h"

#include "tests/unit/probe/test_place_code.h"

#define KERNEL_OLD PLACE_KERNEL(5, 15)
#define KERNEL_NEW PLACE_KERNEL(6, 18)

/* Code of real allocators: place, cost and instruction are those read off a disassembly. */
static void test_real_functions(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(golden); i++) {
		const struct golden *g = &golden[i];
		struct place_request request = {
			.code = g->code,
			.size = g->size,
			.vaddr = g->vaddr,
			.args_read = g->args_read,
			.null_skippable = g->null_skippable,
			.kernel = KERNEL_NEW,
		};
		struct place place;

		place_find_x86_64(&request, &place);
		if (place.offset != g->offset || place.cost != g->cost)
			print_error("%s: +%u %s: %s\n", g->label, place.offset, place.instruction,
				    place.reason);
		assert_int_equal(place.offset, g->offset);
		assert_int_equal(place.cost, g->cost);
		assert_string_equal(place.instruction, g->instruction);
		for (uint8_t n = 0; n < 6; n++)
			assert_int_equal(place.arg_at[n], n + 1);
	}
}

struct sample {
	const char *label;
	const char *code;
	size_t size;
	unsigned args_read;
	uint32_t offset;
	enum place_cost cost;
	uint32_t kernel;
	bool null_skippable, may_move;
	uint8_t arg1_at; /* 0: where it was */
};
#define CODE(bytes)  bytes, sizeof(bytes) - 1
#define PUSH_POP_RET "\x53\x5b\xc3" /* push %rbx; pop %rbx; ret */
#define ENDBR64	     "\xf3\x0f\x1e\xfa"

static const struct sample x86_64[] = {
	/* What CET builds begin with. */
	{"endbr64; push", CODE(ENDBR64 "\x41\x54\x41\x5c\xc3"), 1, 4, .cost = PLACE_EMULATED},
	{"endbr64; test; je; push", CODE(ENDBR64 "\x48\x85\xff\x74\x02" PUSH_POP_RET), 1, 9,
	 .cost = PLACE_EMULATED, .null_skippable = true},
	{"endbr64; nop5; push", CODE(ENDBR64 "\x0f\x1f\x44\x00\x00" PUSH_POP_RET), 1, 4,
	 .cost = PLACE_NOP5},
	{"the same on a kernel that steps nops", CODE(ENDBR64 "\x0f\x1f\x44\x00\x00" PUSH_POP_RET),
	 1, 9, .cost = PLACE_EMULATED, .kernel = KERNEL_OLD},
	{"and on one that emulates them only", CODE(ENDBR64 "\x0f\x1f\x44\x00\x00" PUSH_POP_RET), 1,
	 4, .cost = PLACE_EMULATED, .kernel = PLACE_KERNEL(6, 16)},
	{"and on one that does so again", CODE(ENDBR64 "\x0f\x1f\x44\x00\x00" PUSH_POP_RET), 1, 4,
	 .cost = PLACE_EMULATED, .kernel = PLACE_KERNEL(7, 3)},
	{"6-byte nop", CODE(ENDBR64 "\x66\x0f\x1f\x44\x00\x00" PUSH_POP_RET), 1, 4,
	 .cost = PLACE_EMULATED},
	{"nop with a segment prefix: refused",
	 CODE("\x2e\x66\x0f\x1f\x84\x00\x00\x00\x00\x00" PUSH_POP_RET), 1, 10,
	 .cost = PLACE_EMULATED},
	{"pause is no nop", CODE("\xf3\x90" PUSH_POP_RET), 1, 0, .cost = PLACE_STEPPED},
	{"xchg %r8, %rax is no nop", CODE("\x41\x90" PUSH_POP_RET), 1, 0, .cost = PLACE_STEPPED},

	/* Branches back to before the place. */
	/* mov $8, %eax; 1: add $1, %rax; push; pop; cmp %rax, %rdi; ja 1b */
	{"loop into the prologue",
	 CODE("\xb8\x08\x00\x00\x00\x48\x83\xc0\x01\x53\x5b\x48\x39\xc7\x77\xf5\xc3"), 1, 0,
	 .cost = PLACE_STEPPED},
	{"loop onto the place", /* mov %rdi, %rax; 1: push; pop; dec %rax; jne 1b */
	 CODE("\x48\x89\xf8\x53\x5b\x48\xff\xc8\x75\xf9\xc3"), 1, 0, .cost = PLACE_STEPPED},
	{"loop behind the place", /* mov %rdi, %rax; push; 1: pop; dec %rax; jne 1b */
	 CODE("\x48\x89\xf8\x53\x5b\x48\xff\xc8\x75\xfa\xc3"), 1, 3, .cost = PLACE_EMULATED},
	{"jump into the middle of an instruction", CODE("\x48\x89\xf8\x53\xeb\xfb"), 1, 0,
	 .cost = PLACE_STEPPED},
	{"near jump back", CODE("\x48\x89\xf8\x53\xe9\xfa\xff\xff\xff"), 1, 0,
	 .cost = PLACE_STEPPED},
	{"near conditional jump back", CODE("\x48\x89\xf8\x53\x0f\x85\xf9\xff\xff\xff\xc3"), 1, 0,
	 .cost = PLACE_STEPPED},
	{"loop instruction", CODE("\x48\x89\xf8\x53\xe2\xfd\xc3"), 1, 0, .cost = PLACE_STEPPED},
	{"jrcxz", CODE("\x48\x89\xf8\x53\xe3\xfd\xc3"), 1, 0, .cost = PLACE_STEPPED},
	{"call back", CODE("\x48\x89\xf8\x53\xe8\xfa\xff\xff\xff\xc3"), 1, 0,
	 .cost = PLACE_STEPPED},
	{"jump to the entry is a call of its own", CODE("\x48\x89\xf8\x53\x5b\xeb\xf9"), 1, 3,
	 .cost = PLACE_EMULATED},
	{"switch", CODE("\x48\x89\xf8\x53\x3e\xff\xe0"), 1, 0, .cost = PLACE_STEPPED},
	{"jump through a table", CODE("\x48\x89\xf8\x53\xff\x24\xc5\x00\x00\x00\x00"), 1, 0,
	 .cost = PLACE_STEPPED},
	{"tail call through the GOT", CODE("\x48\x89\xf8\x53\x5b\xff\x25\x34\x12\x00\x00"), 1, 3,
	 .cost = PLACE_EMULATED},
	{"not decodable", CODE("\x48\x89\xf8\x53\x5b\xc3\x06\x06\x06"), 1, 0,
	 .cost = PLACE_STEPPED},

	/* Arguments. */
	{"mov %rsi, %rdi", CODE("\x48\x89\xf7" PUSH_POP_RET), 1, 0, .cost = PLACE_STEPPED},
	{"mov $1, %edi", CODE("\xbf\x01\x00\x00\x00" PUSH_POP_RET), 1, 0, .cost = PLACE_STEPPED},
	{"mov $1, %dil", CODE("\x40\xb7\x01" PUSH_POP_RET), 1, 0, .cost = PLACE_STEPPED},
	{"mov $1, %dh", CODE("\xb6\x01" PUSH_POP_RET), 4, 0, .cost = PLACE_STEPPED},
	{"mov $1, %di", CODE("\x66\xbf\x01\x00" PUSH_POP_RET), 1, 0, .cost = PLACE_STEPPED},
	{"mov %edi, %edi", CODE("\x89\xff" PUSH_POP_RET), 1, 0, .cost = PLACE_STEPPED},
	{"cmovne %rax, %rdi", CODE("\x48\x0f\x45\xf8" PUSH_POP_RET), 1, 0, .cost = PLACE_STEPPED},
	{"sete %sil", CODE("\x40\x0f\x94\xc6" PUSH_POP_RET), 2, 0, .cost = PLACE_STEPPED},
	{"xor %r8d, %r8d", CODE("\x45\x31\xc0" PUSH_POP_RET), 0x10, 0, .cost = PLACE_STEPPED},
	{"lea 1(%rax), %r9", CODE("\x4c\x8d\x48\x01" PUSH_POP_RET), 0x20, 0, .cost = PLACE_STEPPED},
	{"xchg %rdi, %rax", CODE("\x48\x97" PUSH_POP_RET), 1, 0, .cost = PLACE_STEPPED},
	{"mul %rsi writes %rdx", CODE("\x48\x89\xf8\x48\xf7\xe6" PUSH_POP_RET), 7, 0,
	 .cost = PLACE_STEPPED},
	{"one-operand imul", CODE("\x48\xf7\xee" PUSH_POP_RET), 7, 0, .cost = PLACE_STEPPED},
	{"imul %rsi, %rax", CODE("\x48\x0f\xaf\xc6" PUSH_POP_RET), 7, 4, .cost = PLACE_EMULATED},
	{"syscall", CODE("\xb8\x0b\x00\x00\x00\x0f\x05" PUSH_POP_RET), 1, 0, .cost = PLACE_STEPPED},
	{"registers that nobody reads", CODE("\x48\x89\xf9\x31\xf6" PUSH_POP_RET), 1, 5,
	 .cost = PLACE_EMULATED},

	/* Stack, return address, frame pointer. */
	{"sub $24, %rsp", CODE("\x48\x83\xec\x18\xe8\x00\x00\x00\x00\x48\x83\xc4\x18\xc3"), 1, 0,
	 .cost = PLACE_STEPPED},
	{"lea -8(%rsp), %rsp", CODE("\x48\x8d\x64\x24\xf8" PUSH_POP_RET), 1, 0,
	 .cost = PLACE_STEPPED},
	{"and $-16, %rsp", CODE("\x48\x83\xe4\xf0" PUSH_POP_RET), 1, 0, .cost = PLACE_STEPPED},
	{"mov %rax, (%rsp)", CODE("\x48\x89\x04\x24" PUSH_POP_RET), 1, 0, .cost = PLACE_STEPPED},
	{"mov %rsp, %rbp", CODE("\x48\x89\xe5" PUSH_POP_RET), 1, 0, .cost = PLACE_STEPPED},
	{"a call before", CODE("\x48\x89\xf8\xff\xd0" PUSH_POP_RET), 1, 0, .cost = PLACE_STEPPED},
	{"a call is a place itself", CODE("\x48\x89\xf8\xe8\x10\x00\x00\x00\xc3"), 1, 3,
	 .cost = PLACE_EMULATED},

	/* Conditional jumps. */
	{"test %rsi: the je is the place", CODE("\x48\x85\xf6\x74\x02" PUSH_POP_RET), 1, 3,
	 .cost = PLACE_EMULATED, .null_skippable = true},
	{"calls with NULL count", CODE("\x48\x85\xff\x74\x02" PUSH_POP_RET), 1, 3,
	 .cost = PLACE_EMULATED},
	{"jne", CODE("\x48\x85\xff\x75\x01\xc3" PUSH_POP_RET), 1, 3, .cost = PLACE_EMULATED,
	 .null_skippable = true},
	{"other flags", CODE("\x48\x85\xff\x48\x83\xfe\x08\x74\x02" PUSH_POP_RET), 1, 7,
	 .cost = PLACE_EMULATED, .null_skippable = true},
	{"half a pointer", CODE("\x85\xff\x74\x02" PUSH_POP_RET), 1, 2, .cost = PLACE_EMULATED,
	 .null_skippable = true},
	{"nothing better behind", /* test; je; sub $24, %rsp; call */
	 CODE("\x48\x85\xff\x74\x0d\x48\x83\xec\x18\xe8\x00\x00\x00\x00\x48\x83\xc4\x18\xc3"), 1, 3,
	 .cost = PLACE_EMULATED, .null_skippable = true},
	{"je onto the place behind", CODE("\x48\x85\xff\x74\x00" PUSH_POP_RET), 1, 3,
	 .cost = PLACE_EMULATED, .null_skippable = true},

	/* What the kernel refuses. */
	{"vmovdqu", CODE("\xc5\xfe\x6f\x07" PUSH_POP_RET), 1, 0, .cost = PLACE_STEPPED},
	{"lock add", CODE("\xf0\x83\x07\x01" PUSH_POP_RET), 1, 4, .cost = PLACE_EMULATED},
	{"refused, then stepped", CODE("\x2e\x48\x89\xf8\x48\x89\xf8\xc3"), 1, 4,
	 .cost = PLACE_STEPPED},

	/* Arguments in other registers: mimalloc's malloc. */
	{"size in %rsi",
	 CODE("\x48\x89\xfe\x64\x48\x8b\x38\x48\x81\xfe\x00\x04\x00\x00\x77\x01\xc3\xc3"), 1, 14,
	 .cost = PLACE_EMULATED, .may_move = true, .arg1_at = 2},
	{"not asked for",
	 CODE("\x48\x89\xfe\x64\x48\x8b\x38\x48\x81\xfe\x00\x04\x00\x00\x77\x01\xc3\xc3"), 1, 0,
	 .cost = PLACE_STEPPED},
	{"half a size is none", CODE("\x89\xfe\x64\x48\x8b\x38" PUSH_POP_RET), 1, 0,
	 .cost = PLACE_STEPPED, .may_move = true},
	{"the copy overwrites another", CODE("\x48\x89\xfe\x64\x48\x8b\x38" PUSH_POP_RET), 3, 0,
	 .cost = PLACE_STEPPED, .may_move = true},
	{"still where it was", CODE("\x48\x89\xfe" PUSH_POP_RET), 1, 3, .cost = PLACE_EMULATED,
	 .may_move = true},
	{"no code", "", 0, 1, 0, .cost = PLACE_STEPPED},
};

#define RET_A64	  "\xc0\x03\x5f\xd6"
#define ADRP_X3	  "\x03\x00\x00\x90"
#define STP_PUSH  "\xfd\x7b\xbe\xa9" /* stp x29, x30, [sp, #-32]! */
#define MOV_X3_X0 "\xe3\x03\x00\xaa"
#define BTI_C	  "\x5f\x24\x03\xd5"

static const struct sample aarch64[] = {
	{"paciasp signs the return address", CODE("\x3f\x23\x03\xd5" ADRP_X3 RET_A64), 1, 0,
	 .cost = PLACE_STEPPED},
	{"stp", CODE(STP_PUSH RET_A64), 1, 0, .cost = PLACE_STEPPED},
	{"bti c; cbz x0", CODE(BTI_C "\x60\x00\x00\xb4" STP_PUSH RET_A64 RET_A64), 1, 4,
	 .cost = PLACE_EMULATED, .null_skippable = true},
	{"bti c; cbz x0; adrp", CODE(BTI_C "\x80\x00\x00\xb4" ADRP_X3 STP_PUSH RET_A64 RET_A64), 1,
	 8, .cost = PLACE_EMULATED, .null_skippable = true},
	{"NULL counts", CODE(BTI_C "\x80\x00\x00\xb4" ADRP_X3 STP_PUSH RET_A64 RET_A64), 1, 4,
	 .cost = PLACE_EMULATED},
	{"mov x2, x1; adrp", CODE("\xe2\x03\x01\xaa" ADRP_X3 STP_PUSH RET_A64), 1, 4,
	 .cost = PLACE_EMULATED},
	{"mov w0, w1", CODE("\xe0\x03\x01\x2a" ADRP_X3 RET_A64), 1, 0, .cost = PLACE_STEPPED},
	{"sub sp, sp, #32", CODE("\xff\x83\x00\xd1" ADRP_X3 RET_A64), 1, 0, .cost = PLACE_STEPPED},
	{"mov x30, x1", CODE("\xfe\x03\x01\xaa" ADRP_X3 RET_A64), 1, 0, .cost = PLACE_STEPPED},
	{"mov x29, sp", CODE("\xfd\x03\x00\x91" ADRP_X3 RET_A64), 1, 0, .cost = PLACE_STEPPED},
	{"literal load is refused and ends the walk", CODE("\x43\x00\x00\x58" ADRP_X3 RET_A64), 1,
	 0, .cost = PLACE_STEPPED},
	{"loop", CODE(MOV_X3_X0 "\x63\x04\x00\x91" ADRP_X3 "\xc3\xff\xff\xb5" RET_A64), 1, 0,
	 .cost = PLACE_STEPPED},
	{"br", CODE(MOV_X3_X0 ADRP_X3 "\x60\x00\x1f\xd6"), 1, 0, .cost = PLACE_STEPPED},
	{"size in x2",
	 CODE("\xe2\x03\x00\xaa\x20\x04\x40\xf9\x5f\x40\x00\xf1\x48\x00\x00\x54" RET_A64 RET_A64),
	 1, 12, .cost = PLACE_EMULATED, .may_move = true, .arg1_at = 3},
	{"argument loaded over",
	 CODE("\xe2\x03\x00\xaa\x20\x04\x40\xf9\x5f\x40\x00\xf1\x48\x00\x00\x54" RET_A64 RET_A64),
	 1, 0, .cost = PLACE_STEPPED},
	{"nop", CODE("\x1f\x20\x03\xd5" STP_PUSH RET_A64), 1, 0, .cost = PLACE_EMULATED},
	{"nop on old kernels", CODE("\x1f\x20\x03\xd5" STP_PUSH RET_A64), 1, 0,
	 .cost = PLACE_STEPPED, .kernel = KERNEL_OLD},
	{"cmp; tbnz", CODE("\x1f\x20\x00\xf1\x40\x00\x18\x37" RET_A64 RET_A64), 1, 4,
	 .cost = PLACE_EMULATED},
	{"half an instruction", CODE("\x1f\x20"), 1, 0, .cost = PLACE_STEPPED},
};

static void run_samples(const struct sample *samples, size_t count,
			void (*find)(const struct place_request *, struct place *))
{
	for (size_t i = 0; i < count; i++) {
		const struct sample *s = &samples[i];
		struct place_request request = {
			.code = (const uint8_t *)s->code,
			.size = s->size,
			.vaddr = 0x401000,
			.args_read = s->args_read,
			.null_skippable = s->null_skippable,
			.args_may_move = s->may_move,
			.kernel = s->kernel ? s->kernel : KERNEL_NEW,
		};
		struct place place;

		find(&request, &place);
		if (place.offset != s->offset || place.cost != s->cost)
			print_error("%s: +%u %s: %s\n", s->label, place.offset, place.instruction,
				    place.reason);
		assert_int_equal(place.offset, s->offset);
		assert_int_equal(place.cost, s->cost);
		assert_non_null(place.reason);
		assert_int_equal(place.arg_at[0], s->arg1_at ? s->arg1_at : 1);
	}
}

static void test_x86_64(void **state)
{
	(void)state;
	run_samples(x86_64, ARRAY_SIZE(x86_64), place_find_x86_64);
}

static void test_aarch64(void **state)
{
	(void)state;
	run_samples(aarch64, ARRAY_SIZE(aarch64), place_find_aarch64);
}

/* A 5-byte nop that straddles two pages is not turned into a call. */
static void test_nop5_across_pages(void **state)
{
	static const uint8_t code[] = "\x0f\x1f\x44\x00\x00" PUSH_POP_RET;
	struct place_request request = {
		.code = code, .size = sizeof(code) - 1, .vaddr = 0x401ffd, .kernel = KERNEL_NEW};
	struct place place;

	(void)state;
	place_find_x86_64(&request, &place);
	assert_int_equal(place.offset, 0);
	assert_int_equal(place.cost, PLACE_EMULATED);
	request.vaddr = 0x401ffb;
	place_find_x86_64(&request, &place);
	assert_int_equal(place.cost, PLACE_NOP5);
}

/*
 * Whatever the bytes are, the place lies in the function; also where the function is cut off
 * anywhere.
 */
static void test_any_bytes(void **state)
{
	uint32_t seed = 1;
	uint8_t code[64];

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct place_request request = {.code = code,
						.size = (size_t)round % sizeof(code),
						.args_read = 7,
						.null_skippable = round & 1,
						.args_may_move = round & 2,
						.kernel = KERNEL_NEW};
		struct place place;

		for (size_t i = 0; i < sizeof(code); i++) {
			seed = seed * 1664525 + 1013904223;
			code[i] = (uint8_t)(seed >> 24);
		}
		place_find_x86_64(&request, &place);
		assert_true(place.offset == 0 || place.offset < request.size);
		place_find_aarch64(&request, &place);
		assert_true(place.offset == 0 || place.offset + 4 <= request.size);
	}
	for (size_t i = 0; i < ARRAY_SIZE(golden); i++) {
		for (size_t size = 0; size < golden[i].size; size++) {
			struct place_request request = {.code = golden[i].code,
							.size = size,
							.vaddr = golden[i].vaddr,
							.args_read = golden[i].args_read,
							.kernel = KERNEL_NEW};
			struct place place;

			place_find_x86_64(&request, &place);
			assert_true(place.offset == 0 || place.offset < size);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real_functions), cmocka_unit_test(test_x86_64),
		cmocka_unit_test(test_aarch64),	       cmocka_unit_test(test_nop5_across_pages),
		cmocka_unit_test(test_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

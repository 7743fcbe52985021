// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What seccomp filters are said to do with a call, beside what the kernel does with it in a child that has the same
 * filter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/freeze/filter_code.h"
#include "tests/unit/rounds.h"
#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/freeze/seccomp_filter.h"

#ifdef __x86_64__
#define MACHINE AUDIT_ARCH_X86_64
#else
#define MACHINE AUDIT_ARCH_AARCH64
#endif

/* What madvise is told of: within 4 GiB, and not the first. */
#define AREA  0x512340000ull
#define PAGE  4096
#define PAGES 64
#define MOST  (16 * PAGE) /* of a call */

#define PROGRAM(...)                 \
	(const struct sock_filter[]) \
	{                            \
		__VA_ARGS__          \
	}

/* As the stub of guards makes it, its addresses anywhere in the area. */
static const struct filter_call some = {
	.number = SYS_madvise,
	.instruction = {0x7f0000001000, 0x7f0000007000},
	.arguments = {{AREA, AREA + (PAGES - 1) * PAGE},
		      {PAGE, MOST},
		      {MADV_DONTNEED, MADV_DONTNEED},
		      {0, UINT64_MAX},
		      {0, UINT64_MAX},
		      {0, UINT64_MAX}},
};

/* ---- the kernel --------------------------------------------------------------------------- */

#define NO_FILTER 2 /* the kernel does not take it */

/*
 * Does a madvise (MADV_DONTNEED) with those arguments pass, in a child? 1, 0; NO_FILTER. Of what the child does else
 * the filter is not asked. Passed it has where the page is empty then: 0 is returned for SECCOMP_RET_ERRNO | 0 too.
 */
static int kernel_allows(const struct sock_filter *code, size_t count, const uint64_t a[6])
{
	_cleanup_free_ struct sock_filter *all = calloc(count + 4, sizeof(*all));
	const struct sock_filter before[] = {LOAD(nr), IF(BPF_JEQ, SYS_madvise, 1, 0), ALLOW,
					     BPF_STMT(BPF_LD | BPF_IMM, 0)};
	const struct rlimit no_core = {0};
	volatile char *page = (volatile char *)a[0];
	int status;
	pid_t pid;

	assert_non_null(all);
	memcpy(all, before, sizeof(before));
	memcpy(all + 4, code, count * sizeof(*code));
	pid = fork();
	if (!pid) {
		setrlimit(RLIMIT_CORE, &no_core);
		/* cmocka's handler would go on with the tests, in the child, where one returns SECCOMP_RET_TRAP. */
		signal(SIGSYS, SIG_DFL);
		*page = 1;
		if (install(all, count + 4))
			_exit(NO_FILTER);
		syscall(SYS_madvise, a[0], a[1], a[2], a[3], a[4], a[5]);
		_exit(*page ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

/* ---- by hand ------------------------------------------------------------------------------ */

static void expect(int line, bool allows, const struct sock_filter *code, size_t count)
{
	if (seccomp_filter_allows(code, count, &some) != allows)
		fail_msg("the filter of line %d", line);
}
#define EXPECT(allows, ...) \
	expect(__LINE__, allows, PROGRAM(__VA_ARGS__), ARRAY_SIZE(PROGRAM(__VA_ARGS__)))

#define LOAD_AT(at) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at)

static void by_hand(void **state)
{
	(void)state;
	EXPECT(true, ALLOW);
	EXPECT(true, RETURN(SECCOMP_RET_LOG));
	EXPECT(true, RETURN(SECCOMP_RET_ALLOW | 77));
	EXPECT(false, REFUSE);
	EXPECT(false, RETURN(SECCOMP_RET_KILL_PROCESS));
	EXPECT(false, RETURN(SECCOMP_RET_TRACE));
	EXPECT(false, RETURN(SECCOMP_RET_USER_NOTIF));
	EXPECT(false, RETURN(SECCOMP_RET_ALLOW | 0x80000000u));
	/* By machine and number. */
	EXPECT(true, LOAD(arch), IF(BPF_JEQ, MACHINE, 1, 0), REFUSE, LOAD(nr),
	       IF(BPF_JEQ, SYS_madvise, 0, 1), ALLOW, REFUSE);
	EXPECT(false, LOAD(arch), IF(BPF_JEQ, MACHINE, 1, 0), REFUSE, LOAD(nr),
	       IF(BPF_JEQ, SYS_madvise, 0, 1), REFUSE, ALLOW);
	EXPECT(false, LOAD(arch), IF(BPF_JEQ, AUDIT_ARCH_I386, 1, 0), REFUSE, ALLOW);
	EXPECT(true, LOAD(nr), IF(BPF_JGE, 0x40000000, 0, 1), REFUSE, ALLOW);
	/* By the advice, all 64 bits of it. */
	EXPECT(true, LOAD_AT(ARGUMENT(2, 1)), IF(BPF_JEQ, 0, 0, 3), LOAD_AT(ARGUMENT(2, 0)),
	       IF(BPF_JEQ, MADV_DONTNEED, 0, 1), ALLOW, REFUSE);
	EXPECT(false, LOAD_AT(ARGUMENT(2, 0)), IF(BPF_JEQ, MADV_FREE, 0, 1), ALLOW, REFUSE);
	EXPECT(false, LOAD_AT(ARGUMENT(2, 0)), IF(BPF_JEQ, MADV_DONTNEED, 0, 1), REFUSE, ALLOW);
	/* By what differs between calls: only where it makes no difference. */
	EXPECT(true, LOAD_AT(ARGUMENT(0, 1)), IF(BPF_JEQ, 5, 1, 0), REFUSE, ALLOW);
	EXPECT(true, LOAD_AT(ARGUMENT(0, 0)), IF(BPF_JGE, (uint32_t)AREA, 1, 0), REFUSE, ALLOW);
	EXPECT(false, LOAD_AT(ARGUMENT(0, 0)), IF(BPF_JEQ, (uint32_t)AREA, 1, 0), REFUSE, ALLOW);
	EXPECT(false, LOAD_AT(ARGUMENT(0, 0)), IF(BPF_JEQ, (uint32_t)AREA, 0, 1), REFUSE, ALLOW);
	EXPECT(true, LOAD_AT(ARGUMENT(0, 0)), IF(BPF_JEQ, (uint32_t)AREA, 0, 1), ALLOW, ALLOW);
	EXPECT(true, LOAD_AT(ARGUMENT(1, 0)), IF(BPF_JGT, MOST, 0, 1), REFUSE, ALLOW);
	EXPECT(false, LOAD_AT(ARGUMENT(1, 0)), IF(BPF_JGT, MOST - 1, 0, 1), REFUSE, ALLOW);
	EXPECT(false, LOAD_AT(ARGUMENT(3, 0)), IF(BPF_JEQ, 0, 0, 1), ALLOW, REFUSE);
	EXPECT(false, LOAD_AT(ARGUMENT(5, 0)), IF(BPF_JSET, 1, 0, 1), ALLOW, REFUSE);
	EXPECT(true, LOAD_AT(ARGUMENT(5, 0)), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 7),
	       IF(BPF_JGT, 7, 0, 1), REFUSE, ALLOW);
	/* By the caller's address: anywhere in the code that may make it. */
	EXPECT(true, LOAD_AT(offsetof(struct seccomp_data, instruction_pointer) + 4),
	       IF(BPF_JEQ, 0x7f00, 0, 1), ALLOW, REFUSE);
	EXPECT(false, LOAD(instruction_pointer), IF(BPF_JGT, 0x4000, 0, 1), ALLOW, REFUSE);
	EXPECT(true, LOAD(instruction_pointer), IF(BPF_JGE, 0x8000, 0, 1), REFUSE, ALLOW);
	/* Its own memory, the length of what it looks at, and what it computes. */
	EXPECT(true, LOAD(nr), BPF_STMT(BPF_ST, 3), BPF_STMT(BPF_LD | BPF_IMM, 0),
	       BPF_STMT(BPF_LD | BPF_MEM, 3), IF(BPF_JEQ, SYS_madvise, 0, 1), ALLOW, REFUSE);
	EXPECT(true, BPF_STMT(BPF_LDX | BPF_W | BPF_LEN, 0), BPF_STMT(BPF_MISC | BPF_TXA, 0),
	       IF(BPF_JEQ, 64, 0, 1), ALLOW, REFUSE);
	EXPECT(true, BPF_STMT(BPF_LD | BPF_IMM, SECCOMP_RET_ALLOW), BPF_STMT(BPF_RET | BPF_A, 0));
	EXPECT(false, LOAD_AT(ARGUMENT(4, 0)), BPF_STMT(BPF_RET | BPF_A, 0));
	/* Two ways come together with different ones. */
	EXPECT(false, LOAD_AT(ARGUMENT(4, 0)), IF(BPF_JEQ, 0, 0, 2), BPF_STMT(BPF_LDX | BPF_IMM, 1),
	       BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0), BPF_STMT(BPF_LDX | BPF_IMM, 2),
	       BPF_STMT(BPF_MISC | BPF_TXA, 0), IF(BPF_JEQ, 1, 0, 1), ALLOW, REFUSE);
	EXPECT(false, LOAD_AT(ARGUMENT(4, 0)), BPF_STMT(BPF_ST, 0), IF(BPF_JEQ, 1, 1, 0),
	       BPF_STMT(BPF_LD | BPF_IMM, 1), BPF_STMT(BPF_ST, 0), BPF_STMT(BPF_LD | BPF_IMM, 0),
	       BPF_STMT(BPF_LD | BPF_MEM, 0), IF(BPF_JEQ, 1, 0, 1), ALLOW, REFUSE);
	/* A division by 0 kills. */
	EXPECT(false, LOAD_AT(ARGUMENT(4, 0)), BPF_STMT(BPF_MISC | BPF_TAX, 0),
	       BPF_STMT(BPF_LD | BPF_IMM, 1), BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0), ALLOW);
}

/* What the kernel never gives: nobody reads beyond it, and it is not allowed. */
static void garbage(void **state)
{
	(void)state;
	assert_false(seccomp_filter_allows(PROGRAM(ALLOW), 0, &some));
	EXPECT(false, LOAD(nr));
	EXPECT(false, IF(BPF_JEQ, 0, 200, 200), ALLOW);
	EXPECT(false, IF(BPF_JA, UINT32_MAX, 0, 0), ALLOW);
	EXPECT(false, LOAD_AT(64), ALLOW);
	EXPECT(false, LOAD_AT(2), ALLOW);
	EXPECT(false, LOAD_AT(UINT32_MAX - 3), ALLOW);
	EXPECT(false, BPF_STMT(BPF_ST, 16), ALLOW);
	EXPECT(false, BPF_STMT(BPF_LDX | BPF_MEM, UINT32_MAX), ALLOW);
	EXPECT(false, BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0), ALLOW);
	EXPECT(false, BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0), ALLOW);
	EXPECT(false, BPF_STMT(BPF_ALU | 0x90 | BPF_K, 3), ALLOW);
	EXPECT(false, BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0), ALLOW);
	EXPECT(false, BPF_STMT(BPF_JMP | 0x50, 0), ALLOW);
}

/* The longest there is, with more ways through it than there are atoms. */
static void many_ways(void **state)
{
	static struct sock_filter code[BPF_MAXINSNS + 1];
	uint64_t begun = monotonic_ns();

	(void)state;
	for (size_t i = 0; i + 1 < BPF_MAXINSNS; i += 2) {
		code[i] = (struct sock_filter)LOAD_AT(ARGUMENT(3 + i % 3, 0));
		code[i + 1] = (struct sock_filter)IF(BPF_JEQ, (uint32_t)i, (uint8_t)(i % 200), 0);
	}
	for (size_t i = BPF_MAXINSNS - 300; i < BPF_MAXINSNS; i++)
		code[i] = (struct sock_filter)ALLOW;
	assert_true(seccomp_filter_allows(code, BPF_MAXINSNS, &some));
	print_message("%d instructions in %.0f us\n", BPF_MAXINSNS,
		      (double)(monotonic_ns() - begun) / 1e3);
	code[BPF_MAXINSNS - 300] = (struct sock_filter)REFUSE;
	assert_false(seccomp_filter_allows(code, BPF_MAXINSNS, &some));
	assert_false(seccomp_filter_allows(code, BPF_MAXINSNS + 1, &some));
}

/* ---- at random ---------------------------------------------------------------------------- */

static unsigned seed;

static uint32_t below(uint32_t n)
{
	return (uint32_t)rand_r(&seed) % n;
}

/* What is likely to make a difference. */
static uint32_t some_number(void)
{
	static const uint32_t numbers[] = {0,
					   1,
					   2,
					   4,
					   5,
					   28,
					   31,
					   32,
					   64,
					   4096,
					   0x12340000,
					   0x7fffffff,
					   0x80000000,
					   0xffffffff,
					   MACHINE,
					   SYS_madvise,
					   SECCOMP_RET_ALLOW};

	return below(4) ? numbers[below(ARRAY_SIZE(numbers))] : (uint32_t)rand_r(&seed);
}

/* Loads of the caller's address only with `anywhere`: it is not known here where that is. */
static struct sock_filter some_load(bool anywhere)
{
	uint32_t word = below(16);

	if (!anywhere && (word == 2 || word == 3))
		word = 8;
	return (struct sock_filter)LOAD_AT(word * 4);
}

static struct sock_filter some_instruction(size_t left, bool anywhere)
{
	static const uint16_t operations[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_AND,
					      BPF_OR,  BPF_XOR, BPF_LSH, BPF_RSH, BPF_NEG};
	static const uint16_t jumps[] = {BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET};
	static const uint16_t moves[] = {BPF_MISC | BPF_TAX, BPF_MISC | BPF_TXA,
					 BPF_LDX | BPF_W | BPF_LEN};
	static const uint16_t memory[] = {BPF_ST, BPF_STX, BPF_LD | BPF_MEM, BPF_LDX | BPF_MEM};
	uint16_t source = below(2) ? BPF_X : BPF_K;
	uint8_t far = (uint8_t)(left < 12 ? left : 12);

	uint16_t operation = operations[below(10)];

	/* By 32 bits and more: machines differ. */
	if (operation == BPF_LSH || operation == BPF_RSH)
		source = BPF_K;
	switch (below(8)) {
	case 0:
		return (struct sock_filter)BPF_STMT(below(2) ? BPF_LD | BPF_IMM : BPF_LDX | BPF_IMM,
						    some_number());
	case 1:
		return (struct sock_filter)BPF_STMT(moves[below(3)], 0);
	case 2:
		return (struct sock_filter)BPF_STMT(memory[below(4)], below(2));
	case 3:
		return (struct sock_filter)BPF_STMT(BPF_ALU | operation | source,
						    below(3) ? below(32) : some_number());
	case 4:
	case 5:
		return (struct sock_filter)BPF_JUMP(BPF_JMP | jumps[below(4)] | source,
						    some_number(), (uint8_t)below(far),
						    (uint8_t)below(far));
	default:
		return some_load(anywhere);
	}
}

#define LENGTH 24

static void some_program(struct sock_filter code[LENGTH], bool anywhere)
{
	for (size_t i = 0; i < LENGTH - 6; i++)
		code[i] = some_instruction(LENGTH - 1 - i, anywhere);
	for (size_t i = LENGTH - 6; i < LENGTH; i++)
		code[i] = below(3)   ? (struct sock_filter)ALLOW
			  : below(4) ? (struct sock_filter)REFUSE
				     : (struct sock_filter)BPF_STMT(BPF_RET | BPF_A, 0);
}

static uint64_t one_of(struct filter_span span, uint64_t step)
{
	uint64_t random =
		(uint64_t)rand_r(&seed) << 33 ^ (uint64_t)rand_r(&seed) << 10 ^ below(1024);

	switch (below(4)) {
	case 0:
		return span.from;
	case 1:
		return span.to;
	default:
		return span.from + (span.to - span.from == UINT64_MAX
					    ? random
					    : random % (span.to - span.from + 1)) /
					   step * step;
	}
}

static void some_arguments(uint64_t arguments[6])
{
	for (size_t i = 0; i < 6; i++)
		arguments[i] = one_of(some.arguments[i], i < 2 ? PAGE : 1);
	/* Within what is mapped. */
	if (arguments[0] + arguments[1] > AREA + PAGES * PAGE)
		arguments[0] -= arguments[1];
}

/* All of the call is known: the answer is the kernel's. */
static void known_calls(void **state)
{
	int taken = 0, passed = 0;

	(void)state;
	for (int i = 0; i < rounds(600); i++) {
		struct sock_filter code[LENGTH];
		struct filter_call call = some;
		uint64_t arguments[6];
		int kernel;

		some_program(code, false);
		some_arguments(arguments);
		for (size_t j = 0; j < 6; j++)
			call.arguments[j] = (struct filter_span){arguments[j], arguments[j]};
		kernel = kernel_allows(code, LENGTH, arguments);
		if (kernel == NO_FILTER)
			continue;
		taken++;
		passed += kernel;
		if (seccomp_filter_allows(code, LENGTH, &call) != kernel)
			fail_msg("filter %d: the kernel says %d", i, kernel);
	}
	print_message("%d filters, %d let it pass\n", taken, passed);
	assert_true(taken > rounds(600) / 4 && passed > taken / 10 && passed < taken);
}

/* Of what is said to let all such calls pass none is stopped. */
static void unknown_calls(void **state)
{
	int said = 0, open = 0;

	(void)state;
	for (int i = 0; i < rounds(600); i++) {
		struct sock_filter code[LENGTH];
		struct filter_call call = some;
		bool allows, passes = true;

		some_program(code, true);
		call.instruction = (struct filter_span){0, UINT64_MAX};
		allows = seccomp_filter_allows(code, LENGTH, &call);
		for (int j = 0; j < (allows ? 6 : 2); j++) {
			uint64_t arguments[6];
			int kernel;

			some_arguments(arguments);
			kernel = kernel_allows(code, LENGTH, arguments);
			if (kernel == NO_FILTER)
				passes = allows = false;
			if (kernel == NO_FILTER)
				break;
			passes &= kernel;
			if (allows && !kernel)
				fail_msg("filter %d stops a call", i);
		}
		said += allows;
		open += passes && !allows;
	}
	print_message("%d filters let all pass, %d more may\n", said, open);
	assert_true(said > rounds(600) / 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand),	 cmocka_unit_test(garbage),
		cmocka_unit_test(many_ways),	 cmocka_unit_test(known_calls),
		cmocka_unit_test(unknown_calls),
	};

	seed = (unsigned)getpid();
	if (getenv("FILTER_SEED"))
		seed = (unsigned)strtoul(getenv("FILTER_SEED"), NULL, 10);
	print_message("FILTER_SEED=%u\n", seed);
	if (mmap((void *)AREA, PAGES * PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != (void *)AREA) {
		perror("the area");
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

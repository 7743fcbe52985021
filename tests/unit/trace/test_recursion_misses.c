// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A program on a tracepoint that meets itself is passed over, and that is read. Our own programs
 * (fork, exec, exit, mmap) cannot be made to: nothing in them forks, and where the kernel does not
 * preempt them no other task can come in between.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/trace/recursion_misses.h"

#define FAULTS 100

/* What is at address 8, which nothing is: a page fault in the kernel. */
static const struct bpf_insn read_nowhere[] = {
	{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_10},
	{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_1, .imm = -8},
	{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = 8},
	{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3, .imm = 8},
	{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_probe_read_user},
	{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
	{.code = BPF_JMP | BPF_EXIT},
};

static void test_program_that_meets_itself(void **state)
{
	_cleanup_close_ int program = -1, link = -1;

	(void)state;
	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
	program = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "misses_test", "GPL", read_nowhere,
				ARRAY_SIZE(read_nowhere), NULL);
	assert_true(program >= 0);
	assert_int_equal(recursion_misses_of_program(program), 0);
	/* It is about faults in the kernel, and makes one itself. */
	link = bpf_raw_tracepoint_open("page_fault_kernel", program);
	if (link < 0) {
		print_message("no tracepoint page_fault_kernel\n");
		skip();
	}
	for (int i = 0; i < FAULTS; i++) {
		assert_int_equal(syscall(SYS_pipe2, 8, 0), -1);
		assert_int_equal(errno, EFAULT);
	}
	/* Other processes have faults, too. */
	assert_true(recursion_misses_of_program(program) >= FAULTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_program_that_meets_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

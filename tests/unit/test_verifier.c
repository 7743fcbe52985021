// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How many instructions the kernel's verifier looks at in each program: it gives up at a million, older kernels earlier in practice. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/bpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "bpf/config.h"
#include "bpf/thread.h"
#include "bpf/unwind_abi.h"
#include "memleakbpf.skel.h"

/* A quarter of the kernel's limit. */
#define MOST 250000

static void test_verified_instructions(void **state)
{
	struct memleakbpf *skel;
	struct bpf_program *program;
	size_t programs = 0;

	(void)state;
	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
	skel = memleakbpf__open_and_load();
	assert_non_null(skel);
	bpf_object__for_each_program(program, skel->obj)
	{
		struct bpf_prog_info info = {0};
		__u32 size = sizeof(info);

		if (bpf_program__fd(program) < 0)
			continue;
		assert_int_equal(bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size), 0);
		/* Kernels before 5.16 do not say. */
		print_message("%s: %u instructions verified\n", bpf_program__name(program),
			      info.verified_insns);
		assert_true(info.verified_insns < MOST);
		programs++;
	}
	assert_true(programs >= 8);
	memleakbpf__destroy(skel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verified_instructions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How many instructions the kernel's verifier looks at in each program: it gives up at a million,
 * older kernels earlier in practice.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "survey.skel.h"
#include "user/base/util.h"
#include "user/probe/plan.h"
#include "user/trace/programs.h"

/* A quarter of the kernel's limit. */
#define MOST 250000

static struct attach_plan best;

/* Kernels before 5.16 say it in the log only. */
static unsigned verified(struct bpf_program *program, const char *log)
{
	struct bpf_prog_info info = {0};
	__u32 size = sizeof(info);
	const char *at = strstr(log, "processed ");
	unsigned count = 0;

	assert_int_equal(bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size), 0);
	if (info.verified_insns)
		return info.verified_insns;
	assert_non_null(at);
	assert_int_equal(sscanf(at, "processed %u", &count), 1);
	return count;
}

/*
 * Has the kernel given the program a stack per processor, which threads that are preempted or sleep
 * in a uprobe would share (bpf/own_stack.h)? It shows in the machine code: that the address of this
 * processor's data is added to r9 (arch/x86/net/bpf_jit_comp.c, emit_priv_frame_ptr()).
 */
static bool shares_stack(const struct bpf_program *program)
{
#ifdef __x86_64__
	static const uint8_t add_r9_gs[] = {0x65, 0x4c, 0x03, 0x0c, 0x25};
	static uint8_t code[1 << 18];
	struct bpf_prog_info info = {.jited_prog_insns = (uintptr_t)code,
				     .jited_prog_len = sizeof(code)};
	__u32 size = sizeof(info);

	assert_int_equal(bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size), 0);
	assert_in_range(info.jited_prog_len, 1, sizeof(code));
	return memmem(code, info.jited_prog_len, add_r9_gs, sizeof(add_r9_gs));
#else
	(void)program;
	return false;
#endif
}

enum kind { USUAL, ALL_OPTIONS, OLD };

/* As with every option that gives the programs more to do. */
static void all_options(struct config *config)
{
	config->min_size = 16;
	config->older_ns = 1000000000;
	config->sample_bytes = 4096;
	config->mmap = true;
	config->check_frees = 1000;
	config->note_frees = true;
	config->own_exec = true;
}

/* Loads what trace.c would for that kind of kernel. */
static void load(enum kind kind)
{
	bool old = kind == OLD;
	static char logs[40][1 << 16];
	struct attach_programs programs_used;
	struct memleakbpf *skel = skeleton_open(kind == USUAL && best.hold_new);
	struct bpf_program *program;
	struct trace_options options = {.old = old,
					.attach = old ? ATTACH_SINGLE : best.best,
					.children = kind == USUAL && best.hold_new ? CHILDREN_EXACT
										   : CHILDREN_LATE,
					.find_vma = !old && best.find_vma,
					.task_storage = !old && best.task_storage,
					.check_frees = kind == ALL_OPTIONS && best.hold ? 1000 : 0,
					.gate = !old,
					.hold_at_end = !old && best.hold};
	size_t programs = 0, too_many = 0, sharing = 0, i = 0;

	assert_non_null(skel);
	/* As by default: what is constant decides what the verifier has to look at. */
	skel->rodata->config.max_size = UINT64_MAX;
	skel->rodata->config.max_slots = 65536;
	skel->rodata->config.page_size = 4096;
	skel->rodata->config.max_frames = ABI_MAX_FRAMES;
	skel->rodata->config.unwind_flags = old ? UNWIND_FP_ONLY : 0;
	if (kind == ALL_OPTIONS)
		all_options(&skel->rodata->config);
	programs_choose(skel, &options, &programs_used);
	bpf_object__for_each_program(program, skel->obj)
	{
		/* 4: the statistics only */
		bpf_program__set_log_level(program, 4);
		assert_true(i < ARRAY_SIZE(logs));
		bpf_program__set_log_buf(program, logs[i], sizeof(logs[i]));
		i++;
	}
	assert_int_equal(memleakbpf__load(skel), 0);
	i = 0;
	bpf_object__for_each_program(program, skel->obj)
	{
		const char *log = logs[i++];
		unsigned count;

		if (bpf_program__fd(program) < 0)
			continue;
		count = verified(program, log);
		print_message("%s%s: %u instructions verified\n", bpf_program__name(program),
			      kind == ALL_OPTIONS ? ", all options" : "", count);
		too_many += count >= MOST;
		/* Those for old kernels never run on one that has such stacks. */
		if (!old && bpf_program__type(program) == BPF_PROG_TYPE_KPROBE &&
		    shares_stack(program)) {
			print_error("%s: has a stack per processor\n", bpf_program__name(program));
			sharing++;
		}
		programs++;
	}
	assert_true(programs >= 8);
	assert_int_equal(too_many, 0);
	assert_int_equal(sharing, 0);
	memleakbpf__destroy(skel);
}

static void look(void)
{
	struct features *features = features_new();

	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
	assert_non_null(features);
	attach_plan(features, ATTACH_AUTO, &best);
	features_free(features);
}

static void test_as_on_this_kernel(void **state)
{
	(void)state;
	look();
	load(best.old ? OLD : USUAL);
}

/* What names a function of the kernel has a section for it. */
static bool names_kernel_functions(bool hold)
{
	struct memleakbpf *skel = skeleton_open(hold);
	bool names;

	assert_non_null(skel);
	names = btf__find_by_name_kind(bpf_object__btf(skel->obj), ".ksyms", BTF_KIND_DATASEC) > 0;
	memleakbpf__destroy(skel);
	return names;
}

static void test_names_of_functions(void **state)
{
	(void)state;
	assert_true(names_kernel_functions(true));
	assert_false(names_kernel_functions(false));
}

static void test_with_all_options(void **state)
{
	(void)state;
	look();
	if (!best.old)
		load(ALL_OPTIONS);
}

static void test_survey(void **state)
{
	static char logs[8][1 << 16];
	struct survey *skel;
	struct bpf_program *program;
	size_t i = 0;

	(void)state;
	look();
	skel = survey__open();
	assert_non_null(skel);
	skel->rodata->possible_cpus = (uint32_t)libbpf_num_possible_cpus();
	bpf_object__for_each_program(program, skel->obj)
	{
		assert_true(i < ARRAY_SIZE(logs));
		bpf_program__set_log_level(program, 4);
		bpf_program__set_log_buf(program, logs[i], sizeof(logs[i]));
		i++;
	}
	/* Elsewhere /proc is read instead. */
	if (survey__load(skel)) {
		print_message("survey: not on this kernel\n");
		survey__destroy(skel);
		return;
	}
	i = 0;
	bpf_object__for_each_program(program, skel->obj)
	{
		unsigned count = verified(program, logs[i++]);

		print_message("%s: %u instructions verified\n", bpf_program__name(program), count);
		assert_true(count < MOST);
	}
	survey__destroy(skel);
}

/* They load everywhere. */
static void test_as_before_5_15(void **state)
{
	(void)state;
	look();
	load(OLD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_on_this_kernel),  cmocka_unit_test(test_survey),
		cmocka_unit_test(test_names_of_functions), cmocka_unit_test(test_with_all_options),
		cmocka_unit_test(test_as_before_5_15),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How many instructions the kernel's verifier looks at in each program: it gives up at a million,
 * older kernels earlier in practice. How much stack each takes where kernels count more of it than
 * this one may.
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

#include "bpf/kmem/kmem_abi.h"
#include "kmem.skel.h"
#include "survey.skel.h"
#include "tests/unit/trace/best_plan.h"
#include "tests/unit/trace/stack_chain.h"
#include "user/base/util.h"
#include "user/model/scope_sums.h"
#include "user/target/scope_spec.h"
#include "user/trace/programs.h"

/* Not a third of the kernel's limit: what is asked for with all options at once. */
#define MOST 300000

/*
 * What was counted on Linux 6.18 and a quarter more, so that growth is noticed: it is what a start takes.
 * Of those that are loaded later, too.
 */
static const struct limit {
	const char *name;
	unsigned most;
	bool at_start; /* of `memleakbpf -- COMMAND` */
} limits[] = {
	{"alloc_session", 64400, true},	  {"alloc_return", 4400, true},
	{"free_enter", 5100, true},	  {"unmap_enter", 2700, true},
	{"on_unwind", 560, true},	  {"on_loaded", 4600, true},
	{"hold_on_fork", 7400, true},	  {"hold_on_exec", 6400, true},
	{"on_exit", 1000, true},	  {"on_mapping", 2000, true},
	{"live_clock_read", 60, true},	  {"live_ages", 160, true},
	{"live_sweep", 100, true},	  {"on_victim", 60, true},
	{"on_signal", 200, true},	  {"alloc_enter", 66900, false},
	{"gate_alloc", 45700, false},	  {"gate_free", 1010, false},
	{"gate_kept", 320, false},	  {"on_leave", 4200, false},
	{"managed_enter", 154300, false}, {"managed_session", 143700, false},
	{"managed_gate", 141100, false},
};
/* Of all of a start's. */
#define MOST_AT_START 85000

static const struct limit *limit_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		if (!strcmp(limits[i].name, name))
			return &limits[i];
	}
	return NULL;
}

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

enum kind { USUAL, SINGLE, ALL_OPTIONS, OLD, SCOPES, SCOPES_AND_ALL, FIGURES, AT_ONCE, TYPED };

/* Of user/scopes/scopes.c; that none matches them is known by the maps' names. */
static const struct scope_spec scope = {
	.text = "f#+0(+8(arg2)):str",
	.function = "f",
	.tag = {.kind = SCOPE_TAG_STRING, .arg = 2, .steps = 2, .step = {8, 0}, .size = 8},
};

/* Has the program anything to do with scopes? */
static bool knows_scopes(const struct bpf_program *program)
{
	__u32 ids[64], size = sizeof(struct bpf_prog_info);
	struct bpf_prog_info info = {.nr_map_ids = ARRAY_SIZE(ids), .map_ids = (uintptr_t)ids};
	bool found = false;

	assert_int_equal(bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size), 0);
	assert_in_range(info.nr_map_ids, 0, ARRAY_SIZE(ids));
	for (__u32 i = 0; i < info.nr_map_ids; i++) {
		struct bpf_map_info map = {0};
		__u32 map_size = sizeof(map);
		int fd = bpf_map_get_fd_by_id(ids[i]);

		assert_true(fd >= 0);
		assert_int_equal(bpf_obj_get_info_by_fd(fd, &map, &map_size), 0);
		found |= !strncmp(map.name, "scope_", 6) || !strcmp(map.name, "slot_scopes");
		close(fd);
	}
	return found;
}

/* As with every option that gives the programs more to do. */
static void all_options(struct config *config)
{
	config->min_size = 16;
	config->older_ns = 1000000000;
	config->sample_bytes = 4096;
	config->mmap = true;
	config->search_unmapped = true;
	config->check_frees = 1000;
	config->note_frees = true;
	config->own_exec = true;
}

/* As by default: what is constant decides what the verifier has to look at. */
static void configure(struct memleakbpf *skel, const struct trace_options *options, bool all)
{
	struct config *config = &skel->rodata->config;

	config->max_size = UINT64_MAX;
	config->max_slots = 65536;
	config->page_size = 4096;
	config->max_frames = ABI_MAX_FRAMES;
	config->unwind_flags = options->old ? UNWIND_FP_ONLY : 0;
	config->lifetimes = options->figures.lifetimes;
	config->temporary = options->figures.temporary;
	config->peak = options->figures.peak;
	if (all)
		all_options(config);
}

/* What is loaded when it is first needed, at once. */
static void add_later(const struct memleakbpf *skel, const struct trace_options *options,
		      const struct attach_programs *used)
{
	struct programs_managed managed[PROGRAMS_MANAGED];
	struct bpf_map *map;

	bpf_object__for_each_map(map, skel->obj)
	{
		if (options->managed_later && programs_is_runtime_map(skel, map))
			bpf_map__set_autocreate(map, true);
	}
	bpf_program__set_autoload(used->alloc_enter, true);
	programs_managed(skel, options, used, managed);
	for (size_t i = 0; options->managed_later && i < PROGRAMS_MANAGED; i++)
		bpf_program__set_autoload(managed[i].program,
					  bpf_program__autoload(managed[i].usual));
}

/* A program without a limit is one that this table lacks. Other kernels count otherwise. */
static size_t too_large(const struct bpf_program *program, unsigned count, size_t *at_start)
{
	const struct limit *limit = limit_of(bpf_program__name(program));

	if (!limit) {
		print_error("%s: no limit\n", bpf_program__name(program));
		return 1;
	}
	*at_start += limit->at_start ? count : 0;
	if (count <= limit->most)
		return 0;
	print_error("%s: %u instructions verified, the limit is %u\n", bpf_program__name(program),
		    count, limit->most);
	return 1;
}

static char logs[128][1 << 16];

static void ask_for_logs(const struct memleakbpf *skel)
{
	struct bpf_program *program;
	size_t i = 0;

	bpf_object__for_each_program(program, skel->obj)
	{
		/* 4: the statistics only */
		bpf_program__set_log_level(program, 4);
		assert_true(i < ARRAY_SIZE(logs));
		bpf_program__set_log_buf(program, logs[i], sizeof(logs[i]));
		i++;
	}
}

/* Loads what trace.c would for that kind of kernel. */
static void load(enum kind kind)
{
	bool old = kind == OLD, scopes = kind == SCOPES || kind == SCOPES_AND_ALL;
	bool all = kind == ALL_OPTIONS || kind == SCOPES_AND_ALL || kind == TYPED;
	const struct figures_kept figures = {.lifetimes = kind == FIGURES,
					     .temporary = kind == FIGURES,
					     .peak = kind == FIGURES};
	struct attach_programs programs_used;
	struct memleakbpf *skel = skeleton_open(kind == USUAL && best.hold_new);
	struct bpf_program *program;
	/* AT_ONCE: as on a kernel that has neither. */
	bool new = !old &&kind != AT_ONCE;
	struct trace_options options = {.old = old,
					.attach = old || kind == SINGLE ? ATTACH_SINGLE : best.best,
					.children = kind == USUAL && best.hold_new ? CHILDREN_EXACT
										   : CHILDREN_LATE,
					.find_vma = !old && best.find_vma,
					.task_storage = !old && best.task_storage,
					.managed_later = new &&best.task_storage &&best.tail_calls,
					.loops = new &&best.loops,
					.check_frees = all &&best.hold ? 1000 : 0,
					.scopes = &scope,
					.scope_count = scopes,
					.scope_only = kind == SCOPES_AND_ALL,
					.figures = figures,
					.gate = !old,
					.guard = {.period = all},
					.hold_at_end = !old &&best.hold,
					.wait_loaded = !old &&best.hold};
	size_t programs = 0, too_many = 0, too_deep = 0, sharing = 0, scoped = 0, i = 0;
	size_t large = 0, at_start = 0;

	assert_non_null(skel);
	configure(skel, &options, all);
	if (kind == TYPED) {
		skel->rodata->config.typed_reads = true;
		skel->rodata->possible_cpus = 0;
	}
	programs_choose(skel, &options, &programs_used);
	add_later(skel, &options, &programs_used);
	ask_for_logs(skel);
	assert_int_equal(memleakbpf__load(skel), 0);
	i = 0;
	bpf_object__for_each_program(program, skel->obj)
	{
		const char *log = logs[i++];
		unsigned count;

		if (bpf_program__fd(program) < 0)
			continue;
		count = verified(program, log);
		print_message("%s%s: %u instructions verified, %u bytes of stack before 6.8\n",
			      bpf_program__name(program), all ? ", all options" : "", count,
			      stack_chain_of(program));
		scoped += knows_scopes(program);
		too_many += count >= MOST;
		if (kind == USUAL && best.hold_new)
			large += too_large(program, count, &at_start);
		too_deep += stack_chain_of(program) > STACK_CHAIN_MAX;
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
	assert_int_equal(large, 0);
	assert_in_range(at_start, 0, MOST_AT_START);
	assert_int_equal(too_deep, 0);
	assert_int_equal(sharing, 0);
	/* Of what nobody has asked for there is not an instruction. */
	if (scopes)
		assert_true(scoped >= 8);
	else
		assert_int_equal(scoped, 0);
	memleakbpf__destroy(skel);
}

static void test_as_on_this_kernel(void **state)
{
	(void)state;
	best_plan(&best);
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

/* Where nothing can come later, and no function can be called many times. */
static void test_all_at_once(void **state)
{
	(void)state;
	best_plan(&best);
	if (!best.old)
		load(AT_ONCE);
}

static void test_with_all_options(void **state)
{
	(void)state;
	best_plan(&best);
	if (!best.old)
		load(ALL_OPTIONS);
}

/* Where no program may copy the kernel's memory. */
static void test_with_typed_reads(void **state)
{
	(void)state;
	best_plan(&best);
	if (!best.old)
		load(TYPED);
}

/* What stands in for sessions on kernels that have none. */
static void test_without_sessions(void **state)
{
	(void)state;
	best_plan(&best);
	if (!best.old)
		load(SINGLE);
}

static void test_with_figures(void **state)
{
	(void)state;
	best_plan(&best);
	if (!best.old)
		load(FIGURES);
}

static void test_with_scopes(void **state)
{
	(void)state;
	best_plan(&best);
	if (best.old || !best.task_storage)
		return;
	load(SCOPES);
	load(SCOPES_AND_ALL);
}

static void test_survey(void **state)
{
	struct survey *skel;
	struct bpf_program *program;
	size_t i = 0;

	(void)state;
	best_plan(&best);
	skel = survey__open();
	assert_non_null(skel);
	skel->rodata->possible_cpus = (uint32_t)libbpf_num_possible_cpus();
	bpf_object__for_each_program(program, skel->obj)
	{
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
		assert_in_range(stack_chain_of(program), 0, STACK_CHAIN_MAX);
	}
	survey__destroy(skel);
}

/* Those of the kernel's own allocations, as on this kernel. */
static void test_kernel_memory(void **state)
{
	struct kmem_bpf *skel = kmem_bpf__open();
	struct bpf_program *program;
	size_t i = 0;

	(void)state;
	assert_non_null(skel);
	skel->rodata->config.places =
		(struct kmem_places){.kmalloc_bytes = 3, .cache = 2, .percpu_bytes = 3};
	skel->rodata->config.targets = true;
	skel->rodata->config.cpus = 2;
	skel->rodata->config.page_bytes = 4096;
	bpf_object__for_each_program(program, skel->obj)
	{
		bpf_program__set_autoload(program, true);
		bpf_program__set_log_level(program, 4);
		bpf_program__set_log_buf(program, logs[i], sizeof(logs[i]));
		i++;
	}
	/* Elsewhere the kernel's memory is surveyed without probes. */
	if (kmem_bpf__load(skel)) {
		print_message("kernel memory: not on this kernel\n");
		kmem_bpf__destroy(skel);
		return;
	}
	i = 0;
	bpf_object__for_each_program(program, skel->obj)
	{
		unsigned count = verified(program, logs[i++]);

		print_message("%s: %u instructions verified\n", bpf_program__name(program), count);
		assert_true(count < 3000);
		assert_in_range(stack_chain_of(program), 0, STACK_CHAIN_MAX);
	}
	kmem_bpf__destroy(skel);
}

/* They load everywhere. */
static void test_as_before_5_15(void **state)
{
	(void)state;
	best_plan(&best);
	load(OLD);
}

/* 64 bytes in the first function, 32 in the second, 96 in the third, which both others call. */
static void test_stack_of_calls(void **state)
{
#define CALL(offset)                                                                    \
	{                                                                               \
		.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL, .imm = (offset) \
	}
#define EXIT                               \
	{                                  \
		.code = BPF_JMP | BPF_EXIT \
	}
	const struct bpf_insn code[] = {
		{.code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .off = -40},
		CALL(2),
		CALL(3),
		EXIT,
		CALL(1), /* the second one */
		EXIT,
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = BPF_REG_10},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3, .imm = -512},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 2, .imm = -65},
		EXIT,
	};

	(void)state;
	assert_int_equal(stack_chain_sum_of(code, ARRAY_SIZE(code)), 64 + 32 + 96);
	assert_int_equal(stack_chain_sum_of(code + 4, 6), 32 + 96);
	assert_int_equal(stack_chain_sum_of(code + 6, 4), 96);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_on_this_kernel), cmocka_unit_test(test_survey),
		cmocka_unit_test(test_kernel_memory),	  cmocka_unit_test(test_names_of_functions),
		cmocka_unit_test(test_with_all_options),  cmocka_unit_test(test_with_scopes),
		cmocka_unit_test(test_as_before_5_15),	  cmocka_unit_test(test_without_sessions),
		cmocka_unit_test(test_with_figures),	  cmocka_unit_test(test_stack_of_calls),
		cmocka_unit_test(test_all_at_once),	  cmocka_unit_test(test_with_typed_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

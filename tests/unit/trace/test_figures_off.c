// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Figures that are not asked for take nothing from the target: the usual programs have the same
 * instructions whatever the options' constants are, none of the options' maps, and those that keep
 * figures are not loaded. (The walk over live blocks, on the tool's own time, may ask for them.)
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/bpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/trace/best_plan.h"
#include "user/base/util.h"
#include "user/trace/programs.h"

#define PROGRAMS_MAX 96
#define MAPS_MAX     96

static struct attach_plan best;

/* A loaded program's instructions, after the verifier has taken out what is never reached. */
struct loaded {
	char name[64];
	uint32_t length, verified;
};

struct loaded_list {
	struct loaded items[PROGRAMS_MAX];
	size_t count;
};

static void note(struct loaded_list *list, const struct bpf_program *program, bool usual,
		 const uint32_t *maps, size_t map_count)
{
	uint32_t used[MAPS_MAX];
	struct bpf_prog_info info = {.map_ids = (uintptr_t)used, .nr_map_ids = MAPS_MAX};
	struct loaded *to = &list->items[list->count++];
	__u32 size = sizeof(info);

	assert_true(list->count < PROGRAMS_MAX);
	assert_int_equal(bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size), 0);
	snprintf(to->name, sizeof(to->name), "%s", bpf_program__name(program));
	to->length = info.xlated_prog_len;
	to->verified = info.verified_insns;
	for (uint32_t i = 0; usual && i < info.nr_map_ids; i++) {
		for (size_t m = 0; m < map_count; m++)
			assert_int_not_equal(used[i], maps[m]);
	}
}

static uint32_t map_id(const struct bpf_map *map)
{
	struct bpf_map_info info = {0};
	__u32 size = sizeof(info);

	assert_int_equal(bpf_obj_get_info_by_fd(bpf_map__fd(map), &info, &size), 0);
	return info.id;
}

/* Those on user space's functions. */
static void load(bool figures, bool constants, struct loaded_list *out)
{
	struct figures_kept all = figures_of_bits(UINT64_MAX), none = {0};
	struct trace_options options = {.attach = best.best,
					.find_vma = best.find_vma,
					.task_storage = best.task_storage,
					.managed_later = best.task_storage && best.tail_calls,
					.loops = best.loops,
					.figures = figures ? all : none,
					.gate = true};
	struct attach_programs programs_used;
	struct memleakbpf *skel = skeleton_open(false);
	struct bpf_program *program;
	uint32_t maps[5];

	assert_non_null(skel);
	*out = (struct loaded_list){0};
	skel->rodata->config.max_size = UINT64_MAX;
	skel->rodata->config.max_slots = 65536;
	skel->rodata->config.page_size = 4096;
	skel->rodata->config.max_frames = ABI_MAX_FRAMES;
	skel->rodata->config.lifetimes = constants ? 4 : 0;
	skel->rodata->config.temporary = skel->rodata->config.peak = constants;
	programs_choose(skel, &options, &programs_used);
	assert_int_equal(memleakbpf__load(skel), 0);
	maps[0] = map_id(skel->maps.slot_lifetimes);
	maps[1] = map_id(skel->maps.slot_temporaries);
	maps[2] = map_id(skel->maps.slots_outlived);
	maps[3] = map_id(skel->maps.slot_peaks);
	maps[4] = map_id(skel->maps.target_peaks);
	bpf_object__for_each_program(program, skel->obj)
	{
		if (bpf_program__fd(program) < 0 ||
		    bpf_program__type(program) != BPF_PROG_TYPE_KPROBE)
			continue;
		/* Either kind, never both. */
		if (!strncmp(bpf_program__name(program), "figures_", 8))
			assert_true(figures);
		note(out, program, !figures, maps, ARRAY_SIZE(maps));
	}
	memleakbpf__destroy(skel);
}

static const struct loaded *find(const struct loaded_list *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++) {
		if (!strcmp(list->items[i].name, name))
			return &list->items[i];
	}
	return NULL;
}

static void off_is_absent(void **state)
{
	static struct loaded_list off, constants, on;

	(void)state;
	best_plan(&best);
	if (best.old)
		return;
	load(false, false, &off);
	load(false, true, &constants);
	load(true, true, &on);
	assert_true(off.count >= 6);
	assert_int_equal(off.count, constants.count);
	assert_int_equal(off.count, on.count);
	for (size_t i = 0; i < off.count; i++) {
		assert_string_equal(off.items[i].name, constants.items[i].name);
		assert_int_equal(off.items[i].length, constants.items[i].length);
		assert_int_equal(off.items[i].verified, constants.items[i].verified);
	}
}

/* Each option's code is there only where it is asked for. */
static void on_is_there(void **state)
{
	static const char *const names[] = {"free_enter", "gate_alloc", "gate_free"};
	static struct loaded_list off, idle, on;

	(void)state;
	best_plan(&best);
	if (best.old)
		return;
	load(false, false, &off);
	load(true, false, &idle);
	load(true, true, &on);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char figures[64];

		snprintf(figures, sizeof(figures), "figures_%s", names[i]);
		assert_non_null(find(&off, names[i]));
		assert_null(find(&on, names[i]));
		print_message("%s: %u bytes, %u instructions verified; with figures %u, %u\n",
			      names[i], find(&off, names[i])->length,
			      find(&off, names[i])->verified, find(&on, figures)->length,
			      find(&on, figures)->verified);
		assert_true(find(&on, figures)->length > find(&off, names[i])->length);
		assert_true(find(&on, figures)->length > find(&idle, figures)->length);
		/* As in test_verifier.c. */
		assert_true(find(&on, figures)->verified < 250000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(off_is_absent),
		cmocka_unit_test(on_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is printed of the kernel's memory: for people, for programs, as folded stacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/sample_snapshot.h"
#include "user/base/util.h"
#include "user/export/export.h"

#define KIB    1024ull
#define MIB    (1024 * KIB)
#define SECOND 1000000000ull

static const struct trend growing = {.kind = TREND_GROWING,
				     .growth_known = true,
				     .growth = 314572.8,
				     .reason = "grew in every third of the watch"};

static struct kernel_pool pools[] = {
	{"slab_unreclaimable", "slab that cannot be reclaimed", {612 * MIB, 180 * MIB, {0}}, false},
	{"slab_reclaimable",
	 "slab that can be reclaimed",
	 {496 * MIB, 0, {.kind = TREND_STEADY}},
	 true},
	{"percpu", "per-CPU memory", {984 * KIB, 0, {0}}, false},
	{"unnamed", "pages that nobody names", {210 * MIB, -2 * (int64_t)MIB, {0}}, false},
};

static const char *const signal_names[] = {"UNIX", "signal_cache"};

static struct kernel_cache caches[] = {
	{.name = "TCP",
	 .object_bytes = 2368,
	 .blocks = 84301,
	 .growth_blocks = 76102,
	 .size = {190 * MIB, 172 * MIB, {0}}},
	{.name = "signal_cache",
	 .aliases = signal_names,
	 .alias_count = 2,
	 .object_bytes = 1152,
	 .blocks = 900,
	 .growth_blocks = 12,
	 .size = {MIB, 20 * KIB, {0}}},
	{.name = "maple_node",
	 .object_bytes = 256,
	 .blocks = 5000,
	 .growth_blocks = -197,
	 .size = {3 * MIB, 0, {0}},
	 .frees_unseen = true},
	{.name = "dentry",
	 .object_bytes = 192,
	 .blocks = 202880,
	 .growth_blocks = 200000,
	 .size = {38 * MIB, 37 * MIB, {0}},
	 .reclaimable = true},
};

static struct kernel_caller areas[] = {
	{.function = "kernel_clone", .blocks = 161, .size = {6 * MIB, 160 * KIB, {0}}},
	{.function = "nvme_probe", .module = "nvme", .blocks = 1, .size = {MIB, 0, {0}}},
};

static struct kernel_caller sites[] = {
	{.function = "sk_prot_alloc",
	 .file = "net/core/sock.c",
	 .line = 2190,
	 .blocks = 84301,
	 .size = {190 * MIB, 172 * MIB, {0}}},
};

static struct kernel_group groups[] = {
	{"/kubepods/pod\033[2J4c1e", {200 * MIB, 171 * MIB, {0}}},
	{"/", {20 * MIB, 0, {0}}},
};

static const struct kernel_frame socket_frames[] = {
	{"sk_prot_alloc", NULL, 0xffffffff81000130, 0x30},
	{"inet_create", NULL, 0xffffffff81000203, 0x103},
	{"nvme_sock", "nvme", 0xffffffffc0000017, 0x17},
	{NULL, NULL, 0xffffffffc1000000, 0},
};

static struct kernel_task two_tasks[] = {{4711, "shop", 170 * MIB}, {9120, "cu\nrl", 2 * MIB}};
static struct kernel_task maple_task[] = {{4711, "shop", 4556 * 256}};
static struct kernel_task one_task[] = {{4711, "shop", 38 * MIB}};

static struct kernel_stack stacks[] = {
	{.id = 0xabc,
	 .kind = KERNEL_SLAB,
	 .cache = "TCP",
	 .object_bytes = 2368,
	 .bytes = 172 * MIB,
	 .blocks = 76162,
	 .error_bytes = 1677721,
	 .samples = 2752,
	 .oldest_ns = 540 * SECOND,
	 .trend = {.kind = TREND_GROWING, .growth_known = true, .growth = 300586, .reason = "grew"},
	 .tasks = two_tasks,
	 .task_count = 2,
	 .task_all = 2,
	 .group = "/kubepods/pod",
	 .group_id = 15083,
	 .group_bytes = 170 * MIB,
	 .frames = socket_frames,
	 .frame_count = 4,
	 .companions = 1},
	{.id = 0xdef,
	 .kind = KERNEL_SLAB,
	 .cache = "signal_cache",
	 .object_bytes = 1152,
	 .bytes = 83 * MIB,
	 .blocks = 75549,
	 .error_bytes = 1600000,
	 .samples = 1328,
	 .oldest_ns = 539 * SECOND,
	 .tasks = one_task,
	 .task_count = 1,
	 .task_all = 1,
	 .frames = socket_frames,
	 .frame_count = 4,
	 .with = 1},
	{.id = 0x17,
	 .kind = KERNEL_PAGES,
	 .object_bytes = 4096,
	 .bytes = 2 * MIB,
	 .blocks = 512,
	 .samples = 32,
	 .error_bytes = 370727,
	 .oldest_ns = 3 * SECOND,
	 .interrupt = true,
	 .tasks = one_task,
	 .task_count = 1,
	 .task_all = 1},
	{.id = 0x18,
	 .kind = KERNEL_SLAB,
	 .cache = "dentry",
	 .object_bytes = 192,
	 .bytes = 38 * MIB,
	 .blocks = 207530,
	 .error_bytes = MIB,
	 .samples = 608,
	 .oldest_ns = SECOND,
	 .reclaimable = true,
	 .tasks = one_task,
	 .task_count = 1,
	 .task_all = 1,
	 .frames = socket_frames,
	 .frame_count = 1},
	{.id = 0x19,
	 .kind = KERNEL_SLAB,
	 .cache = "maple_node",
	 .object_bytes = 256,
	 .bytes = 4556 * 256,
	 .blocks = 4556,
	 .samples = 18,
	 .oldest_ns = SECOND,
	 .frees_unseen = true,
	 .tasks = maple_task,
	 .task_count = 1,
	 .task_all = 1},
};

static struct kernel_books books = {
	.in = true,
	.elapsed_ns = 600 * SECOND,
	.sample_bytes = 64 * KIB,
	.kinds = 1u << KERNEL_SLAB | 1u << KERNEL_PAGES,
	.stacks = stacks,
	.stack_count = ARRAY_SIZE(stacks),
	.lost = {[KERNEL_LOST_RECURSION] = 12402},
	.frees_unseen = 158851,
	.split = 3,
	.cpu_share = 0.004,
};

static struct kernel_report sample(void)
{
	struct kernel_report r = {
		.time_ns = 1767323045 * SECOND,
		.elapsed_ns = 600 * SECOND,
		.final = true,
		.host = "node7",
		.release = "6.18.44",
		.pools = pools,
		.pool_count = ARRAY_SIZE(pools),
		.caches = caches,
		.cache_count = ARRAY_SIZE(caches),
		.areas = areas,
		.area_count = ARRAY_SIZE(areas),
		.sites = sites,
		.site_count = ARRAY_SIZE(sites),
		.groups = groups,
		.group_count = ARRAY_SIZE(groups),
		.books = &books,
		.top = 10,
	};

	missing_add(&r.missing, "vmallocinfo", "functions that allocate areas are not known", "%s",
		    "/proc/vmallocinfo: Permission denied");
	pools[0].size.trend = growing;
	return r;
}

static char *print(const struct kernel_report *reports, size_t count, const char *name)
{
	const struct exporter_format *format = export_find_format(name);
	const struct export_options options = {0};
	struct exporter *e;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_true(export_can(format, EXPORT_KERNEL));
	e = format->open(out, &options);
	assert_non_null(e);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(format->kernel(e, &reports[i]), 0);
	assert_int_equal(format->close(e), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void all_that_there_can_be(void **state)
{
	const struct kernel_report r = sample();
	_cleanup_free_ char *text = print(&r, 1, "text"), *json = print(&r, 1, "json"),
			    *folded = print(&r, 1, "folded");

	(void)state;
	assert_true(sample_matches("kernel-usual.txt", text));
	assert_true(sample_matches("kernel-usual.json", json));
	assert_true(sample_matches("kernel-usual.folded", folded));
}

/* No probes so far: none of what only they know. Only the last look is a document. */
static void without_probes(void **state)
{
	struct kernel_report reports[] = {sample(), sample()};
	_cleanup_free_ char *text = NULL, *json = NULL, *folded = NULL;

	(void)state;
	reports[0].final = false;
	reports[1].books = NULL;
	text = print(&reports[1], 1, "text");
	assert_null(strstr(text, "probes"));
	assert_null(strstr(text, "#1"));
	json = print(&reports[1], 1, "json");
	assert_null(strstr(json, "\"stacks\""));
	folded = print(reports, 2, "folded");
	assert_string_equal(folded, "");
}

static void probes_that_were_taken_out(void **state)
{
	struct kernel_report r = sample();
	struct kernel_books stopped = books;
	_cleanup_free_ char *text = NULL, *json = NULL;

	(void)state;
	stopped.in = false;
	stopped.stopped = "nothing grows any more";
	stopped.cpu_share = -1;
	r.books = &stopped;
	r.top = 1;
	text = print(&r, 1, "text");
	assert_non_null(strstr(text, "the probes were taken out after 10m00s: nothing grows any"));
	assert_non_null(strstr(text, "and 2 stacks more (-T)"));
	assert_null(strstr(text, "of a CPU"));
	json = print(&r, 1, "json");
	assert_non_null(strstr(json, "\"in\":false,\"stopped\":\"nothing grows any more\""));
	assert_null(strstr(json, "cpu_percent"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_there_can_be),
		cmocka_unit_test(without_probes),
		cmocka_unit_test(probes_that_were_taken_out),
	};

	/* Times are of this place. */
	if (setenv("TZ", "UTC0", 1))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

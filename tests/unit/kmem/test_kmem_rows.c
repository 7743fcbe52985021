// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* From made-up blocks to rows: what is one row, which are trusted, which come together. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/base/util.h"
#include "user/kmem/kmem_rows.h"
#include "user/kmem/kmem_select.h"

#define SECOND 1000000000ull
#define NOW    (100 * SECOND)
#define BLOCKS 20000

enum { CACHE_TCP = 0x1000, CACHE_DENTRY = 0x2000, CACHE_MAPLE = 0x3000 };

/* What the names say, and what has been asked. */
struct world {
	uint64_t most_maple;
	char distrusted[64];
	const char *wanted;
};

static struct kmem_live blocks[BLOCKS];
static size_t block_count;

static struct kmem_live *add(uint8_t kind, uint64_t stack, uint64_t cache, uint64_t bytes)
{
	struct kmem_live *b = &blocks[block_count++];

	assert_true(block_count <= BLOCKS);
	*b = (struct kmem_live){
		.stack = stack,
		.cache = cache,
		.cgroup = 7,
		.time_ns = NOW - 10 * SECOND,
		.bytes = bytes,
		.weight = bytes,
		.tgid = 4711,
		.kind = kind,
		.comm = "shop",
	};
	return b;
}

static void add_many(size_t count, uint8_t kind, uint64_t stack, uint64_t cache, uint64_t bytes)
{
	for (size_t i = 0; i < count; i++)
		add(kind, stack, cache, bytes);
}

/* A frame's address is a number of these; each stack is one of these, from the inside out. */
static const char *const functions[] = {"",
					"bpf_prog_1_x",
					"bpf_trace_run6",
					"kmem_cache_alloc",
					"sk_prot_alloc",
					"alloc_inode",
					"__x64_sys_socket",
					"do_syscall_64",
					"entry_SYSCALL",
					"allocate_slab",
					"handle_softirqs",
					"mas_alloc_nodes",
					"__x64_sys_mmap"};

static const uint64_t stacks[][KMEM_FRAMES] = {
	[1] = {1, 2, 3, 4, 6, 7, 8}, /* a socket */
	[2] = {1, 2, 3, 5, 6, 7, 8}, /* its inode */
	[3] = {1, 2, 3, 9, 6, 7, 8}, /* the pages of both */
	[4] = {1, 2, 3, 4, 10},	     /* in an interrupt */
	[5] = {1, 2, 3, 11, 12, 7, 8},
};

static bool world_stack(void *ctx, uint64_t id, struct kmem_stack *out)
{
	(void)ctx;
	*out = (struct kmem_stack){0};
	if (!id || id >= ARRAY_SIZE(stacks))
		return false;
	for (size_t i = 0; i < KMEM_FRAMES && stacks[id][i]; i++)
		out->frames[i] = stacks[id][i] << 32 | 0x11;
	return true;
}

static bool world_cache(void *ctx, uint64_t cache, struct kmem_cache_name *out)
{
	(void)ctx;
	*out = (struct kmem_cache_name){0};
	strcpy(out->name, cache == CACHE_TCP	  ? "TCP"
			  : cache == CACHE_DENTRY ? "dentry"
			  : cache == CACHE_MAPLE  ? "maple_node"
						  : "");
	return *out->name;
}

static void world_frame(void *ctx, uint64_t address, struct kernel_frame *out)
{
	(void)ctx;
	out->function = functions[address >> 32];
	out->offset = (address & UINT32_MAX) + 1;
}

/* Valid until the next look. */
static char group_path[16];

static const char *world_group(void *ctx, uint64_t id)
{
	(void)ctx;
	strcpy(group_path, "/shop");
	return id == 7 ? group_path : NULL;
}

static bool world_reclaimable(void *ctx, const char *cache)
{
	(void)ctx;
	return !strcmp(cache, "dentry");
}

static bool world_wanted(void *ctx, const char *cache)
{
	const struct world *w = ctx;

	return !w->wanted || (cache && !strcmp(w->wanted, cache));
}

static uint64_t world_most(void *ctx, const char *name, uint64_t object_bytes)
{
	const struct world *w = ctx;

	if (name && !*name)
		return object_bytes == 576 ? 9 : UINT64_MAX;
	if (!name)
		return object_bytes == 64 ? 50 : UINT64_MAX;
	return strcmp(name, "maple_node") ? UINT64_MAX : w->most_maple;
}

static void world_distrust(void *ctx, const char *cache)
{
	struct world *w = ctx;

	snprintf(w->distrusted, sizeof(w->distrusted), "%s", cache);
}

static struct kmem_names names_of(struct world *w)
{
	return (struct kmem_names){
		.ctx = w,
		.stack = world_stack,
		.cache = world_cache,
		.frame = world_frame,
		.group = world_group,
		.reclaimable = world_reclaimable,
		.wanted = world_wanted,
		.most = world_most,
		.distrust = world_distrust,
		.kinds = 1u << KERNEL_SLAB | 1u << KERNEL_PAGES,
	};
}

static void make(struct kmem_rows *rows, struct world *w)
{
	const struct kmem_names names = names_of(w);

	assert_int_equal(kmem_rows_make(rows, blocks, block_count, NOW, &names, NULL, 0), 0);
	block_count = 0;
	memset(group_path, 'x', sizeof(group_path) - 1);
}

static void one_row_for_a_stack_and_cache(void **state)
{
	struct world w = {0};
	struct kmem_rows rows = {0};
	const struct kernel_stack *row;

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct kmem_live *b;

		b = add(KMEM_CACHE, 1, CACHE_TCP, 2368);
		b->tgid = i ? 4711 : 12;
		b->cgroup = i ? 7 : 9;
		strcpy(b->comm, i ? "shop" : "curl");
		b->time_ns -= (uint64_t)i * SECOND;
	}
	/* Too young, and of another stack. */
	add(KMEM_CACHE, 1, CACHE_TCP, 2368)->time_ns = NOW - SECOND / 2;
	add(KMEM_CACHE, 4, CACHE_TCP, 2368);
	make(&rows, &w);
	assert_int_equal(rows.count, 2);
	row = &rows.stacks[0];
	assert_string_equal(row->cache, "TCP");
	assert_int_equal(row->kind, KERNEL_SLAB);
	assert_int_equal(row->blocks, 3);
	assert_int_equal(row->bytes, 3 * 2368);
	assert_int_equal(row->error_bytes, 0);
	assert_int_equal(row->oldest_ns, 12 * SECOND);
	assert_int_equal(row->task_count, 2);
	assert_string_equal(row->tasks[0].comm, "shop");
	assert_int_equal(row->tasks[0].bytes, 2 * 2368);
	assert_string_equal(row->tasks[1].comm, "curl");
	assert_string_equal(row->group, "/shop");
	assert_int_equal(row->group_bytes, 2 * 2368);
	assert_false(row->interrupt);
	/* Without what the probe has put there. */
	assert_int_equal(row->frame_count, 5);
	assert_string_equal(row->frames[0].function, "kmem_cache_alloc");
	assert_int_equal(row->frames[0].offset, 0x11);
	assert_string_equal(row->frames[4].function, "entry_SYSCALL");
	assert_true(rows.stacks[1].interrupt);
	kmem_rows_free(&rows);
}

static void sizes_make_rows_of_general_caches_only(void **state)
{
	struct world w = {0};
	struct kmem_rows rows = {0};

	(void)state;
	add_many(2, KMEM_KMALLOC, 1, 0, 192);
	add_many(1, KMEM_KMALLOC, 1, 0, 2048);
	add_many(1, KMEM_KMALLOC, 1, 0, 65536);
	add_many(1, KMEM_PAGES, 1, 0, 4096);
	add_many(1, KMEM_PAGES, 1, 0, 8192);
	add_many(3, KMEM_CACHE, 1, 0, 320);
	make(&rows, &w);
	assert_int_equal(rows.count, 5);
	assert_string_equal(rows.stacks[0].cache, "kmalloc-large");
	assert_null(rows.stacks[1].cache);
	assert_int_equal(rows.stacks[1].kind, KERNEL_PAGES);
	assert_int_equal(rows.stacks[1].blocks, 2);
	assert_int_equal(rows.stacks[1].bytes, 12288);
	assert_string_equal(rows.stacks[2].cache, "kmalloc-2k");
	/* Before 6.1 events of caches tell the size alone. */
	assert_string_equal(rows.stacks[3].cache, "cache-320");
	assert_string_equal(rows.stacks[4].cache, "kmalloc-192");
	kmem_rows_free(&rows);
}

static void slab_pages_count_once(void **state)
{
	struct world w = {0};
	struct kmem_rows rows = {0};
	struct kmem_names pages_alone = names_of(&w);

	(void)state;
	add(KMEM_CACHE, 1, CACHE_TCP, 2368);
	add(KMEM_PAGES, 3, 0, 32768);
	make(&rows, &w);
	assert_int_equal(rows.count, 1);
	assert_string_equal(rows.stacks[0].cache, "TCP");
	pages_alone.kinds = 1u << KERNEL_PAGES;
	add(KMEM_PAGES, 3, 0, 32768);
	assert_int_equal(kmem_rows_make(&rows, blocks, block_count, NOW, &pages_alone, NULL, 0), 0);
	block_count = 0;
	assert_int_equal(rows.count, 1);
	assert_true(rows.stacks[0].in_slab);
	kmem_rows_free(&rows);
}

static void more_than_the_kernel_has_is_not_believed(void **state)
{
	struct world w = {.most_maple = 100};
	struct kmem_rows rows = {0};

	(void)state;
	add_many(60, KMEM_CACHE, 5, CACHE_MAPLE, 256);
	add_many(41, KMEM_CACHE, 4, CACHE_MAPLE, 256);
	add_many(2, KMEM_CACHE, 1, CACHE_TCP, 64);
	add_many(1, KMEM_CACHE, 2, CACHE_DENTRY, 192);
	make(&rows, &w);
	assert_int_equal(rows.count, 4);
	assert_string_equal(w.distrusted, "maple_node");
	/* These come last; what can be reclaimed comes before them. */
	assert_string_equal(rows.stacks[0].cache, "TCP");
	assert_true(rows.stacks[1].reclaimable);
	assert_true(rows.stacks[2].frees_unseen && rows.stacks[3].frees_unseen);
	w = (struct world){.most_maple = 101};
	add_many(60, KMEM_CACHE, 5, CACHE_MAPLE, 256);
	add_many(41, KMEM_CACHE, 4, CACHE_MAPLE, 256);
	make(&rows, &w);
	assert_false(rows.stacks[0].frees_unseen);
	assert_string_equal(w.distrusted, "");
	/* A general cache, by its size. */
	add_many(51, KMEM_KMALLOC, 1, 0, 64);
	make(&rows, &w);
	assert_true(rows.stacks[0].frees_unseen);
	/* Before 6.1 all caches of a size. */
	add_many(10, KMEM_CACHE, 1, 0, 576);
	add_many(51, KMEM_KMALLOC, 1, 0, 64);
	make(&rows, &w);
	assert_true(rows.count == 2 && rows.stacks[0].frees_unseen && rows.stacks[1].frees_unseen);
	add_many(51, KMEM_KMALLOC, 1, 0, 64);
	make(&rows, &w);
	rows.stacks[0].trend.kind = TREND_GROWING;
	assert_false(kernel_stack_leaks(&rows.stacks[0]));
	rows.stacks[0].frees_unseen = false;
	assert_true(kernel_stack_leaks(&rows.stacks[0]));
	rows.stacks[0].reclaimable = true;
	assert_false(kernel_stack_leaks(&rows.stacks[0]));
	kmem_rows_free(&rows);
}

static void objects_that_come_together(void **state)
{
	struct world w = {0};
	struct kmem_rows rows = {0};

	(void)state;
	add_many(1000, KMEM_CACHE, 1, CACHE_TCP, 2368);
	add_many(995, KMEM_CACHE, 2, CACHE_DENTRY, 192);
	add_many(1000, KMEM_KMALLOC, 5, 0, 128); /* of another system call */
	add_many(900, KMEM_KMALLOC, 2, 0, 96);	 /* fewer */
	make(&rows, &w);
	assert_int_equal(rows.count, 4);
	assert_string_equal(rows.stacks[0].cache, "TCP");
	assert_int_equal(rows.stacks[0].companions, 1);
	for (size_t i = 1; i < rows.count; i++)
		assert_int_equal(rows.stacks[i].with,
				 !strcmp(rows.stacks[i].cache, "dentry") ? 1 : 0);
	kmem_rows_free(&rows);
}

static bool group_seven(void *ctx, uint64_t id)
{
	(void)ctx;
	return id == 7;
}

static void wanted_groups_only(void **state)
{
	struct world w = {0};
	struct kmem_rows rows = {0};
	struct kmem_names names = names_of(&w);

	(void)state;
	names.group_wanted = group_seven;
	for (uint64_t group = 6; group <= 8; group++) {
		add(KMEM_CACHE, 1, CACHE_TCP, 2368)->cgroup = group;
		add(KMEM_CACHE, 2, CACHE_DENTRY, 192)->cgroup = 7;
	}
	assert_int_equal(kmem_rows_make(&rows, blocks, block_count, NOW, &names, NULL, 0), 0);
	block_count = 0;
	assert_int_equal(rows.count, 2);
	assert_int_equal(rows.stacks[0].blocks, 1);
	assert_int_equal(rows.stacks[1].blocks, 3);
	kmem_rows_free(&rows);
}

static void groups_by_their_paths(void **state)
{
	const struct select_config none = {0}, unit = {.unit = "nginx"},
				   below = {.cgroup = "/system.slice"},
				   container = {.container = "0123456789ab"};
	const char *in_container =
		"/docker/"
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

	(void)state;
	assert_true(kmem_selects_group(&none, NULL));
	assert_true(kmem_selects_group(&unit, "/system.slice/nginx.service"));
	assert_false(kmem_selects_group(&unit, "/system.slice/redis.service"));
	assert_false(kmem_selects_group(&unit, NULL));
	assert_true(kmem_selects_group(&below, "/system.slice/redis.service"));
	assert_false(kmem_selects_group(&below, "/system.slices"));
	assert_true(kmem_selects_group(&container, in_container));
	assert_false(kmem_selects_group(&container, "/docker"));
}

static void wanted_caches_only(void **state)
{
	struct world w = {.wanted = "dentry"};
	struct kmem_rows rows = {0};

	(void)state;
	add_many(3, KMEM_CACHE, 1, CACHE_TCP, 2368);
	add_many(2, KMEM_CACHE, 2, CACHE_DENTRY, 192);
	add_many(1, KMEM_PAGES, 1, 0, 4096);
	make(&rows, &w);
	assert_int_equal(rows.count, 1);
	assert_string_equal(rows.stacks[0].cache, "dentry");
	kmem_rows_free(&rows);
}

/* As bpf/kmem/kmem.bpf.c samples. The estimates' errors are to be as large as they say. */
static void estimates_are_unbiased(void **state)
{
	const uint64_t rate = 65536, bytes = 2368, truth = 500 * bytes;
	uint64_t random = 88172645463325252ull;
	double sum = 0, scaled = 0;
	const int rounds = 10000;

	(void)state;
	for (int round = 0; round < rounds; round++) {
		struct world w = {0};
		struct kmem_rows rows = {0};
		double error = sqrt(500 * (double)bytes * (double)(rate - bytes)), off;

		for (int i = 0; i < 500; i++) {
			/* Marsaglia's xorshift. */
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			if ((random >> 32) * rate < bytes << 32)
				add(KMEM_CACHE, 1, CACHE_TCP, bytes)->weight = rate;
		}
		make(&rows, &w);
		off = (rows.count ? (double)rows.stacks[0].bytes : 0) - (double)truth;
		sum += off;
		scaled += off * off / (error * error);
		if (rows.count) {
			const struct kernel_stack *row = &rows.stacks[0];

			assert_true(fabs((double)row->error_bytes -
					 sqrt((double)row->samples * (double)rate *
					      (double)(rate - bytes))) <= 1);
			assert_true(fabs((double)row->blocks * bytes - (double)row->bytes) <=
				    (double)bytes);
		}
		kmem_rows_free(&rows);
	}
	/* The mean is within 4 of its standard errors, which the seed decides once and for all. */
	assert_true(fabs(sum / rounds) <
		    4 * sqrt(500 * (double)bytes * (double)(rate - bytes) / rounds));
	assert_true(scaled / rounds > 0.9 && scaled / rounds < 1.1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_row_for_a_stack_and_cache),
		cmocka_unit_test(sizes_make_rows_of_general_caches_only),
		cmocka_unit_test(slab_pages_count_once),
		cmocka_unit_test(more_than_the_kernel_has_is_not_believed),
		cmocka_unit_test(objects_that_come_together),
		cmocka_unit_test(wanted_caches_only),
		cmocka_unit_test(wanted_groups_only),
		cmocka_unit_test(groups_by_their_paths),
		cmocka_unit_test(estimates_are_unbiased),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The kernel's own files, as Linux 5.10, 6.1 and 6.18 write them, and what is no such file. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/base/util.h"
#include "user/kmem/caller_list.h"
#include "user/kmem/group_list.h"
#include "user/kmem/meminfo.h"
#include "user/kmem/slab_names.h"
#include "user/kmem/slabinfo.h"

#define KIB 1024ull

static FILE *text_file(const char *text)
{
	FILE *file = fmemopen((void *)text, strlen(text), "r");

	assert_non_null(file);
	return file;
}

/* ---- meminfo ------------------------------------------------------------------------------ */

static const char meminfo_5_10[] = "MemTotal:        2030336 kB\n"
				   "MemFree:         1517940 kB\n"
				   "MemAvailable:    1771544 kB\n"
				   "Buffers:           13212 kB\n"
				   "Cached:           318104 kB\n"
				   "SwapCached:            0 kB\n"
				   "AnonPages:         46832 kB\n"
				   "Shmem:              2844 kB\n"
				   "KReclaimable:      20560 kB\n"
				   "Slab:              47476 kB\n"
				   "SReclaimable:      20560 kB\n"
				   "SUnreclaim:        26916 kB\n"
				   "KernelStack:        2016 kB\n"
				   "PageTables:         1560 kB\n"
				   "NFS_Unstable:          0 kB\n"
				   "Bounce:                0 kB\n"
				   "VmallocTotal:   34359738367 kB\n"
				   "VmallocUsed:       14320 kB\n"
				   "VmallocChunk:          0 kB\n"
				   "Percpu:             2576 kB\n"
				   "HugePages_Total:       0\n"
				   "Hugetlb:               0 kB\n";

static const char meminfo_6_18[] = "MemTotal:       24731708 kB\n"
				   "MemFree:          466348 kB\n"
				   "Buffers:          730144 kB\n"
				   "Cached:         21708088 kB\n"
				   "SwapCached:            0 kB\n"
				   "Zswap:                 0 kB\n"
				   "AnonPages:        356188 kB\n"
				   "Slab:            1390928 kB\n"
				   "SReclaimable:    1277428 kB\n"
				   "SUnreclaim:       113500 kB\n"
				   "KernelStack:        2760 kB\n"
				   "PageTables:         8712 kB\n"
				   "SecPageTables:        12 kB\n"
				   "VmallocUsed:        7208 kB\n"
				   "Percpu:              984 kB\n"
				   "Balloon:               4 kB\n"
				   "Hugetlb:            2048 kB\n";

static void pools(void **state)
{
	_cleanup_fclose_ FILE *old = text_file(meminfo_5_10), *now = text_file(meminfo_6_18);
	struct meminfo m;

	(void)state;
	assert_int_equal(meminfo_parse(old, &m), 0);
	assert_int_equal(m.bytes[MEMINFO_SLAB_UNRECLAIMABLE], 26916 * KIB);
	assert_int_equal(m.bytes[MEMINFO_SLAB_RECLAIMABLE], 20560 * KIB);
	assert_int_equal(m.bytes[MEMINFO_PERCPU], 2576 * KIB);
	assert_false(m.known[MEMINFO_SECONDARY_PAGE_TABLES]);
	/* All but stacks, which are in VmallocUsed. */
	assert_int_equal(
		m.bytes[MEMINFO_UNNAMED],
		(2030336 - 1517940 - 13212 - 318104 - 46832 - 47476 - 1560 - 14320 - 2576) * KIB);
	assert_int_equal(meminfo_parse(now, &m), 0);
	assert_true(m.known[MEMINFO_SECONDARY_PAGE_TABLES]);
	assert_int_equal(m.bytes[MEMINFO_SECONDARY_PAGE_TABLES], 12 * KIB);
	assert_int_equal(m.bytes[MEMINFO_UNNAMED], (24731708 - 466348 - 730144 - 21708088 - 356188 -
						    1390928 - 8712 - 12 - 7208 - 984 - 4 - 2048) *
							   KIB);
}

/* Their memory is not mapped, so VmallocUsed lacks it. The sum is more than there is, too. */
static void stacks_that_are_not_mapped(void **state)
{
	_cleanup_fclose_ FILE *file = text_file("MemTotal: 1000 kB\nSlab: 100 kB\n"
						"KernelStack: 50 kB\nVmallocUsed: 20 kB\n");
	_cleanup_fclose_ FILE *more = text_file("MemTotal: 100 kB\nSlab: 200 kB\n");
	_cleanup_fclose_ FILE *none = text_file("Slab: 12 kB\n");
	struct meminfo m;

	(void)state;
	assert_int_equal(meminfo_parse(file, &m), 0);
	assert_int_equal(m.bytes[MEMINFO_UNNAMED], (1000 - 100 - 50 - 20) * KIB);
	assert_int_equal(meminfo_parse(more, &m), 0);
	assert_int_equal(m.bytes[MEMINFO_UNNAMED], 0);
	assert_int_equal(meminfo_parse(none, &m), -EINVAL);
}

/* ---- slabinfo ----------------------------------------------------------------------------- */

#define SLABINFO_HEAD                                                                      \
	"slabinfo - version: 2.1\n"                                                        \
	"# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab>" \
	" : tunables <limit> <batchcount> <sharedfactor> : slabdata <active_slabs>"        \
	" <num_slabs> <sharedavail>\n"

static void caches(void **state)
{
	_cleanup_fclose_ FILE *file = text_file(
		SLABINFO_HEAD
		"TCP                  120    132   2368   12    8 : tunables    0    0    0 : "
		"slabdata     11     11      0\n"
		"p9 requests 7 8 64 64 1 : tunables 0 0 0 : slabdata 1 1 0\n"
		"cut short   7 8 64\n"
		"kmalloc-8k            60     60   8192    4    8 : tunables    0    0    0 : "
		"slabdata     15     15      0\n");
	_cleanup_fclose_ FILE *other = text_file("slabinfo - version: 3.0\n");
	struct slabinfo info = {0};

	(void)state;
	assert_int_equal(slabinfo_parse(file, &info), 0);
	assert_int_equal(info.count, 3);
	assert_string_equal(info.caches[0].name, "TCP");
	assert_int_equal(info.caches[0].active, 120);
	assert_int_equal(info.caches[0].object_bytes, 2368);
	assert_int_equal(info.caches[0].objects_per_slab, 12);
	assert_int_equal(info.caches[0].pages_per_slab, 8);
	assert_int_equal(info.caches[0].slabs, 11);
	assert_string_equal(info.caches[1].name, "p9 requests");
	assert_int_equal(info.caches[1].active, 7);
	assert_string_equal(info.caches[2].name, "kmalloc-8k");
	assert_int_equal(slabinfo_parse(other, &info), -EINVAL);
	assert_int_equal(info.count, 0);
	slabinfo_free(&info);
}

static void put_file(const char *directory, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void make_directory(const char *directory, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void remove_directory(const char *directory)
{
	char command[300];

	snprintf(command, sizeof(command), "rm -r '%s'", directory);
	assert_int_equal(system(command), 0);
}

static void merged_caches(void **state)
{
	char directory[] = "/tmp/test_kmem_files.XXXXXX", link[256];
	const struct slab_name *name;
	struct slab_names *names;

	(void)state;
	assert_non_null(mkdtemp(directory));
	make_directory(directory, ":0001152");
	put_file(directory, ":0001152/cpu_partial", "52\n");
	put_file(directory, ":0001152/reclaim_account", "0\n");
	make_directory(directory, "dentry");
	put_file(directory, "dentry/reclaim_account", "1\n");
	put_file(directory, "dentry/sheaf_capacity", "32\n");
	for (size_t i = 0; i < 2; i++) {
		snprintf(link, sizeof(link), "%s/%s", directory, i ? "UNIX" : "signal_cache");
		assert_int_equal(symlink(":0001152", link), 0);
	}
	names = slab_names_read(directory);
	assert_non_null(names);
	name = slab_names_find(names, "signal_cache");
	assert_non_null(name);
	assert_string_equal(name->target, ":0001152");
	assert_int_equal(name->alias_count, 2);
	assert_string_equal(name->aliases[0], "UNIX");
	assert_string_equal(name->aliases[1], "signal_cache");
	assert_false(name->reclaimable);
	/* For each CPU its slab, and as many half full ones as 52 objects make. */
	assert_int_equal(slab_name_slack(name, 14, 2), 2 * 14 * (1 + 8));
	name = slab_names_find(names, "dentry");
	assert_non_null(name);
	assert_true(name->reclaimable);
	assert_int_equal(slab_name_slack(name, 21, 4), 4 * (21 + 3 * 32) + 20 * 32);
	assert_null(slab_names_find(names, ":0001152"));
	assert_int_equal(slab_name_slack(NULL, 10, 2), 20);
	slab_names_free(names);
	remove_directory(directory);
	/* A kernel without it, and a container. */
	names = slab_names_read(directory);
	assert_non_null(names);
	assert_null(slab_names_find(names, "dentry"));
	slab_names_free(names);
}

/* ---- callers ------------------------------------------------------------------------------ */

static const struct caller *caller_named(const struct caller_list *list, const char *function)
{
	for (size_t i = 0; i < list->count; i++) {
		if (!strcmp(list->items[i].function, function))
			return &list->items[i];
	}
	return NULL;
}

static void areas(void **state)
{
	_cleanup_fclose_ FILE *file = text_file(
		"0x00000000e3903aaa-0x000000005c797f60   20480 irq_init_percpu_irqstack+0xca/0x100 "
		"vmap\n"
		"0x000000005c797f60-0x000000000d749cef    8192 acpi_os_map_iomem+0x1bc/0x1e0 "
		"phys=0x00000000000a0000 ioremap\n"
		"0x0000000090f4abd0-0x00000000d12ece6a   20480 kernel_clone+0x94/0x3e0 pages=4 "
		"vmalloc N0=4\n"
		"0x0000000090f4abd0-0x00000000d12ece6a   20480 kernel_clone+0x94/0x3e0 pages=4 "
		"vmalloc N0=3 N1=1\n"
		"0x0000000090f4abd0-0x00000000d12ece6a   20480 nvme_probe+0x94/0x3e0 [nvme] "
		"pages=2 vmalloc\n"
		"0x0000000090f4abd0-0x00000000d12ece6a   20480 unpurged vm_area\n");
	struct caller_list list = {0};

	(void)state;
	assert_int_equal(caller_list_areas(file, 4096, &list), 0);
	assert_int_equal(list.count, 2);
	assert_int_equal(caller_named(&list, "kernel_clone")->bytes, 8 * 4096);
	assert_int_equal(caller_named(&list, "kernel_clone")->blocks, 2);
	assert_string_equal(caller_named(&list, "kernel_clone")->module, "");
	assert_string_equal(caller_named(&list, "nvme_probe")->module, "nvme");
	caller_list_free(&list);
}

static void sites(void **state)
{
	_cleanup_fclose_ FILE *file = text_file(
		"allocinfo - version: 1.0\n"
		"#     <size>  <calls> <tag info>\n"
		"           0        0 init/main.c:1314 func:do_initcalls\n"
		"    13199680     3222 net/core/sock.c:2190 func:sk_prot_alloc\n"
		"       49152       12 drivers/nvme/host/pci.c:17 [nvme] func:nvme_alloc \n"
		"no line of it\n");
	_cleanup_fclose_ FILE *other = text_file("something else\n");
	struct caller_list list = {0};

	(void)state;
	assert_int_equal(caller_list_sites(file, &list), 0);
	assert_int_equal(list.count, 2);
	assert_string_equal(list.items[0].function, "sk_prot_alloc");
	assert_string_equal(list.items[0].file, "net/core/sock.c");
	assert_int_equal(list.items[0].line, 2190);
	assert_int_equal(list.items[0].bytes, 13199680);
	assert_int_equal(list.items[0].blocks, 3222);
	assert_string_equal(list.items[1].module, "nvme");
	assert_string_equal(list.items[1].function, "nvme_alloc");
	assert_int_equal(caller_list_sites(other, &list), -EINVAL);
	caller_list_free(&list);
}

/* ---- control groups ----------------------------------------------------------------------- */

static void charges(void **state)
{
	_cleanup_fclose_ FILE *now = text_file("anon 4096\nfile 8192\nkernel 1000\n"
					       "kernel_stack 300\nslab_unreclaimable 700\n"
					       "sock 50\n");
	_cleanup_fclose_ FILE *old = text_file("anon 4096\nkernel_stack 300\npercpu 20\nsock 50\n"
					       "slab_reclaimable 100\nslab_unreclaimable 700\n"
					       "slab 800\n");
	_cleanup_fclose_ FILE *none = text_file("anon 4096\n");

	(void)state;
	assert_int_equal(group_stat_kernel(now), 1050);
	assert_int_equal(group_stat_kernel(old), 1170);
	assert_int_equal(group_stat_kernel(none), 0);
}

static const struct group *group_named(const struct group_list *list, const char *path)
{
	for (size_t i = 0; i < list->count; i++) {
		if (!strcmp(list->items[i].path, path))
			return &list->items[i];
	}
	return NULL;
}

/* A group has what it is charged for without the groups below it. */
static void groups(void **state)
{
	char directory[] = "/tmp/test_kmem_files.XXXXXX", path[256];
	struct group_list list = {0};
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(directory));
	put_file(directory, "memory.stat", "kernel 1000\nsock 0\n");
	make_directory(directory, "a");
	put_file(directory, "a/memory.stat", "kernel 600\n");
	make_directory(directory, "a/b");
	put_file(directory, "a/b/memory.stat", "kernel 250\n");
	make_directory(directory, "c");
	put_file(directory, "c/memory.stat", "kernel 100\n");
	for (int round = 0; round < 2; round++) {
		assert_int_equal(group_list_walk(&list, directory, 2), 0);
		assert_int_equal(list.count, 4);
		assert_int_equal(group_named(&list, "/")->bytes, 300);
		assert_int_equal(group_named(&list, "/a")->bytes, 350);
		assert_int_equal(group_named(&list, "/a/b")->bytes, 250);
		assert_int_equal(group_named(&list, "/c")->bytes, 100);
	}
	snprintf(path, sizeof(path), "%s/a/b", directory);
	assert_int_equal(stat(path, &st), 0);
	assert_string_equal(group_list_find(&list, st.st_ino)->path, "/a/b");
	assert_null(group_list_find(&list, 1));
	put_file(directory, "c/memory.kmem.usage_in_bytes", "4096\n");
	assert_int_equal(group_list_walk(&list, directory, 1), 0);
	assert_int_equal(group_named(&list, "/c")->bytes, 4096);
	group_list_free(&list);
	remove_directory(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pools),   cmocka_unit_test(stacks_that_are_not_mapped),
		cmocka_unit_test(caches),  cmocka_unit_test(merged_caches),
		cmocka_unit_test(areas),   cmocka_unit_test(sites),
		cmocka_unit_test(charges), cmocka_unit_test(groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

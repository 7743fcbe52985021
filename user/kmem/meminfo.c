// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kmem/meminfo.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "user/base/util.h"

struct meminfo_row {
	const char *line; /* of the file; NULL: what no line has */
	const char *name, *title;
};

static const struct meminfo_row meminfo_rows[MEMINFO_POOLS] = {
	[MEMINFO_SLAB_UNRECLAIMABLE] = {"SUnreclaim", "slab_unreclaimable",
					"slab that cannot be reclaimed"},
	[MEMINFO_SLAB_RECLAIMABLE] = {"SReclaimable", "slab_reclaimable",
				      "slab that can be reclaimed"},
	[MEMINFO_VMALLOC] = {"VmallocUsed", "vmalloc", "vmalloc"},
	[MEMINFO_PERCPU] = {"Percpu", "percpu", "per-CPU memory"},
	[MEMINFO_KERNEL_STACKS] = {"KernelStack", "kernel_stacks", "kernel stacks"},
	[MEMINFO_PAGE_TABLES] = {"PageTables", "page_tables", "page tables"},
	[MEMINFO_SECONDARY_PAGE_TABLES] = {"SecPageTables", "secondary_page_tables",
					   "page tables of guests"},
	[MEMINFO_BOUNCE] = {"Bounce", "bounce", "bounce buffers"},
	[MEMINFO_UNNAMED] = {NULL, "unnamed", "pages that nobody names"},
};

/* Lines that are not the kernel's own memory, and Slab, which is two of the pools. */
enum meminfo_other {
	MEMINFO_TOTAL,
	MEMINFO_FREE,
	MEMINFO_BUFFERS,
	MEMINFO_CACHED,
	MEMINFO_SWAP_CACHED,
	MEMINFO_ANON,
	MEMINFO_SLAB,
	MEMINFO_HUGE,
	MEMINFO_ZSWAP,
	MEMINFO_BALLOON,
	MEMINFO_OTHERS,
};

static const char *const meminfo_others[MEMINFO_OTHERS] = {
	[MEMINFO_TOTAL] = "MemTotal",
	[MEMINFO_FREE] = "MemFree",
	[MEMINFO_BUFFERS] = "Buffers",
	[MEMINFO_CACHED] = "Cached",
	[MEMINFO_SWAP_CACHED] = "SwapCached",
	[MEMINFO_ANON] = "AnonPages",
	[MEMINFO_SLAB] = "Slab",
	[MEMINFO_HUGE] = "Hugetlb",
	[MEMINFO_ZSWAP] = "Zswap",
	[MEMINFO_BALLOON] = "Balloon",
};

const char *meminfo_name(enum meminfo_pool pool)
{
	return meminfo_rows[pool].name;
}

const char *meminfo_title(enum meminfo_pool pool)
{
	return meminfo_rows[pool].title;
}

static void meminfo_take(struct meminfo *out, uint64_t others[static MEMINFO_OTHERS],
			 const char *name, uint64_t bytes)
{
	for (size_t i = 0; i < MEMINFO_POOLS; i++) {
		if (meminfo_rows[i].line && !strcmp(meminfo_rows[i].line, name)) {
			out->bytes[i] = bytes;
			out->known[i] = true;
		}
	}
	for (size_t i = 0; i < MEMINFO_OTHERS; i++) {
		if (!strcmp(meminfo_others[i], name))
			others[i] = bytes;
	}
}

/*
 * Kernel stacks are in VmallocUsed as well where they are mapped (CONFIG_VMAP_STACK, x86-64 and
 * aarch64). They are not where VmallocUsed is the smaller one.
 */
static uint64_t meminfo_named(const struct meminfo *m, const uint64_t others[static MEMINFO_OTHERS])
{
	const uint64_t stacks = m->bytes[MEMINFO_KERNEL_STACKS], mapped = m->bytes[MEMINFO_VMALLOC];
	uint64_t sum = mapped + (mapped < stacks ? stacks : 0);

	for (size_t i = MEMINFO_FREE; i < MEMINFO_OTHERS; i++)
		sum += others[i];
	return sum + m->bytes[MEMINFO_PERCPU] + m->bytes[MEMINFO_PAGE_TABLES] +
	       m->bytes[MEMINFO_SECONDARY_PAGE_TABLES] + m->bytes[MEMINFO_BOUNCE];
}

int meminfo_parse(FILE *file, struct meminfo *out)
{
	uint64_t others[MEMINFO_OTHERS] = {0}, kib, named;
	char line[256], name[64];

	*out = (struct meminfo){0};
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%63[^:]: %" SCNu64, name, &kib) == 2)
			meminfo_take(out, others, name, kib * 1024);
	}
	if (!others[MEMINFO_TOTAL] || !others[MEMINFO_SLAB])
		return -EINVAL;
	named = meminfo_named(out, others);
	out->known[MEMINFO_UNNAMED] = true;
	/* The lines are not of one instant. */
	if (others[MEMINFO_TOTAL] > named)
		out->bytes[MEMINFO_UNNAMED] = others[MEMINFO_TOTAL] - named;
	return 0;
}

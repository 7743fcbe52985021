// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/kernel_report.h"

#include <string.h>

const char *kernel_kind_name(enum kernel_kind kind)
{
	static const char *const names[KERNEL_KINDS] = {
		[KERNEL_SLAB] = "slab",
		[KERNEL_PAGES] = "pages",
		[KERNEL_PERCPU] = "percpu",
		[KERNEL_VMALLOC] = "vmalloc",
	};

	return names[kind];
}

bool kernel_stack_leaks(const struct kernel_stack *stack)
{
	return stack->trend.kind == TREND_GROWING && !stack->reclaimable && !stack->frees_unseen &&
	       !stack->in_slab && stack->kind != KERNEL_VMALLOC;
}

const char *kernel_lost_name(enum kernel_lost cause)
{
	static const char *const names[KERNEL_LOST_CAUSES] = {
		[KERNEL_LOST_RECURSION] = "recursion",
		[KERNEL_LOST_LIVE_FULL] = "live_full",
		[KERNEL_LOST_STACKS_FULL] = "stacks_full",
		[KERNEL_LOST_BUSY] = "busy",
	};

	return names[cause];
}

static bool kernel_cache_is_named(const struct kernel_cache *cache, const char *name)
{
	bool same = !strcmp(cache->name, name);

	for (size_t i = 0; !same && i < cache->alias_count; i++)
		same = !strcmp(cache->aliases[i], name);
	return same;
}

const struct kernel_cache *kernel_report_cache(const struct kernel_report *report, const char *name)
{
	for (size_t i = 0; i < report->cache_count; i++) {
		if (kernel_cache_is_named(&report->caches[i], name))
			return &report->caches[i];
	}
	return NULL;
}

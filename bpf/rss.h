/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How many pages of each kind a process has, read from its mm. From Linux 6.2 on the counters are
 * per CPU. Their parts lie at each CPU's offset, which a per-CPU map of our own measures here.
 */
#ifndef MEMLEAKBPF_BPF_RSS_H
#define MEMLEAKBPF_BPF_RSS_H

#include "bpf/types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* Set by user space before loading. */
const volatile uint32_t possible_cpus __attribute__((weak)) = 1;

/* Where each CPU's part of a per-CPU variable is, relative to the variable's own "address". */
uint64_t cpu_offsets[RSS_MAX_CPUS] __attribute__((weak));

/* Exists for its address only: a per-CPU variable that can be asked for on each CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint64_t);
} ruler __weak SEC(".maps");

/* A pointer stored in a map is a number when it is read back. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint64_t);
} as_number __weak SEC(".maps");

static __always_inline uint64_t number_of(const volatile void *pointer)
{
	uint32_t zero = 0;
	volatile uint64_t *number = bpf_map_lookup_elem(&as_number, &zero);

	if (!number)
		return 0;
	*number = (uint64_t)pointer;
	return *number;
}

/*
 * Goes by the kind of a member of a structure that every kernel has. libbpf before 1.5 looks for a
 * structure that this kernel lacks in all modules, too, which needs CAP_SYS_ADMIN.
 */
static __always_inline bool rss_is_percpu(void)
{
	return bpf_core_field_exists(((struct mm_struct *)0)->rss_stat);
}

/* Before the first rss_pages(). */
static __always_inline void rss_measure_offsets(void)
{
	struct bpf_array *array;
	uint64_t base = 0;
	uint32_t zero = 0;

	if (!rss_is_percpu())
		return;
	array = (void *)number_of(&ruler);
	if (bpf_core_read(&base, sizeof(base), &array->pptrs[0]))
		return;
	for (uint32_t cpu = 0; cpu < possible_cpus && cpu < RSS_MAX_CPUS; cpu++) {
		void *part = bpf_map_lookup_percpu_elem(&ruler, &zero, cpu);

		if (part)
			cpu_offsets[cpu] = number_of(part) - base;
	}
}

/*
 * Exact, like percpu_counter_sum() in lib/percpu_counter.c, but without its lock: a part may move
 * by a batch while we add.
 */
static __always_inline int64_t rss_counter_sum(const struct percpu_counter *counter)
{
	int64_t sum = BPF_CORE_READ(counter, count);
	uint64_t parts = (uint64_t)BPF_CORE_READ(counter, counters);

	for (uint32_t cpu = 0; cpu < possible_cpus && cpu < RSS_MAX_CPUS; cpu++) {
		int32_t part = 0;

		bpf_probe_read_kernel(&part, sizeof(part), (void *)(parts + cpu_offsets[cpu]));
		sum += part;
	}
	return sum > 0 ? sum : 0;
}

/*
 * `kind`: MM_ANONPAGES and so on. Before 6.2 these are single numbers that lag by up to 64 pages a
 * thread.
 */
#define rss_pages(mm, kind)                                                                       \
	(rss_is_percpu() ? (uint64_t)rss_counter_sum(&(mm)->rss_stat[kind])                       \
			 : (uint64_t)BPF_CORE_READ((struct mm_struct___before_6_2 *)(void *)(mm), \
						   rss_stat.count[kind].counter))

#endif

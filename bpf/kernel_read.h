/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Members of the kernel's structures. Copies of them (bpf_probe_read_kernel()) take the verifier least
 * time. For each load of a pointer through a typed one it looks for names among all of the kernel's
 * types. A kernel locked down for confidentiality refuses the copy, and allows typed loads.
 */
#ifndef MEMLEAKBPF_BPF_KERNEL_READ_H
#define MEMLEAKBPF_BPF_KERNEL_READ_H

#include "bpf/config.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#ifdef MEMLEAKBPF_OLD_KERNEL
#define kernel_typed() false
#else
#define kernel_typed() (config.typed_reads)
#endif

/* kernel_read(task, mm, uprobes_state.xol_area, vaddr): as BPF_CORE_READ(). What cannot be read is 0. */
#define kernel_read(...) (kernel_typed() ? ___arrow(__VA_ARGS__) : BPF_CORE_READ(__VA_ARGS__))

/* For kernel_read(). */
static __always_inline struct task_struct *kernel_current_task(void)
{
	return kernel_typed() ? bpf_get_current_task_btf()
			      : (struct task_struct *)bpf_get_current_task();
}

/* Copies what programs own: `words` of eight bytes, a constant, from no map's or stack's place but a known one. */
static __always_inline long kernel_copy_words(uint64_t *to, const uint64_t *from, uint32_t words)
{
	if (!kernel_typed())
		return bpf_probe_read_kernel(to, words * sizeof(*to), from);
	for (uint32_t i = 0; i < words; i++)
		*(volatile uint64_t *)&to[i] = from[i];
	return 0;
}

#endif

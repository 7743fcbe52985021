/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Settings that user space makes before loading (read-only then), and the few words that both sides
 * write.
 */
#ifndef MEMLEAKBPF_BPF_CONFIG_H
#define MEMLEAKBPF_BPF_CONFIG_H

#include "bpf/abi.h"
#include "bpf/own_function_abi.h"

/* Sampling works with 16 fractional bits. */
#define SAMPLE_ONE	   (1u << 16)
#define SAMPLE_TABLE_SHIFT 6  /* steps of 1/64 */
#define SAMPLE_TABLE_END   16 /* from here on every block is recorded: exp(-16) is 1e-7 */
#define SAMPLE_TABLE_SIZE  ((SAMPLE_TABLE_END - 1) * (1 << SAMPLE_TABLE_SHIFT) + 1)

/* Made by user space, which has floating point. */
struct sample_tables {
	uint32_t neg_log[257];		    /* -ln((256 + i) / 512) * 2^16 */
	uint32_t weight[SAMPLE_TABLE_SIZE]; /* 2^16 / (1 - exp(-(1 + i / 64))) */
};

struct config {
	uint64_t min_size; /* -z, -Z: bytes, both included */
	uint64_t max_size;
	uint64_t older_ns; /* --older: for slot_age.older_* */
	/* -s: mean distance of sample points; 0: every allocation is recorded */
	uint64_t sample_bytes;
	/*
	 * For gates of many processes: each sample tells by which 2^level times sample_bytes it was
	 * drawn. Samples are counted, and user space is told of too many. 0: all by sample_bytes
	 * itself.
	 */
	uint32_t sample_levels;
	uint32_t max_live_target; /* with sample_levels: the limit of live samples of one target */
	uint32_t max_slots;
	uint32_t max_frames;	/* --depth, at most ABI_MAX_FRAMES */
	uint32_t unwind_flags;	/* UNWIND_* of bpf/unwind.h */
	uint32_t tool;		/* our own tgid */
	uint32_t page_size;	/* of memory, in bytes */
	uint32_t task_storage;	/* programs may keep data with a task: kernel >= 5.12 */
	uint32_t trail_threads; /* how many threads may have room for trails (bpf/unwind_trail.h) */
	uint32_t mmap;		/* mmap and munmap have probes */
	uint32_t
		search_unmapped; /* with them: there is bpf_loop() to search ranges by (kernel >= 5.17) */
	uint32_t check_frees; /* 0: bad frees are not looked for */
	uint32_t number_step; /* bpf/number.h, kernels before 5.15 */
	/* notes the frees while a copied process's table is read (--snapshot=fork) */
	uint32_t note_frees;
	/*
	 * bpf/figures.h: rows of slot_lifetimes for a slot, 0: lifetimes are not kept; the others:
	 * 1: kept
	 */
	uint32_t lifetimes, temporary, peak;
	uint32_t own_exec; /* a program that a target execs is traced from its first instruction */
	uint32_t managed_later; /* bpf/managed.h: programs that know runtimes are loaded later */
	uint32_t loops;		/* bpf_loop() is there: kernel >= 5.17 */
	uint32_t typed_reads;	/* bpf/kernel_read.h: the kernel's memory may not be copied */
};

/* The kernel's ticks at one moment, by which blocks' ages are told. */
struct live_clock {
	uint64_t now_ns;
	uint32_t now_ticks;
	uint32_t tick_ns; /* 0 until there has been a tick since the trace began */
};

/* Nanoseconds since live_value.time. */
static inline uint64_t live_age_ns(const struct live_clock *clock, uint32_t time)
{
	uint32_t ticks = clock->now_ticks - time;

	/* Allocated after the clock was read. */
	if (ticks > (uint32_t)-1000)
		ticks = 0;
	return (uint64_t)ticks * clock->tick_ns;
}

struct shared {
	/* both sides add one for each of up to ABI_TARGET_SLOTS ids: bpf/number.h */
	uint32_t last_target_id;
	uint32_t next_slot; /* slots below it may have been used */
	/* stacks sent for user space to finish: each takes a slot of its own */
	uint32_t copies;
	uint32_t bare_slots;   /* 1: some target counts allocations without their stacks */
	uint32_t tool_gone;    /* the tool has ended, however: nobody is to wait for it */
	uint32_t target_epoch; /* user space adds one after it has changed `targets`; never 0 */
	uint32_t copied_pid;   /* a process that is being made to fork: its child is no target */
	uint32_t noted_target; /* the target whose frees are noted; 0: none */
	uint64_t notes_lost;   /* frees that were not noted: no room */
	uint64_t first_ns, first_ticks; /* when live_clock_read first ran */
	struct live_clock clock;	/* when it last ran, in the ticks of live_value.time */
	struct live_clock kernel_clock; /* the same moment in the kernel's ticks */
	uint64_t lost[LOST_CAUSES];	/* losses that belong to no target */
	/*
	 * With config.sample_levels: samples so far, and the number at which user space is told
	 * (once).
	 */
	uint64_t samples, samples_alarm;
	/* bpf/wait.h. The tool's first thread, struct task_struct *: may be 0, or gone. */
	uint64_t tool_task;
	/* User space has handled all events up to then. */
	uint64_t handled_ns;
	uint64_t waited_ns;	/* when a program last waited in vain for user space */
	uint64_t worked_ns;	/* when user space handled something last */
	uint64_t worked_cpu_ns; /* the processor time that its thread had used by then */
	/* user space does work that waits for running programs to end: none is to wait */
	uint32_t hands_full;
	uint32_t runtimes;  /* TARGET_PYTHON and the like: runtimes whose rows have had a target */
	uint64_t code_ends; /* calls of OP_CODE_END, in whichever process */
	/*
	 * Slots of stacks with a runtime's functions: bpf/stack.h. User space subtracts what it
	 * gives back.
	 */
	uint32_t managed_slots;
	uint32_t trail_threads;	  /* threads that have room for trails, of config.trail_threads */
	uint64_t largest_mapping; /* so far, in bytes; with config.search_unmapped */
	uint32_t loading; /* the kernel verifies programs for user space: its waiters wait longer */
};

#ifdef __bpf__
/* Weak, so that every .bpf.c file can include this and the linker keeps one. */
const volatile struct config config __attribute__((weak)) = {};
const volatile struct sample_tables sample_tables __attribute__((weak)) = {};
struct shared shared __attribute__((weak)) = {};
struct own_function own_functions[OWN_FUNCTIONS_MAX] __attribute__((weak)) = {};
#endif

#endif

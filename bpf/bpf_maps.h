/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every map of the tool. The definitions are weak so that each .bpf.c file can include this header
 * and the linker (bpftool gen object) keeps one of each. Sizes marked "resized" are set by user
 * space before loading.
 */
#ifndef MEMLEAKBPF_BPF_BPF_MAPS_H
#define MEMLEAKBPF_BPF_BPF_MAPS_H

#include "bpf/abi.h"
#include "bpf/live_filter.h"
#include <bpf/bpf_helpers.h>

#include "bpf/thread.h"
#include "bpf/usdt_abi.h"

/* Who is traced, by tgid. Small and read on every hit. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, uint32_t);
	__type(value, struct target_info);
	__uint(max_entries, ABI_TARGET_SLOTS);
} targets __weak SEC(".maps");

/*
 * State of each thread that has called an allocator. The kernel keeps it with the thread, and finds
 * it in half the time of a hash lookup.
 */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_state);
} thread_storage __weak SEC(".maps");

/*
 * The same by tid, for kernels without that, and for threads that got no storage. The kernel
 * refuses that when it interrupts another task storage operation on its CPU. Removed when the
 * thread exits.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, uint32_t);
	__type(value, struct thread_state);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} threads __weak SEC(".maps");

/* Every live allocation. Resized; memory is taken as it fills. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct live_key);
	__type(value, struct live_value);
	__uint(max_entries, 1 << 21);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} live __weak SEC(".maps");

/*
 * Under sampling: the number of live blocks by a hash of the address. Most frees are of unrecorded
 * blocks, and a 0 here says so without a look into the live map.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, uint32_t);
	__type(value, uint32_t);
	__uint(max_entries, 1 << LIVE_FILTER_BITS);
	__uint(map_flags, BPF_F_MMAPABLE);
} live_filter __weak SEC(".maps");

/* The counter slot of each stack. Resized together with the three arrays below. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct stack_key);
	__type(value, uint32_t);
	__uint(max_entries, 1 << 16);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} stacks __weak SEC(".maps");

/*
 * One row for each slot, then one for each target (slot_without_stack()). User space maps the
 * arrays: a snapshot reads memory and makes no system call per stack.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, uint32_t);
	__type(value, struct stack_counters);
	__uint(max_entries, 1 << 16);
	__uint(map_flags, BPF_F_MMAPABLE);
} counters __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, uint32_t);
	__type(value, struct slot_info);
	__uint(max_entries, 1 << 16);
	__uint(map_flags, BPF_F_MMAPABLE);
} slot_infos __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, uint32_t);
	__type(value, struct slot_age);
	__uint(max_entries, 1 << 16);
	__uint(map_flags, BPF_F_MMAPABLE);
} slot_ages __weak SEC(".maps");

/* Slots given back by targets that have ended and been reported. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(key, 0);
	__type(value, uint32_t);
	__uint(max_entries, 1 << 16);
} free_slots __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, uint32_t);
	__type(value, struct target_stats);
	__uint(max_entries, ABI_TARGET_SLOTS);
	__uint(map_flags, BPF_F_MMAPABLE);
} target_stats __weak SEC(".maps");

/*
 * Ids for new targets: their rows had earlier targets, of which nothing is left
 * (user/trace/reclaim.c). Kernels before 5.15 take all ids from here.
 */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(key, 0);
	__type(value, uint32_t);
	__uint(max_entries, ABI_TARGET_SLOTS);
} free_ids __weak SEC(".maps");

/* For bpf/number.h, on kernels before 5.15 only; resized. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(key, 0);
	__type(value, uint32_t);
	__uint(max_entries, 1);
} slot_numbers __weak SEC(".maps");

/*
 * With --check-frees (without it one row each): the families of live blocks that are not malloc's,
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct live_key);
	__type(value, uint32_t);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} families __weak SEC(".maps");

/* blocks freed lately, */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct live_key);
	__type(value, struct freed_block);
	__uint(max_entries, 1);
} freed __weak SEC(".maps");

/* and the bad frees that were found. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct bad_free_key);
	__type(value, struct bad_free_value);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} bad_frees __weak SEC(".maps");

/*
 * Blocks freed while user space reads the table of a process that goes on already. Resized; of one
 * page without --snapshot=fork.
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} noted_frees __weak SEC(".maps");

/* Where USDT probes have their arguments. Written before the probes that use the row. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, uint32_t);
	__type(value, struct usdt_spec);
	__uint(max_entries, USDT_SPECS);
} usdt_specs __weak SEC(".maps");

/* Rare things: new stacks, forks, execs, exits. Resized. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} events __weak SEC(".maps");

/*
 * Stacks that user space finishes: they are large, and must not take the others' room. Empty unless
 * libraries are being opened.
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} copies __weak SEC(".maps");

#endif

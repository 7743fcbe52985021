/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events that the kernel kept from our programs. A program on a tracepoint is passed over when it
 * is met on a processor where an earlier run of it has not ended (kernel/trace/bpf_trace.c,
 * __bpf_trace_run(), since 5.12): where these programs can be preempted, that another task forks
 * meanwhile is enough. The kernel counts such misses per program: recursion_misses of `bpftool
 * prog`. Programs on uprobes are never passed over from 6.0 on.
 */
#ifndef MEMLEAKBPF_TRACE_RECURSION_MISSES_H
#define MEMLEAKBPF_TRACE_RECURSION_MISSES_H

#include <stdint.h>

struct bpf_object;
struct trace;

/*
 * How often the loaded program was passed over: 0 also where the kernel does not count, which
 * before 5.12 is right.
 */
uint64_t recursion_misses_of_program(int fd);

/* The same of all loaded programs on tracepoints of an object. */
uint64_t recursion_misses_of(const struct bpf_object *object);

/* Puts them where what has been lost is counted that belongs to no target, under LOST_RECURSION. */
void recursion_misses_update(const struct trace *trace);

#endif

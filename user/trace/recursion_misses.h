/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events that the kernel kept from our programs. While a run of a program on a tracepoint has not
 * ended, the kernel passes over further ones on the same processor. It does so since 5.12:
 * kernel/trace/bpf_trace.c, __bpf_trace_run(). Where these programs can be preempted, a fork of
 * another task meanwhile is enough. The kernel counts such misses per program: recursion_misses of
 * `bpftool prog`. From 6.0 on it never passes over programs on uprobes.
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

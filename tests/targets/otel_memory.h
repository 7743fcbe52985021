/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The probes of OpenTelemetry's contract for memory profiling, with their semaphores: 0 where nobody
 * wants to know.
 */
#ifndef MEMLEAKBPF_TESTS_OTEL_MEMORY_H
#define MEMLEAKBPF_TESTS_OTEL_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#ifdef NO_SEMAPHORES
#define OTEL_WANTED(name) 1
#else
#define _SDT_HAS_SEMAPHORES 1
#define OTEL_SEMAPHORE	    __attribute__((section(".probes"), used))
/* The names are <sys/sdt.h>'s: provider_name_semaphore. */
volatile unsigned short otel_memory_alloc_semaphore OTEL_SEMAPHORE;
volatile unsigned short otel_memory_free_semaphore OTEL_SEMAPHORE;
#define OTEL_WANTED(name)   (otel_memory_##name##_semaphore != 0)
#endif

#include <sys/sdt.h>

#define OTEL_ALLOC(block, size, weighed) STAP_PROBE3(otel_memory, alloc, block, size, weighed)
#define OTEL_FREE(block)		 STAP_PROBE1(otel_memory, free, block)

#endif

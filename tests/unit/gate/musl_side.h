/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What test_musl.c and its program agree on. */
#ifndef MEMLEAKBPF_TESTS_UNIT_GATE_MUSL_SIDE_H
#define MEMLEAKBPF_TESTS_UNIT_GATE_MUSL_SIDE_H

/* In this order. */
#define MUSL_FUNCTIONS \
	"malloc", "free", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign"
#define MUSL_WAYS 7

#define MUSL_CALLS 300000
#define MUSL_SIZE  400

#endif

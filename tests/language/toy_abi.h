/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Toy's frames: a list in memory, the innermost first (tests/language/toy.c). */
#ifndef MEMLEAKBPF_BPF_TOY_ABI_H
#define MEMLEAKBPF_BPF_TOY_ABI_H

#include "bpf/runtime/runtime_abi.h"

/* Words of a frame: the one that has called it, its function, its line, and whether C has called it. */
#define TOY_FRAME_OUTER	   0
#define TOY_FRAME_FUNCTION 1
#define TOY_FRAME_LINE	   2
#define TOY_FRAME_ENTRY	   3
#define TOY_FRAME_WORDS	   4

#define TOY_NAME_WORDS 3
#define TOY_NAME_BYTES (8 * TOY_NAME_WORDS)

struct toy_row {
	uint64_t top; /* the variable with the innermost frame */
};

/* RUNTIME_CODE: what the function is called, with its end. */
struct toy_code_event {
	struct event_header header;
	struct runtime_call call; /* without RUNTIME_ENTRY */
	uint64_t name[TOY_NAME_WORDS];
};
_Static_assert(sizeof(struct toy_code_event) == 40 + TOY_NAME_BYTES, "ABI");

enum toy_failure {
	TOY_FOLLOWED,
	TOY_UNREADABLE,
};

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which functions belong together, and what is wrong with a free: what the programs tell apart and
 * people are shown. Apart from abi.h, so that a change to a map's layout does not rebuild what only
 * names these (user/model, exporters).
 */
#ifndef MEMLEAKBPF_BPF_KINDS_H
#define MEMLEAKBPF_BPF_KINDS_H

#include "bpf/alloc_family.h"
#include "bpf/language.h"

/* A free that is wrong. One row of `bad_frees` for all of a kind with the same stacks. */
enum bad_free_kind {
	BAD_FREE_DOUBLE = 0, /* the block has been freed before */
	BAD_FREE_INSIDE,     /* of an address inside a live block */
	BAD_FREE_UNKNOWN,    /* of an address that was never allocated */
	BAD_FREE_MISMATCH,   /* by the wrong function: new and free, new[] and delete … */
	BAD_FREE_KINDS,
};

#endif

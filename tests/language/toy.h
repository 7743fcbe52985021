/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions of Toy that a thread is in: the interface of bpf/runtime/toy.bpf.c. */
#ifndef MEMLEAKBPF_BPF_TOY_H
#define MEMLEAKBPF_BPF_TOY_H

#include "bpf/runtime/runtime_maps.h"
#include "bpf/runtime/toy_abi.h"

struct toy_thread {
	struct toy_row row; /* of toy_rows, as it was at row_epoch */
	uint32_t row_epoch; /* of struct shared; 0: unknown */
	uint32_t target_id; /* whose it is */
	uint64_t frame;	    /* the next one */
	uint64_t looked;    /* what is being read */
	uint64_t hash;
	uint32_t count;
	uint32_t pad;
	uint64_t words[TOY_FRAME_WORDS];
	uint64_t name[TOY_NAME_WORDS];
	struct runtime_chain_event chain;
	struct toy_code_event code;
};

RUNTIME_MAPS(toy)

/* Follows the frames of the current thread: toy->chain.hash; 0: there are none, or that is not known, which is counted. */
int toy_follow(struct toy_thread *toy);

/* Sends the chain, and what of it has not been sent yet. 0, or not all could be sent. */
int toy_tell(struct toy_thread *toy);

RUNTIME_FORKS(toy, LOST_TOY)

#endif
